import { mulDivDown } from '../lib/fixed.ts'

/* The protocol's formulas of costs, as docs/plans.md explains them. `payoff` has the one of payouts. */

/** The scale of rates. */
const RATE_ONE = 1_000_000n

/** The premium of a notional, in the notional's token units, rounded down; `premiumRate` has a scale of 1e6. */
export const premiumAmount = (notional: bigint, premiumRate: bigint): bigint =>
  mulDivDown(notional, premiumRate, RATE_ONE)

/**
 * The protocol's fee on an amount, in its token units, rounded down; `feeRate` has a scale of 1e6.
 *
 * @example feeAmount(438_596491n, 10_000n) // 4_385964n
 */
export const feeAmount = (amount: bigint, feeRate: bigint): bigint => mulDivDown(amount, feeRate, RATE_ONE)
