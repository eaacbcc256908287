import { createSlices } from '../../lib/slices.ts'
import { type Range, width } from '../../protocol/payoff.ts'
import { digitalPrice, spreadPrice } from '../kernel/spread.ts'
import type { RangeValue, ValueRange, Values, ValuesRequest } from '../messages.ts'
import { type Model, type PairModel, yearsBetween } from '../model.ts'
import { fromSix } from './premium.ts'

const rangeOf = ({ strike, payoutCap, initialRate, strikeAbove }: ValueRange): Range => ({
  strike: BigInt(strike),
  payoutCap: BigInt(payoutCap),
  initialRate: BigInt(initialRate),
  strikeAbove,
})

/** False for a range that never pays: its cap is not beyond its strike. */
const canPay = ({ strike, payoutCap, strikeAbove }: Range): boolean =>
  payoutCap === 0n || (strikeAbove ? payoutCap > strike : payoutCap < strike)

/** The value today of the move that a range pays, in QUOTE per 1 BASE; undefined where there is no finite one. */
const moveValue = (range: Range, { spot, inputsFor }: PairModel, years: number): number | undefined => {
  const inputs = inputsFor(years)
  if (spot === undefined || inputs === undefined) return undefined
  const { sigma, r, qEffective: q, jump } = inputs
  const option = { spot: fromSix(spot), strike: fromSix(range.strike), years, sigma, r, q }
  const value =
    range.payoutCap === 0n
      ? fromSix(width(range)) * digitalPrice({ ...option, type: range.strikeAbove ? 'call' : 'put' }, jump)
      : spreadPrice({ ...option, payoutCap: fromSix(range.payoutCap) }, jump)
  return Number.isFinite(value) ? value : undefined
}

const rangeValue = (asked: ValueRange, model: PairModel | undefined, asOf: number): RangeValue => {
  if (asked.expiryUnixSeconds <= asOf) return { reason: 'expired' }
  if (model?.spot === undefined || model.drift.missingRate !== null) return { reason: 'unsupported_pair' }
  const range = rangeOf(asked)
  const value = canPay(range) ? moveValue(range, model, yearsBetween(asOf, asked.expiryUnixSeconds)) : undefined
  if (value === undefined) return { reason: 'unsupported_terms' }
  const { history, stale, usd } = model
  return {
    rate: value / fromSix(range.initialRate),
    spotFixed6: String(model.spot),
    spotDate: history.spot.date,
    stale,
    synthetic: history.synthetic || history.spot.synthetic,
    usdRateFallback: usd.fallback,
  }
}

/**
 * Values ranges over their remaining terms at the present market, with the model and the kernel of quotes: a spread, or
 * for a single-strike event its fixed payout times the value of 1 at the strike or beyond.
 */
export const createValuer =
  ({ model, now }: { readonly model: Model; readonly now: () => number }) =>
  async ({ ranges }: ValuesRequest): Promise<Values> => {
    const asOf = Math.floor(now() / 1_000)
    const names = [...new Set(ranges.map(({ pair }) => pair))]
    const models = new Map<string, PairModel | undefined>()
    const slice = createSlices()
    for (const name of names) {
      models.set(name, await model(name))
      // A model may calibrate a cross.
      if (slice.isOver()) await slice.next()
    }
    return { asOf, values: ranges.map((range) => rangeValue(range, models.get(range.pair), asOf)) }
  }
