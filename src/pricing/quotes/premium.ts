import { mulDivDown } from '../../lib/fixed.ts'

/* Conversion between prices and the integers of the protocol. Rates and shares are in millionths (1e6).
 */

export const ONE = 1_000_000n

/**
 * The protocol and the engine must use the same number. Rounding to millionths may change it by at most this fraction.
 */
const MAX_ROUNDING = 1e-4

/** Maximum ratio of payout to premium. */
const MAX_LEVERAGE = 100n

/** Converts a number to millionths, rounded half up. Throws a RangeError when it is not finite. */
export const sixRound = (value: number): bigint => BigInt(Math.floor(value * 1e6 + 0.5))

/** Converts millionths to a number. */
export const fromSix = (millionths: bigint): number => Number(millionths) / 1e6

/** A rate as the protocol stores it; undefined when rounding changes it by more than a fraction of 1e-4. */
export const snapRate = (rate: number): bigint | undefined => {
  const six = sixRound(rate)
  return Math.abs(fromSix(six) - rate) <= MAX_ROUNDING * rate ? six : undefined
}

/** A range in millionths, as `createEvent` takes it. */
export type FixedRange = { readonly initialRate: bigint; readonly strike: bigint; readonly payoutCap: bigint }

/** The distance from strike to cap, in millionths. */
export const widthOf = ({ strike, payoutCap }: FixedRange): bigint =>
  payoutCap > strike ? payoutCap - strike : strike - payoutCap

/**
 * The premium as a share of the notional in millionths, rounded half up: the value of the range in QUOTE divided by the
 * initial rate.
 */
export const premiumRateRound = (value: number, { initialRate }: FixedRange): bigint =>
  sixRound(value / fromSix(initialRate))

/** Premium and largest payout of a notional, all in millionths and rounded down as the protocol does. */
export const amountsDown = (
  range: FixedRange,
  premiumRate: bigint,
  notional: bigint,
): { readonly premium: bigint; readonly maxPayout: bigint } => ({
  premium: mulDivDown(notional, premiumRate, ONE),
  maxPayout: mulDivDown(notional, widthOf(range), range.initialRate),
})

/** True when the largest payout is at most 100 times the premium. Exact, and the same for every notional. */
export const isWithinLeverage = (range: FixedRange, premiumRate: bigint): boolean =>
  premiumRate > 0n && widthOf(range) * ONE <= MAX_LEVERAGE * range.initialRate * premiumRate

/**
 * True when the premium is at most the largest payout; the premium of a range of a few millionths may round above it.
 * Exact, and the same for every notional.
 */
export const isWithinPayout = (range: FixedRange, premiumRate: bigint): boolean =>
  range.initialRate * premiumRate <= widthOf(range) * ONE
