import { dayAfter, openPast, type Past } from '../../src/pricing/backtest/past.ts'
import { chanceOf, type Terms } from '../../src/pricing/backtest/ranges.ts'
import { parsePair } from '../../src/pricing/pair.ts'
import { fromSix } from '../../src/pricing/quotes/premium.ts'
import type { Direction } from './grid.ts'
import { decidedBy, isJumpCapped, priceGrid } from './price.ts'
import { openRates, RATE_CHOICES, type RateChoice } from './rates.ts'
import type { Sums } from './sums.ts'

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

export type Study = Pick<Past, 'datesOf' | 'lastClose'> & {
  /** The date of the service's table of interest rates. */
  readonly ratesAsOf: string
  /** Prices every range on a date, with the closes and rates up to it; a pair without enough closes is left out. */
  observe(date: string, pairs: readonly string[], horizons: readonly number[]): Promise<readonly Observation[]>
}

/** Opens the bundled history: each date sees what the service would have read on it. */
export const openStudy = async (): Promise<Study> => {
  const past = await openPast()
  const { asOf: ratesAsOf, ratesOn } = await openRates()
  return {
    datesOf: past.datesOf,
    lastClose: past.lastClose,
    ratesAsOf,
    async observe(date, pairs, horizons) {
      const tables = RATE_CHOICES.map((choice) => ratesOn(date)[choice])
      const models = await past.modelsOn(date, pairs, tables, {})
      const observations: Observation[] = []
      for (const name of pairs) {
        const pair = parsePair(name)
        for (const [index, modelOf] of models.entries()) {
          const [rates, model] = [RATE_CHOICES[index], await modelOf(name)]
          if (pair === undefined || rates === undefined || model?.spot === undefined) continue
          const jumpCap = isJumpCapped(model)
          for (const horizon of horizons) {
            const settlement = past.settlementOf(pair, dayAfter(date, horizon))
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
              decided: decidedBy(model, inputs, jumpCap),
              ranges: { upward: priceGrid(terms, 'upward'), downward: priceGrid(terms, 'downward') },
            })
          }
        }
      }
      return observations
    },
  }
}
