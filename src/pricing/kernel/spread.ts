import { type Jumps, jumpOptionPrice } from './jumps.ts'
import { type Option, strikeOrNothing } from './option.ts'

/** A range of protection: it pays the move of the rate from `strike` towards `payoutCap`, limited to that range. */
export type Spread = Omit<Option, 'type'> & { readonly payoutCap: number }

/**
 * The value today of the move from strike to cap, in QUOTE per 1 BASE: with the cap above the strike, the call at the
 * strike less the call at the cap; with the cap below it, the same with puts. It lies between 0 and the discounted
 * width. Throws the errors of `jumpOptionPrice`, and a RangeError when strike and cap are equal.
 */
export const spreadPrice = ({ payoutCap, ...range }: Spread, jumps: Jumps): number => {
  if (payoutCap === range.strike) throw new RangeError('a range needs a cap that differs from its strike')
  const type = payoutCap > range.strike ? 'call' : 'put'
  const near = jumpOptionPrice({ ...range, type }, jumps)
  const far = jumpOptionPrice({ ...range, type, strike: payoutCap }, jumps)
  const most = Math.exp(-range.r * range.years) * Math.abs(payoutCap - range.strike)
  // The bounds hold exactly; the rounding of a difference could cross them.
  return Math.min(Math.max(near - far, 0), most)
}

/**
 * The value today of 1 QUOTE at expiry if the rate is then at the strike or beyond it: above it for a call, below it
 * for a put. It lies between 0 and the discounted 1. Throws the errors of `jumpOptionPrice`.
 */
export const digitalPrice = (option: Option, jumps: Jumps): number =>
  Math.min(jumpOptionPrice(option, jumps, strikeOrNothing) / option.strike, Math.exp(-option.r * option.years))
