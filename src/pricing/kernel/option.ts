import { normalCdf } from './normal.ts'

type OptionType = 'call' | 'put'

/** The inputs of an option's price, without jumps. Prices are QUOTE per 1 BASE; rates are annual, continuously
 * compounded fractions.
 */
export type Option = {
  readonly type: OptionType
  readonly spot: number
  readonly strike: number
  /** Time to expiry in years. */
  readonly years: number
  /** Annual volatility as a fraction; with jumps, of the diffusion alone. */
  readonly sigma: number
  /** The discount rate. */
  readonly r: number
  /** `r` minus the drift: the forward is spot * e^{(r - q) * years}. */
  readonly q: number
}

/**
 * An undiscounted expected payoff for a forward, a strike, ln(F/K) and the total deviation `v`. Forward and strike may
 * carry a common weight, which the result then has too.
 */
export type ExpectedPayoff = (type: OptionType, forward: number, strike: number, moneyness: number, v: number) => number

/**
 * The undiscounted expected payoff max(±(F - K), 0) when ln S is normal with total deviation `v` around ln F - v²/2.
 * `moneyness` is ln(F/K), a separate argument so that F and K may carry a common weight. Rounding never makes the
 * result negative.
 */
export const black: ExpectedPayoff = (type, forward, strike, moneyness, v) => {
  if (v === 0) return Math.max(type === 'call' ? forward - strike : strike - forward, 0)
  const d1 = moneyness / v + v / 2
  const d2 = moneyness / v - v / 2
  const price =
    type === 'call'
      ? forward * normalCdf(d1) - strike * normalCdf(d2)
      : strike * normalCdf(-d2) - forward * normalCdf(-d1)
  return Math.max(price, 0)
}

/**
 * The undiscounted expected payoff of the strike itself, paid when the rate ends at the strike or beyond it: K times
 * the probability of that.
 */
export const strikeOrNothing: ExpectedPayoff = (type, _forward, strike, moneyness, v) => {
  const towards = type === 'call' ? moneyness : -moneyness
  if (v === 0) return towards >= 0 ? strike : 0
  return strike * normalCdf(towards / v - (type === 'call' ? v / 2 : -v / 2))
}

/** Throws a RangeError for numbers outside an option's range: the formulas would return a plausible price or NaN. */
export const checkOption = ({ spot, strike, years, sigma, r, q }: Option): void => {
  const positive = Number.isFinite(spot) && spot > 0 && Number.isFinite(strike) && strike > 0
  const nonNegative = Number.isFinite(years) && years >= 0 && Number.isFinite(sigma) && sigma >= 0
  if (!positive || !nonNegative || !Number.isFinite(r) || !Number.isFinite(q)) {
    throw new RangeError(
      'an option needs positive finite prices, a time and volatility of at least 0, and finite rates',
    )
  }
}

/**
 * The two-rate lognormal option of Garman & Kohlhagen (1983), J. Int. Money and Finance 2:231-237, in QUOTE per 1 BASE.
 * Without time or volatility it is the discounted intrinsic value of the forward. Throws a RangeError for numbers
 * outside an option's range. With `strikeOrNothing` it is the option that pays its strike.
 *
 * @example
 * optionPrice({ type: 'call', spot: 1.56, strike: 1.6, years: 0.5, sigma: 0.12, r: 0.06, q: 0.08 }) // 0.0290993
 */
export const optionPrice = (option: Option, expected: ExpectedPayoff = black): number => {
  checkOption(option)
  const { type, spot, strike, years, sigma, r, q } = option
  const drift = (r - q) * years
  const moneyness = Math.log(spot / strike) + drift
  return Math.exp(-r * years) * expected(type, spot * Math.exp(drift), strike, moneyness, sigma * Math.sqrt(years))
}
