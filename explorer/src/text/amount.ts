import { formatAmount } from 'fx-protection-client'

const group = (digits: string): string => digits.replace(/\B(?=(\d{3})+$)/g, ',')

/** A decimal with `least` to `places` decimals, rounded towards zero, its digits in groups. */
const grouped = (decimal: string, places: number, least = 0): string => {
  const [whole = '', fraction = ''] = decimal.split('.')
  const kept = fraction.slice(0, places).replace(/0+$/, '').padEnd(least, '0')
  const digits = `${whole.startsWith('-') ? '−' : ''}${group(whole.replace('-', ''))}`
  return kept === '' ? digits : `${digits}.${kept}`
}

/** A decimal with two places, or with two significant digits below 0.01, which is not shown as 0. */
const toCents = (decimal: string): string => {
  const zeros = /^-?0\.(00+)[1-9]/.exec(decimal)?.[1]?.length ?? 0
  return grouped(decimal, zeros + 2, 2)
}

/** An amount in units of a token as a decimal: `75,000.00`, `438.59`, `0.0012`. Without decimals, it is a whole number. */
export const amountText = (amount: bigint, decimals: number): string => {
  const exact = formatAmount(amount, decimals)
  return decimals === 0 ? grouped(exact, 0) : toCents(exact)
}

/** The same without rounding. */
export const exactAmount = (amount: bigint, decimals: number): string => grouped(formatAmount(amount, decimals), 40)

const UNITS = [
  [1_000_000_000_000, 'T'],
  [1_000_000_000, 'B'],
  [1_000_000, 'M'],
  [1_000, 'k'],
] as const

/** A number with three significant digits for axes and tiles: `1.25M`. */
export const compact = (value: number): string => {
  const size = Math.abs(value)
  const [unit, suffix] = UNITS.find(([least]) => size >= least) ?? [1, '']
  return `${Number((value / unit).toPrecision(3))}${suffix}`
}

/** An amount for axes and tiles. */
export const compactAmount = (amount: bigint, decimals: number): string => compact(toNumber(amount, decimals))

/** An amount as a number, for the place of a point in a chart and for nothing else. */
export const toNumber = (amount: bigint, decimals: number): number => Number(formatAmount(amount, decimals))

/** A rate (1e6 fixed point) as a decimal: `19.2`. */
export const rateText = (rate: bigint): string => grouped(formatAmount(rate, 6), 6)

/** A rate (1e6 fixed point) that follows from others, rounded to five significant digits or to a whole number: `19.688`. */
export const derivedRateText = (rate: bigint): string => {
  const unit = 10n ** BigInt(Math.min(6, Math.max(0, `${rate}`.length - 5)))
  return rateText(((rate + unit / 2n) / unit) * unit)
}

/** A share (1e6 fixed point of a percent, as `utilizationRate`): `30.76 %`. */
export const percentText = (percent: bigint): string => `${toCents(formatAmount(percent, 6))} %`

/** A rate of an amount (1e6 fixed point of one, as `yield`): `2.30 %`. */
export const shareText = (share: bigint): string => percentText(share * 100n)

/** The same without rounding, as the terms of an event have it: `4.0352 %`. */
export const exactShare = (share: bigint): string => `${grouped(formatAmount(share * 100n, 6), 4, 2)} %`

/** Numbers of one kind in one form: without decimals where all are whole, otherwise with two places. */
export const numbersText = (values: readonly (number | null)[]): ((value: number) => string) =>
  values.every((value) => value === null || Number.isInteger(value))
    ? (value) => grouped(value.toFixed(0), 0)
    : (value) => toCents(value.toFixed(6))

/** A ratio with two decimals, or with two significant digits below 0.01: `0.92`, `0.0091`. */
export const ratioText = (ratio: number): string => {
  if (ratio === 0 || ratio >= 0.01) return ratio === 0 ? '0' : ratio.toFixed(2)
  return ratio < 0.0001 ? 'less than 0.0001' : `${Number(ratio.toPrecision(2))}`
}

/** An amount of coins in wei with four significant digits: `0.0005852`. */
export const weiText = (wei: bigint): string => {
  const [whole = '', fraction = ''] = formatAmount(wei, 18).split('.')
  const zeros = /^0*/.exec(fraction)?.[0].length ?? 0
  return grouped(`${whole}.${fraction}`, whole === '0' ? zeros + 4 : 4)
}
