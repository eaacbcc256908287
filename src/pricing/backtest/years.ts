/** A date's quotes: their number, premiums, and discounted payouts in the same unit. */
export type DatedWorth = {
  /** YYYY-MM-DD. */
  readonly date: string
  readonly quotes: number
  readonly premiums: number
  readonly worth: number
}

/** Discounted payouts over premiums of the quotes of a year. */
export type Year = readonly [year: number, ratio: number]

/** Fewest dates in a year that counts. */
const FEWEST_DATES = 6

/** Five digits: a difference of the last bit between machines is far below them. */
export const rounded = (value: number): number => Number(value.toPrecision(5))

/** Discounted payouts over premiums by the year of the quotes, for dates in ascending order. */
export const ratiosByYear = (dates: readonly DatedWorth[]): readonly Year[] => {
  const years = new Map<string, { dates: number; premiums: number; worth: number }>()
  for (const { date, quotes, premiums, worth } of dates) {
    const name = date.slice(0, 4)
    const year = years.get(name) ?? { dates: 0, premiums: 0, worth: 0 }
    years.set(name, {
      dates: year.dates + (quotes > 0 ? 1 : 0),
      premiums: year.premiums + premiums,
      worth: year.worth + worth,
    })
  }
  return [...years].flatMap(([year, { dates: count, premiums, worth }]): Year[] =>
    count < FEWEST_DATES || premiums === 0 ? [] : [[Number(year), rounded(worth / premiums)]],
  )
}

/** The year with the highest ratio, the worst for the seller of protection; null without one. */
export const worstOf = (years: readonly Year[]): Year | null => years.toSorted(([, a], [, b]) => b - a)[0] ?? null
