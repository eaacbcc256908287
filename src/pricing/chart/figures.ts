import { z } from 'zod'
import { payoff } from '../../protocol/payoff.ts'
import { spreadPrice } from '../kernel/spread.ts'
import { Breakdown, type Quote } from '../messages.ts'
import { horizonSigma } from '../quotes/inputs.ts'
import { amountsDown, fromSix, premiumRateRound, sixRound } from '../quotes/premium.ts'
import { TRADING_DAYS } from '../variance.ts'

const Six = z.string().regex(/^\d+$/).transform(BigInt)

/** Fields of this engine's breakdown that a picture needs in addition to the fields that every engine returns. */
const Basis = Breakdown.extend({
  asOf: z.int(),
  initialRateFixed6: Six,
  strikeFixed6: Six,
  payoutCapFixed6: Six,
  inputs: Breakdown.shape.inputs.extend({ volFloor: z.number() }),
  spotSource: z.object({ source: z.string(), date: z.string(), synthetic: z.boolean() }),
  history: z.object({ source: z.string(), lastClose: z.string(), synthetic: z.boolean(), stale: z.boolean() }),
})

/** The numbers that a picture of a quote needs. Rates are QUOTE per 1 BASE, amounts whole payment-token units. */
export type Figures = z.output<typeof Basis> & {
  readonly premium: number
  readonly maxPayout: number
  /** The hedger's result of a settlement at a rate: the payout less the premium. */
  net(settlement: number): number
  /**
   * The premium of the same range at another spot and time left. At the quote's spot and time it is the quote's
   * premium.
   */
  premiumAt(spot: number, years: number): number
  /** The rate at which the payout equals the premium; undefined when no payout exceeds the premium. */
  readonly breakEven: number | undefined
}

/** Computes every number from the quote and its breakdown, with the formulas of the engine and of the protocol. */
export const figuresOf = (quote: Quote): Figures => {
  const basis = Basis.parse(quote.breakdown)
  const { strike, payoutCap, inputs, notional } = basis
  const { premiumUsd: premium, maxPayoutUsd: maxPayout } = quote
  const range = {
    initialRate: basis.initialRateFixed6,
    strike: basis.strikeFixed6,
    payoutCap: basis.payoutCapFixed6,
    strikeAbove: basis.direction === 'upward',
  }
  return {
    ...basis,
    premium,
    maxPayout,
    net: (settlement) => fromSix(payoff(range, sixRound(settlement), sixRound(notional))) - premium,
    premiumAt(spot, years) {
      const { r, qEffective: q, garch, jump, volFloor: floor, volMarkup } = inputs
      const { sigma } = horizonSigma(garch, { floor, volMarkup }, TRADING_DAYS * years)
      const value = spreadPrice({ spot, strike, payoutCap, years, sigma, r, q }, jump)
      return fromSix(amountsDown(range, premiumRateRound(value, range), sixRound(notional)).premium)
    },
    breakEven: premium < maxPayout ? strike + ((payoutCap - strike) * premium) / maxPayout : undefined,
  }
}
