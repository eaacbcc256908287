import { black, checkOption, type ExpectedPayoff, type Option, optionPrice } from './option.ts'

/** Jumps of the rate: their number a year, and the mean and standard deviation of the LOG jump. */
export type Jumps = {
  /** Jumps a year, at least 0. */
  readonly lambda: number
  readonly jumpMean: number
  readonly jumpStd: number
}

/** Number of terms, always all computed: in the money a small term may come before the large ones. */
const TERMS = 50

/**
 * The largest expected number of jumps that 50 terms hold: the probability of 50 or more is 4.5e-10 at 18 and grows
 * steeply beyond. Renormalised weights would not help, because they bias the mean.
 */
const MAX_EXPECTED_JUMPS = 18

/** ln E[J] of one lognormal jump J. */
const logMeanJump = ({ jumpMean, jumpStd }: Jumps): number => jumpMean + jumpStd ** 2 / 2

/**
 * True when the 50 terms hold the distribution of jumps over `years`, under the pricing measure and with the rate as
 * numeraire.
 */
export const seriesHolds = (jumps: Jumps, years: number): boolean =>
  jumps.lambda * years * Math.max(1, Math.exp(logMeanJump(jumps))) <= MAX_EXPECTED_JUMPS

/**
 * The option under Merton (1976), J. Financial Economics 3:125-144: the lognormal price averaged over the number of
 * jumps, 50 terms, with the drift compensated so that the forward stays spot * e^{(r - q) * years}. Without jumps or
 * time it equals `optionPrice` exactly. Throws a RangeError where `seriesHolds` is false, and for numbers outside the
 * range of an option or a jump.
 *
 * @example jumpOptionPrice(option, { lambda: 0.75, jumpMean: 0.1, jumpStd: 0.1 })
 */
export const jumpOptionPrice = (option: Option, jumps: Jumps, expected: ExpectedPayoff = black): number => {
  const { lambda, jumpMean, jumpStd } = jumps
  if (
    !(Number.isFinite(lambda) && lambda >= 0 && Number.isFinite(jumpMean) && Number.isFinite(jumpStd) && jumpStd >= 0)
  ) {
    throw new RangeError('jumps need a finite intensity and deviation of at least 0, and a finite mean')
  }
  if (lambda === 0 || option.years === 0) return optionPrice(option, expected)
  checkOption(option)
  const { type, spot, strike, years, sigma, r, q } = option
  if (!seriesHolds(jumps, years)) throw new RangeError('horizon too long for the jump series')

  const meanJump = logMeanJump(jumps)
  const drift = (r - q - lambda * Math.expm1(meanJump)) * years
  const moneyness = Math.log(spot / strike)
  let logWeight = -lambda * years
  let sum = 0
  for (let n = 0; n < TERMS; n += 1) {
    if (n > 0) logWeight += Math.log((lambda * years) / n)
    const growth = drift + n * meanJump
    // The weight is part of both exponents. As a separate factor, a vanishing weight could multiply an infinite
    // forward.
    const forward = spot * Math.exp(logWeight + growth)
    const v = Math.sqrt(sigma ** 2 * years + n * jumpStd ** 2)
    sum += expected(type, forward, strike * Math.exp(logWeight), moneyness + growth, v)
  }
  return Math.exp(-r * years) * sum
}
