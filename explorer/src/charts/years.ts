import type { Schemas } from 'fx-protection-client'

type Month = Schemas['Backtest']['series'][number]

/** What was bought in a year: amounts in millionths of a token. */
export type Year = {
  readonly year: number
  /** Months with a price. */
  readonly months: number
  readonly paid: number
  readonly premiums: bigint
  readonly payouts: bigint
}

/** An amount in whole tokens in millionths. */
export const millionths = (amount: number): bigint => BigInt(Math.round(amount * 1e6))

/** The months of a backtest by year, oldest first. A month without a price counts for nothing. */
export const yearsOf = (series: readonly Month[]): readonly Year[] => {
  const years = new Map<number, Year>()
  for (const { date, premiumUsd, payoutUsd, paid } of series) {
    const year = Number(date.slice(0, 4))
    const {
      months,
      paid: before,
      premiums,
      payouts,
    } = years.get(year) ?? {
      ...{ months: 0, paid: 0, premiums: 0n, payouts: 0n },
    }
    years.set(year, {
      year,
      months: months + (premiumUsd === null ? 0 : 1),
      paid: before + (paid === true ? 1 : 0),
      premiums: premiums + millionths(premiumUsd ?? 0),
      payouts: payouts + millionths(payoutUsd ?? 0),
    })
  }
  return [...years.values()]
}

/** Years between two labels of an axis on which a year is this wide and a label needs that much. */
export const labelStep = (width: number, label: number): number =>
  [1, 2, 5, 10].find((years) => years * width >= label) ?? 20
