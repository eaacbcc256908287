import { MAX_UINT256, max, min, mulDivDown } from '../lib/fixed.ts'

/**
 * The inputs of an event's payoff: the outputs of `getHedgeEventRange`. All rates have scale 1e6. `payoutCap` 0 means
 * single-strike.
 */
export type Range = {
  readonly strike: bigint
  readonly payoutCap: bigint
  readonly initialRate: bigint
  readonly strikeAbove: boolean
}

const distance = (a: bigint, b: bigint): bigint => max(a, b) - min(a, b)

/** The width of the payout zone (1e6): from strike to cap, or from strike to initial rate for a single-strike event. */
export const width = ({ strike, payoutCap, initialRate }: Range): bigint =>
  payoutCap === 0n ? distance(strike, initialRate) : distance(strike, payoutCap)

/**
 * The distance of `settlement` (1e6) into the payout zone, from 0 to `width`. For a single-strike event it is 0 or
 * `width`.
 */
export const move = (range: Range, settlement: bigint): bigint => {
  const { strike, payoutCap, strikeAbove } = range
  if (payoutCap === 0n) {
    const triggered = strikeAbove ? settlement >= strike : settlement <= strike
    return triggered ? width(range) : 0n
  }
  return strikeAbove ? max(min(settlement, payoutCap) - strike, 0n) : max(strike - max(settlement, payoutCap), 0n)
}

/**
 * The gross payout of `notional` at a settlement rate (1e6), in the notional's token units, rounded down:
 * `floor(notional * move / initialRate)`. Without a settlement rate or a notional it is 0.
 *
 * @example
 * const range = { strike: 12_000000n, payoutCap: 13_500000n, initialRate: 11_400000n, strikeAbove: true }
 * payoff(range, 12_500000n, 10_000_000000n) // 438_596491n
 */
export const payoff = (range: Range, settlement: bigint, notional: bigint): bigint =>
  settlement === 0n ? 0n : mulDivDown(notional, move(range, settlement), range.initialRate)

/** Whether the product that the protocol computes for a payout exceeds a uint256, so that it reverts. */
export const payoffOverflows = (range: Range, settlement: bigint, notional: bigint): boolean =>
  settlement !== 0n && notional * move(range, settlement) > MAX_UINT256

/** The worst-case payout of `notional`, in its token units, rounded down: what the pool reserves for it. */
export const worstCasePayout = (range: Range, notional: bigint): bigint =>
  mulDivDown(notional, width(range), range.initialRate)

/**
 * The largest notional whose worst-case payout fits into `free` liquidity, both in token units: the greatest n with
 * `floor(n * width / initialRate) <= free`. The last division rounds down too.
 */
export const largestNotional = (range: Range, free: bigint): bigint =>
  width(range) === 0n ? MAX_UINT256 : ((free + 1n) * range.initialRate - 1n) / width(range)
