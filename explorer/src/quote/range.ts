import type { Value, Values } from '../act/fields.ts'

const DAY = 86_400

/** How far the strike and the cap of a first range are from the rate of today. */
const STRIKE = 0.03
const CAP = 0.13

/** A number with four significant digits, without an exponent. */
const rounded = (value: number): string => {
  const digits = 3 - Math.floor(Math.log10(value))
  return value
    .toFixed(Math.min(6, Math.max(0, digits)))
    .replace(/(\.\d*?)0+$/, '$1')
    .replace(/\.$/, '')
}

/** A range to begin with: a strike near the rate of today, and a cap further away. */
export const firstRange = (
  spot: number,
  strikeAbove: boolean,
): { readonly strike: string; readonly payoutCap: string } => {
  const sign = strikeAbove ? 1 : -1
  return { strike: rounded(spot * (1 + sign * STRIKE)), payoutCap: rounded(spot * (1 + sign * CAP)) }
}

/** Noon of the day that is 90 days after a time, in Unix seconds. */
export const firstExpiry = (now: number): number => Math.floor(now / DAY + 90) * DAY + DAY / 2

/**
 * A request of which only the rate of today is used: the engine returns it with every price. It sells this range at all
 * rates from 0.005 to 5,000, or from 50 to 50,000,000 where rates are `high`: the payout is nearly certain, at most 100
 * times the premium, and not below it when both are rounded.
 */
export const spotRequest = (pair: string, expiryUnixSeconds: number, high = false) => ({
  ...{ pair, strike: 0.000_001, payoutCap: high ? 5_000 : 0.5, expiryUnixSeconds, notional: 1, strikeAbove: true },
})

/** The fields of a quote. */
export const quoteFields = [
  ...(['chainId', 'underlying', 'strikeAbove', 'strike', 'payoutCap', 'expiry', 'notional'] as const),
] as const

/** The page that creates an event with the terms of a quote. */
export const createLink = (values: Values): string => {
  const given = quoteFields.flatMap((name) => (values[name] ? [[name, values[name]]] : []))
  return `/act/create-event?${new URLSearchParams([['pricing', 'engine'], ...given] as [string, string][])}`
}

/** The range of a quote in the protocol's integers: rates in 1e6 fixed point. `spot` is the rate of today. */
export const chartRange = ({ strike, payoutCap, strikeAbove }: Readonly<Record<string, Value>>, spot: number) => ({
  ...{ strike: BigInt(strike ?? 0), payoutCap: BigInt(payoutCap ?? 0), strikeAbove: strikeAbove === true },
  initialRate: BigInt(Math.round(spot * 1e6)),
})

/** A key of the breakdown in words: `sigmaLongRun` is `Sigma long run`. */
export const keyText = (key: string): string => {
  const words = key
    .replaceAll('_', ' ')
    .replace(/([a-z])([A-Z0-9])/g, (_, end, start) => `${end} ${start.toLowerCase()}`)
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`.slice(0, 60)
}

/** What is to be known of the data behind a price, in words. */
export const cautions = (breakdown: Readonly<Record<string, unknown>>): readonly string[] => {
  const history = Object(breakdown.history)
  const spot = Object(breakdown.spotSource)
  const usd = Object(breakdown.usdRate)
  const local = Object(breakdown.localRates)
  return [
    ...(history.stale === true ? [`The history is old: its last close is of ${history.lastClose}.`] : []),
    ...(history.synthetic === true || spot.synthetic === true ? ['The rates are synthetic, no market data.'] : []),
    ...(local.stale === true ? [`The interest rates are old: they are of ${local.asOf}.`] : []),
    ...(usd.fallback === true ? [`The dollar rate is the configured one of ${usd.recordDate}.`] : []),
  ].map((text) => text.slice(0, 200))
}
