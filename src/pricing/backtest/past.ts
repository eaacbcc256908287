import { LRUCache } from 'lru-cache'
import { pino } from 'pino'
import { calibrateMarket, createCalibrations } from '../calibrations.ts'
import { FILE_DAYS, readDays, sourceOf } from '../market/bundled.ts'
import type { LocalRates } from '../market/local-rates.ts'
import { createMarket, type Market } from '../market/market.ts'
import { type Close, closesOf, dayOf, daysBetween } from '../market/series.ts'
import { createModel, type Model, type ModelOptions } from '../model.ts'
import { inverse, type Pair, pairName } from '../pair.ts'
import { snapRate } from '../quotes/premium.ts'

/* The bundled history as it was on past dates. Each date sees what the service would have read on it. */

/** The year of the first quotes. */
export const FIRST_YEAR = 1990

/**
 * Fewest closes before a quote: with fewer no jumps are fitted, and the three years of an estimate are not full.
 * @internal
 */
export const FEWEST_CLOSES = 501

/** Most days from a history's last close to the quote, and from the settlement's close to the expiry. */
const MAX_GAP_DAYS = 7

/** Whole histories that are kept, up to a megabyte each: as many as the study walks through at once. */
const MAX_HISTORIES = 40

const log = pino({ level: 'silent' })

/** The date some days after another, both YYYY-MM-DD. */
export const dayAfter = (date: string, days: number): string => dayOf(Date.parse(date) + days * 86_400_000)

/** The number of closes on or before a date. */
const countUntil = (closes: readonly Close[], date: string): number => {
  let [from, to] = [0, closes.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if ((closes[middle]?.date ?? date) <= date) from = middle + 1
    else to = middle
  }
  return from
}

/** The newest close on or before a date; undefined when it is too old. */
const closeOn = (closes: readonly Close[], date: string): Close | undefined => {
  const close = closes[countUntil(closes, date) - 1]
  return close !== undefined && daysBetween(close.date, date) <= MAX_GAP_DAYS ? close : undefined
}

/**
 * The interest rates that were known on a date (YYYY-MM-DD): the table if it is of that date or before. Otherwise only
 * the dollar's rate, which discounts premiums and payouts alike, so that drift is 0.
 */
export const ratesKnownOn = (table: LocalRates, date: string): LocalRates =>
  table.asOf <= date ? table : { ...table, source: 'no rates of this date', rates: { USD: table.rates.USD } }

export type Past = {
  /** The publisher of the closes. */
  readonly source: string
  /** The last day with closes, YYYY-MM-DD. */
  readonly lastClose: string
  /** The last day of each month on which a quote can be made, from the first to the last year, YYYY-MM-DD. */
  datesOf(firstYear: number, lastYear: number): readonly string[]
  /**
   * Calibrates some pairs on the closes up to a date. Returns their model under each table of interest rates, which
   * leaves out a pair without enough closes.
   */
  modelsOn(
    date: string,
    pairs: readonly string[],
    tables: readonly LocalRates[],
    volMarkups: ModelOptions['volMarkups'],
  ): Promise<readonly Model[]>
  /** The rate in millionths at the last close on or before an expiry; undefined when the closes end before it. */
  settlementOf(pair: Pair, expiry: string): bigint | undefined
}

/** Opens the bundled history: half a second of processor time, in slices. */
export const openPast = async (): Promise<Past> => {
  const days = await readDays()
  const source = await sourceOf(days)
  const dates = days.map(([date]) => date)
  const lastClose = dates.at(-1) ?? ''
  const all = new Map(source.series.map(({ pair, closes }) => [pairName(pair), closes]))
  const wholeHistories = new LRUCache<string, readonly Close[]>({ max: MAX_HISTORIES })

  const wholeHistory = (pair: Pair): readonly Close[] => {
    const name = pairName(pair)
    const closes = wholeHistories.get(name) ?? closesOf(all, pair) ?? []
    wholeHistories.set(name, closes)
    return closes
  }

  /** The market that reads the file as it was on a date, of the series that the pairs need. */
  const marketOn = async (date: string, pairs: readonly string[]): Promise<Market> => {
    const end = dates.findLastIndex((day) => day <= date) + 1
    const first = dates[Math.max(0, end - FILE_DAYS)] ?? date
    const currencies = new Set(pairs.flatMap((pair) => pair.split('/')))
    const series = source.series
      .filter(({ pair }) => [pair.base, pair.quote].every((each) => each === 'USD' || currencies.has(each)))
      .map(({ pair, closes }) => ({
        pair,
        closes: closes.slice(countUntil(closes, dayAfter(first, -1)), countUntil(closes, date)),
      }))
    const sources = [{ ...source, series }]
    const feeds = [{ name: 'bundled history', read: async () => sources }]
    const market = createMarket({ feeds, now: () => Date.parse(date), log })
    await market.refresh()
    return market
  }

  return {
    source: source.name,
    lastClose,
    datesOf(firstYear, lastYear) {
      const ends = dates.filter((date, index) => date.slice(0, 7) !== dates[index + 1]?.slice(0, 7))
      return ends.filter((date) => {
        const year = Number(date.slice(0, 4))
        return year >= firstYear && year <= lastYear && date < lastClose
      })
    },
    async modelsOn(date, pairs, tables, volMarkups) {
      const market = await marketOn(date, pairs)
      const calibrations = createCalibrations()
      const isAsked = (pair: Pair): boolean => [pair, inverse(pair)].some((each) => pairs.includes(pairName(each)))
      calibrations.replace(await calibrateMarket({ ...market, pairs: () => market.pairs().filter(isAsked) }))
      const now = (): number => Date.parse(date)
      return tables.map((localRates) => {
        const usd = { rate: localRates.rates.USD, recordDate: localRates.asOf, fetchedAt: now(), fallback: false }
        const usdRate = { read: async () => usd }
        const options = { market, calibrations, usdRate, localRates, volMarkups, maxStalenessDays: MAX_GAP_DAYS, now }
        const modelOf = createModel(options)
        return async (name) => {
          const model = await modelOf(name)
          return model === undefined || model.stale || model.history.closes.length < FEWEST_CLOSES ? undefined : model
        }
      })
    },
    settlementOf(pair, expiry) {
      return expiry <= lastClose ? snapRate(closeOn(wholeHistory(pair), expiry)?.close ?? 0) : undefined
    },
  }
}
