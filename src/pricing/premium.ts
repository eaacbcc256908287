import { mulDivDown } from '../lib/fixed.ts'

/*
 * Where prices become the integers of the protocol, both ways. Rates and shares count millionths (1e6).
 */

export const ONE = 1_000_000n

/** The protocol and the engine must see one number; this much of it may go by rounding to millionths. */
const MOST_ROUNDING = 1e-4

/** A payout above so many times its premium is refused. */
const MOST_LEVERAGE = 100n

/** A number in millionths, rounded half up. Throws a RangeError when it is not finite. */
export const sixRound = (value: number): bigint => BigInt(Math.floor(value * 1e6 + 0.5))

/** The number of millionths. */
export const fromSix = (millionths: bigint): number => Number(millionths) / 1e6

/** A rate as the protocol stores it; undefined when that changes it by more than 1e-4 of itself. */
export const snapRate = (rate: number): bigint | undefined => {
  const six = sixRound(rate)
  return Math.abs(fromSix(six) - rate) <= MOST_ROUNDING * rate ? six : undefined
}

/** A range in millionths, as `createEvent` takes it. */
export type FixedRange = { readonly initialRate: bigint; readonly strike: bigint; readonly payoutCap: bigint }

/** How far the rate moves from strike to cap, in millionths. */
export const widthOf = ({ strike, payoutCap }: FixedRange): bigint =>
  payoutCap > strike ? payoutCap - strike : strike - payoutCap

/** The premium as a share of the notional in millionths, rounded half up: what a move of the rate is worth, over the initial rate. */
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

/** True when the largest payout is at most 100 times the premium; exact, and the same for every notional. */
export const isWithinLeverage = (range: FixedRange, premiumRate: bigint): boolean =>
  premiumRate > 0n && widthOf(range) * ONE <= MOST_LEVERAGE * range.initialRate * premiumRate

/** True when the premium is at most the largest payout; a range of some millionths may round above it. Exact, and the same for every notional. */
export const isWithinPayout = (range: FixedRange, premiumRate: bigint): boolean =>
  range.initialRate * premiumRate <= widthOf(range) * ONE
