import type { EngineHealth } from '../engine.ts'
import { localRatesFault, usdRateFault } from '../freshness.ts'
import { BUNDLED } from './bundled.ts'
import type { LocalRates } from './local-rates.ts'
import { dayOf, daysBetween } from './series.ts'

/** What an engine prices with, for its operator. */
export type MarketReport = {
  readonly lines: readonly string[]
  /**
   * True with rates that are fresh enough to sign on, and none of the configured ones too old. Pairs that only the
   * bundled sample has are left out.
   */
  readonly fresh: boolean
}

const percent = (rate: number): string => `${Number((100 * rate).toFixed(3))} %`

/**
 * The rates of every pair with their source, last close and age, then the interest rates and the dollar rate. `now` in
 * Unix milliseconds.
 */
export const reportOf = (
  { pairs, usdRate }: Pick<EngineHealth, 'pairs' | 'usdRate'>,
  localRates: LocalRates,
  { now, maxStalenessDays }: { readonly now: number; readonly maxStalenessDays: number },
): MarketReport => {
  const own = pairs.filter(({ source, synthetic }) => source !== BUNDLED && !synthetic)
  const age = (date: string): string => `${daysBetween(date, dayOf(now))} days old`
  const rows = pairs
    .toSorted((a, b) => (a.pair < b.pair ? -1 : 1))
    .map((each) => {
      const state = each.synthetic ? 'synthetic' : each.stale ? 'too old to sign on' : 'fresh'
      return [each.pair, each.source, `${each.historicalCloses} closes`, each.lastClose, age(each.lastClose), state]
    })
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(0, ...rows.map((row) => row[column]?.length ?? 0)))
  const faults = [usdRateFault(usdRate, now, maxStalenessDays), localRatesFault(localRates, now)].flatMap(
    (fault) => fault ?? [],
  )
  const rates = Object.entries(localRates.rates)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([currency, rate]) => `${currency} ${percent(rate)}`)
  return {
    lines: [
      ...rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')),
      `interest rates of ${localRates.asOf}, ${age(localRates.asOf)}: ${rates.join(', ')}`,
      `dollar rate of ${usdRate.recordDate}: ${percent(usdRate.rate)}`,
      ...faults.map((fault) => `not fit to sign on: ${fault}`),
    ],
    fresh: faults.length === 0 && own.length > 0 && own.every(({ stale }) => !stale),
  }
}
