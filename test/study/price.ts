import { MAX_JUMPS_A_YEAR } from '../../src/pricing/calibrate/jumps.ts'
import { MAX_EMPIRICAL_DRIFT } from '../../src/pricing/drift.ts'
import { digitalPrice, spreadPrice } from '../../src/pricing/kernel/spread.ts'
import type { PairModel } from '../../src/pricing/model.ts'
import type { Inputs } from '../../src/pricing/quotes/inputs.ts'
import {
  type FixedRange,
  fromSix,
  isWithinLeverage,
  premiumRateRound,
  snapRate,
} from '../../src/pricing/quotes/premium.ts'
import { payoff } from '../../src/protocol/payoff.ts'
import { type Direction, NOTIONAL, STRIKES, WIDTHS } from './grid.ts'
import { noSums, type Sums } from './sums.ts'

/* Prices and pays the ranges of one date with the functions of quotes and of the protocol. */

const rangesOf = (initialRate: bigint, direction: Direction): readonly (readonly FixedRange[])[] => {
  const sign = direction === 'upward' ? 1 : -1
  const at = (distance: number): bigint => {
    const six = snapRate(fromSix(initialRate) * (1 + sign * distance))
    if (six === undefined) throw new Error(`a rate of ${initialRate} millionths is too small for the study`)
    return six
  }
  return STRIKES.map((strike) =>
    WIDTHS.map((width) => ({ initialRate, strike: at(strike), payoutCap: at(strike + width) })),
  )
}

/** A quote's terms on every range: rates in millionths. */
export type Terms = {
  readonly inputs: Inputs
  readonly initialRate: bigint
  readonly settlement: bigint
  readonly years: number
}

const optionOf = ({ inputs, initialRate, years }: Terms) => {
  const { sigma, r, qEffective: q } = inputs
  return { spot: fromSix(initialRate), years, sigma, r, q }
}

/** The model's probability that the rate ends at the strike or beyond. */
export const chanceOf = (terms: Terms, type: 'call' | 'put', strike: number): number => {
  const { inputs, years } = terms
  return Math.exp(inputs.r * years) * digitalPrice({ ...optionOf(terms), type, strike }, inputs.jump)
}

const priceRange = (terms: Terms, range: FixedRange, direction: Direction, chance: number): Sums => {
  const option = { ...optionOf(terms), strike: fromSix(range.strike), payoutCap: fromSix(range.payoutCap) }
  const premiumRate = premiumRateRound(spreadPrice(option, terms.inputs.jump), range)
  if (!isWithinLeverage(range, premiumRate)) return { ...noSums(), refused: 1 }
  const payout = payoff({ ...range, strikeAbove: direction === 'upward' }, terms.settlement, NOTIONAL)
  const premium = (NOTIONAL * premiumRate) / 1_000_000n
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
    return ranges.map((range) => priceRange(terms, range, direction, chance))
  })

/** Where a bound, and not the history, determined a value of the model. */
export const decidedBy = ({ drift, parameters }: PairModel, { sigma, volMarkup, garch }: Inputs) => ({
  floor: sigma > volMarkup * garch.sigmaIntegrated,
  driftCap: drift.localRates === null && Math.abs(drift.mu) === MAX_EMPIRICAL_DRIFT,
  jumpCap: parameters.jumpsFrom === 'fit' && parameters.jumps.lambda === MAX_JUMPS_A_YEAR,
})
