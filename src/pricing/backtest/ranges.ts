import { payoff } from '../../protocol/payoff.ts'
import { digitalPrice, spreadPrice } from '../kernel/spread.ts'
import type { Inputs } from '../quotes/inputs.ts'
import {
  amountsDown,
  type FixedRange,
  fromSix,
  isWithinLeverage,
  isWithinPayout,
  ONE,
  premiumRateRound,
  snapRate,
} from '../quotes/premium.ts'

/* What a range would have cost and paid, by the functions of quotes and of the protocol. */

/** A quote's terms on every range: rates in millionths. */
export type Terms = {
  readonly inputs: Inputs
  readonly initialRate: bigint
  readonly settlement: bigint
  readonly years: number
}

/** The range with its strike and cap at these multiples of the spot; undefined when it needs more than six decimals. */
export const rangeAt = (initialRate: bigint, strikeToSpot: number, capToSpot: number): FixedRange | undefined => {
  const spot = fromSix(initialRate)
  const [strike, payoutCap] = [snapRate(spot * strikeToSpot), snapRate(spot * capToSpot)]
  return strike === undefined || payoutCap === undefined ? undefined : { initialRate, strike, payoutCap }
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

/**
 * Premium and payout of a range, both in the units of the notional and rounded down; undefined for a range that a quote
 * refuses, because its premium is too small for its payout or too large.
 */
export const outcomeOf = (
  terms: Terms,
  range: FixedRange,
  notional: bigint,
): { readonly premium: bigint; readonly payout: bigint } | undefined => {
  const option = { ...optionOf(terms), strike: fromSix(range.strike), payoutCap: fromSix(range.payoutCap) }
  const value = spreadPrice(option, terms.inputs.jump)
  if (!Number.isFinite(value)) return undefined
  const premiumRate = premiumRateRound(value, range)
  if (!isWithinLeverage(range, premiumRate) || !isWithinPayout(range, premiumRate) || premiumRate > ONE)
    return undefined
  const { premium } = amountsDown(range, premiumRate, notional)
  const strikeAbove = range.payoutCap > range.strike
  return { premium, payout: payoff({ ...range, strikeAbove }, terms.settlement, notional) }
}
