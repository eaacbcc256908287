import { ratiosByYear, rounded, worstOf, type Year } from '../../src/pricing/backtest/years.ts'
import { quantile, resample } from './resample.ts'
import { noSums, plus, type Sums } from './sums.ts'

/** The sums of a date, and its payouts discounted to the date of the quote. */
export type Dated = Sums & { readonly date: string; readonly worth: number }

export type Figures = {
  /** Dates with a quote, quotes on them, and ranges that the leverage cap refused. */
  readonly dates: number
  readonly quotes: number
  readonly refused: number
  /** Millionths of a dollar, for ranges of 1,000 dollars each. */
  readonly premiums: number
  readonly payouts: number
  /** Discounted payouts over premiums, and its interval that 90 % of resamples fall in; null without a quote. */
  readonly ratio: number | null
  readonly interval: readonly [number, number] | null
  /** Share of the quotes that paid, and the model's mean probability of it. */
  readonly paid: number | null
  readonly chance: number | null
  /** The year of quotes with the highest ratio: the worst for who sold them. */
  readonly worstYear: Year | null
}

/** The uniformity of the model's probability of what happened. */
export type Pit = {
  /** The largest distance between the shares at or below 0.05, 0.1, … 0.95 and these levels. */
  readonly statistic: number
  /** What it exceeds in 5 % of resamples of a model that is right. */
  readonly critical: number
}

const LEVELS = Array.from({ length: 19 }, (_, index) => (index + 1) / 20)

/** The sums by date, ascending. */
const sumsByDate = (items: readonly Dated[]): readonly Dated[] => {
  const sums = new Map<string, Dated>()
  for (const item of items) {
    const { date } = item
    const before = sums.get(date) ?? { ...noSums(), date, worth: 0 }
    sums.set(date, { ...plus(before, item), date, worth: before.worth + item.worth })
  }
  return [...sums.values()].sort((a, b) => (a.date < b.date ? -1 : 1))
}

/** Discounted payouts over premiums by the year of the quotes. */
export const yearsOf = (items: readonly Dated[]): readonly Year[] => ratiosByYear(sumsByDate(items))

/** The figures of quotes on any number of pairs. */
export const figuresOf = (items: readonly Dated[]): Figures => {
  const dates = sumsByDate(items).filter(({ quotes, refused }) => quotes + refused > 0)
  const quoted = dates.filter(({ quotes }) => quotes > 0)
  const total = dates.reduce(plus, noSums())
  const worth = dates.reduce((sum, date) => sum + date.worth, 0)
  const counts = { quotes: total.quotes, refused: total.refused, premiums: total.premiums, payouts: total.payouts }
  if (total.quotes === 0) {
    const none = { ratio: null, interval: null, paid: null, chance: null, worstYear: null }
    return { dates: 0, ...counts, ...none }
  }
  const ratios = resample(quoted.map((date) => [date.worth, date.premiums])).map(
    ([paid = 0, asked = 1]) => paid / asked,
  )
  return {
    dates: quoted.length,
    ...counts,
    ratio: rounded(worth / total.premiums),
    interval: [rounded(quantile(ratios, 0.05) ?? 0), rounded(quantile(ratios, 0.95) ?? 0)],
    paid: rounded(total.paid / total.quotes),
    chance: rounded(total.chance / total.quotes),
    worstYear: worstOf(ratiosByYear(quoted)),
  }
}

/**
 * Tests that probabilities are uniform. The critical value is the 95th percentile, over resamples of the months, of the
 * largest distance between the resampled and the observed shares.
 */
export const pitOf = (items: readonly { readonly date: string; readonly pit: number }[]): Pit => {
  const rows = new Map<string, number[]>()
  for (const { date, pit } of items) {
    const row = rows.get(date) ?? [0, ...LEVELS.map(() => 0)]
    rows.set(
      date,
      [1, ...LEVELS.map((level) => (pit <= level ? 1 : 0))].map((one, column) => one + (row[column] ?? 0)),
    )
  }
  const months = [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
  const sharesOf = ([count = 1, ...below]: readonly number[]): number[] => below.map((each) => each / count)
  const seen = sharesOf(months.reduce((sums, row) => sums.map((sum, column) => sum + (row[column] ?? 0))))
  const distance = (shares: readonly number[], from: readonly number[]): number =>
    Math.max(...shares.map((share, index) => Math.abs(share - (from[index] ?? 0))))
  const resampled = resample(months).map((row) => distance(sharesOf(row), seen))
  return { statistic: rounded(distance(seen, LEVELS)), critical: rounded(quantile(resampled, 0.95) ?? 0) }
}
