import { chanceOf, outcomeOf, rangeAt, type Terms } from '../../src/pricing/backtest/ranges.ts'
import { splitReturns } from '../../src/pricing/calibrate/jumps.ts'
import { MAX_EMPIRICAL_DRIFT } from '../../src/pricing/drift.ts'
import type { PairModel } from '../../src/pricing/model.ts'
import type { Inputs } from '../../src/pricing/quotes/inputs.ts'
import { type FixedRange, fromSix } from '../../src/pricing/quotes/premium.ts'
import { logReturns } from '../../src/pricing/variance.ts'
import { type Direction, NOTIONAL, STRIKES, WIDTHS } from './grid.ts'
import { noSums, type Sums } from './sums.ts'

/* Prices and pays the ranges of one date with the functions of quotes and of the protocol. */

const rangesOf = (initialRate: bigint, direction: Direction): readonly (readonly FixedRange[])[] => {
  const sign = direction === 'upward' ? 1 : -1
  return STRIKES.map((strike) =>
    WIDTHS.map((width) => {
      const range = rangeAt(initialRate, 1 + sign * strike, 1 + sign * (strike + width))
      if (range === undefined) throw new Error(`a rate of ${initialRate} millionths is too small for the study`)
      return range
    }),
  )
}

const priceRange = (terms: Terms, range: FixedRange, chance: number): Sums => {
  const outcome = outcomeOf(terms, range, NOTIONAL)
  if (outcome === undefined) return { ...noSums(), refused: 1 }
  const { premium, payout } = outcome
  return {
    quotes: 1,
    refused: 0,
    premiums: Number(premium),
    payouts: Number(payout),
    paid: payout > 0n ? 1 : 0,
    chance,
  }
}

/** The ranges of one direction: strike by strike, and for each its widths. */
export const priceGrid = (terms: Terms, direction: Direction): readonly Sums[] =>
  rangesOf(terms.initialRate, direction).flatMap((ranges) => {
    const strike = fromSix(ranges[0]?.strike ?? 0n)
    const chance = chanceOf(terms, direction === 'upward' ? 'call' : 'put', strike)
    return ranges.map((range) => priceRange(terms, range, chance))
  })

/** Whether the history of a model has more candidates for jumps than are fitted. */
export const isJumpCapped = ({ history, parameters }: PairModel): boolean =>
  parameters.jumpsFrom === 'fit' && splitReturns(logReturns(history.closes.map(({ close }) => close))).capped

/** Where a bound, and not the history, determined a value of the model. */
export const decidedBy = ({ drift }: PairModel, { sigmaFrom }: Inputs, jumpCap: boolean) => ({
  floor: sigmaFrom === 'floor',
  driftCap: drift.localRates === null && Math.abs(drift.mu) === MAX_EMPIRICAL_DRIFT,
  jumpCap,
})
