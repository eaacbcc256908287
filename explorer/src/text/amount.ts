import { formatAmount } from 'fx-protection-client'

const group = (digits: string): string => digits.replace(/\B(?=(\d{3})+$)/g, ',')

/** A decimal with `least` to `places` decimals (none for a whole number), rounded towards zero, its digits in groups. */
const grouped = (decimal: string, places: number, least = 1): string => {
  const [whole = '', fraction = ''] = decimal.split('.')
  const kept = fraction.slice(0, places).replace(/0+$/, '')
  const digits = `${whole.startsWith('-') ? '−' : ''}${group(whole.replace('-', ''))}`
  return kept === '' ? digits : `${digits}.${kept.padEnd(least, '0')}`
}

/** An amount in units of a token as a decimal with two places: `75,000` or `438.59`. A smaller one is not shown as 0. */
export const amountText = (amount: bigint, decimals: number): string => {
  const exact = formatAmount(amount, decimals)
  const short = grouped(exact, 2, 2)
  if (amount !== 0n && /^−?0$/.test(short)) return amount < 0n ? '> −0.01' : '< 0.01'
  return short
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

/** A share (1e6 fixed point of a percent, as `utilizationRate`): `30.76 %`. */
export const percentText = (percent: bigint): string => `${grouped(formatAmount(percent, 6), 2)} %`

/** A rate of an amount (1e6 fixed point of one, as `premiumRate`): `2.3 %`. */
export const shareText = (share: bigint): string => `${grouped(formatAmount(share, 4), 4)} %`

/** A share (1e6 fixed point of one) as a percentage with two places: `6.27 %`. */
export const yieldText = (share: bigint): string => percentText(share * 100n)

/** An amount of coins in wei with four significant digits: `0.0005852`. */
export const weiText = (wei: bigint): string => {
  const [whole = '', fraction = ''] = formatAmount(wei, 18).split('.')
  const zeros = /^0*/.exec(fraction)?.[0].length ?? 0
  return grouped(`${whole}.${fraction}`, whole === '0' ? zeros + 4 : 4)
}
