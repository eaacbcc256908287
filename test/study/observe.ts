import { pino } from 'pino'
import { calibrateMarket, createCalibrations } from '../../src/pricing/calibrations.ts'
import { FILE_DAYS, readDays, sourceOf } from '../../src/pricing/market/bundled.ts'
import { createMarket, type Market } from '../../src/pricing/market/market.ts'
import { type Close, closesOf, daysBetween } from '../../src/pricing/market/series.ts'
import { createModel, type Model } from '../../src/pricing/model.ts'
import { type Pair, pairName, parsePair } from '../../src/pricing/pair.ts'
import { fromSix, snapRate } from '../../src/pricing/quotes/premium.ts'
import { type Direction, FEWEST_CLOSES, MAX_GAP_DAYS } from './grid.ts'
import { chanceOf, decidedBy, priceGrid, type Terms } from './price.ts'
import { openRates, RATE_CHOICES, type RateChoice } from './rates.ts'
import type { Sums } from './sums.ts'

const log = pino({ level: 'silent' })

/** What the engine asked on one date for one pair and horizon, and what it would have paid. */
export type Observation = {
  /** YYYY-MM-DD. */
  readonly date: string
  readonly pair: string
  readonly horizon: number
  readonly rates: RateChoice
  readonly spot: number
  /** e^{-rT} at the dollar's rate of the quote. */
  readonly discount: number
  /** The model's probability of a rate at or below the one at expiry. */
  readonly pit: number
  readonly decided: ReturnType<typeof decidedBy>
  /** Strike by strike, and for each its widths. */
  readonly ranges: Readonly<Record<Direction, readonly Sums[]>>
}

const dayAfter = (date: string, days: number): string =>
  new Date(Date.parse(date) + days * 86_400_000).toISOString().slice(0, 10)

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

export type Study = {
  /** The last day of each month on which a quote can be made, from the first to the last year, YYYY-MM-DD. */
  datesOf(firstYear: number, lastYear: number): readonly string[]
  readonly lastClose: string
  /** The date of the service's table of interest rates. */
  readonly ratesAsOf: string
  /** Prices every range on a date, with the closes and rates up to it; a pair without enough closes is left out. */
  observe(date: string, pairs: readonly string[], horizons: readonly number[]): Promise<readonly Observation[]>
}

/** Opens the bundled history: each date sees what the service would have read on it. */
export const openStudy = async (): Promise<Study> => {
  const days = await readDays()
  const { asOf: ratesAsOf, ratesOn } = await openRates()
  const lastClose = days.at(-1)?.[0] ?? ''
  const source = sourceOf(days)
  const all = new Map(source.series.map(({ pair, closes }) => [pairName(pair), closes]))
  const wholeHistories = new Map<string, readonly Close[]>()

  const wholeHistory = (pair: Pair): readonly Close[] => {
    const name = pairName(pair)
    const closes = wholeHistories.get(name) ?? closesOf(all, pair) ?? []
    wholeHistories.set(name, closes)
    return closes
  }

  /** The market that reads the file as it was on a date, of the series that the pairs need. */
  const marketOn = async (date: string, pairs: readonly string[]): Promise<Market> => {
    const end = days.findLastIndex(([day]) => day <= date) + 1
    const first = days[Math.max(0, end - FILE_DAYS)]?.[0] ?? date
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

  const modelsOn = async (date: string, pairs: readonly string[]): Promise<ReadonlyMap<RateChoice, Model>> => {
    const market = await marketOn(date, pairs)
    const calibrations = createCalibrations()
    const asked = () => market.pairs().filter((pair) => pairs.includes(pairName(pair)))
    calibrations.replace(await calibrateMarket({ ...market, pairs: asked }))
    const rates = ratesOn(date)
    return new Map(
      RATE_CHOICES.map((choice) => {
        const localRates = rates[choice]
        const now = (): number => Date.parse(date)
        const usd = { rate: localRates.rates.USD, recordDate: localRates.asOf, fetchedAt: now(), fallback: false }
        const usdRate = { read: async () => usd }
        const options = {
          market,
          calibrations,
          usdRate,
          localRates,
          volMarkups: {},
          maxStalenessDays: MAX_GAP_DAYS,
          now,
        }
        return [choice, createModel(options)]
      }),
    )
  }

  return {
    lastClose,
    ratesAsOf,
    datesOf(firstYear, lastYear) {
      const dates = days
        .map(([date]) => date)
        .filter((date, index) => date.slice(0, 7) !== days[index + 1]?.[0].slice(0, 7))
      return dates.filter((date) => {
        const year = Number(date.slice(0, 4))
        return year >= firstYear && year <= lastYear && date < lastClose
      })
    },
    async observe(date, pairs, horizons) {
      const models = await modelsOn(date, pairs)
      const observations: Observation[] = []
      for (const name of pairs) {
        const pair = parsePair(name)
        for (const [rates, modelOf] of models) {
          const model = await modelOf(name)
          if (pair === undefined || model?.spot === undefined) continue
          if (model.stale || model.history.closes.length < FEWEST_CLOSES) continue
          for (const horizon of horizons) {
            const expiry = dayAfter(date, horizon)
            const settlement = expiry <= lastClose ? snapRate(closeOn(wholeHistory(pair), expiry)?.close ?? 0) : 0n
            const years = horizon / 365
            const inputs = model.inputsFor(years)
            if (!settlement || inputs === undefined) continue
            const terms: Terms = { inputs, initialRate: model.spot, settlement, years }
            observations.push({
              date,
              pair: name,
              horizon,
              rates,
              spot: fromSix(model.spot),
              discount: Math.exp(-inputs.r * years),
              pit: chanceOf(terms, 'put', fromSix(settlement)),
              decided: decidedBy(model, inputs),
              ranges: { upward: priceGrid(terms, 'upward'), downward: priceGrid(terms, 'downward') },
            })
          }
        }
      }
      return observations
    },
  }
}
