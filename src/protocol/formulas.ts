import { mulDivDown } from '../lib/fixed.ts'

/* The protocol's formulas of costs, as docs/plans.md explains them. `payoff` has the one of payouts. */

/** The scale of rates. */
const RATE_ONE = 1_000_000n

/** The premium of a notional, in the notional's token units, rounded down; `premiumRate` has a scale of 1e6. */
export const premiumOf = (notional: bigint, premiumRate: bigint): bigint => mulDivDown(notional, premiumRate, RATE_ONE)

/** The fee on an amount, in its token units, rounded down; `rate` has a scale of 1e6. */
export const feeOf = (amount: bigint, rate: bigint): bigint => mulDivDown(amount, rate, RATE_ONE)
