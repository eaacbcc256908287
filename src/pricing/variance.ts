/** Trading days a year: volatilities are annual, returns daily. */
export const TRADING_DAYS = 252

const DECAY = 0.94
const EWMA_RETURNS = 60

/** ln(c_i / c_{i-1}) of consecutive closes, oldest first; one fewer than closes. */
export const logReturns = (closes: readonly number[]): number[] =>
  closes.slice(1).map((close, index) => Math.log(close / (closes[index] ?? Number.NaN)))

/**
 * The annual volatility of the last 60 returns (fewer if there are fewer), weighted 0.94^i backwards from the newest,
 * around a mean of zero. The weights are normalised: (1 - 0.94) * sum would understate 60 returns by 1.2 % and 29 by
 * 8.7 %. RiskMetrics Technical Document (1996), chapter 5. Throws a RangeError without a return.
 */
export const ewmaVolatility = (returns: readonly number[]): number => {
  if (returns.length === 0) throw new RangeError('a volatility needs at least one return')
  let weighted = 0
  let weights = 0
  let weight = 1
  for (const r of returns.slice(-EWMA_RETURNS).reverse()) {
    weighted += weight * r * r
    weights += weight
    weight *= DECAY
  }
  return Math.sqrt((TRADING_DAYS * weighted) / weights)
}

/** The forecast of a GARCH(1,1) process; volatilities are annual. */
export type VarianceForecast = {
  /** The volatility of the next day. */
  readonly sigma0: number
  /** The volatility to which it reverts. */
  readonly sigmaLongRun: number
  /** alpha + beta: the share of a deviation that remains a day later. */
  readonly persistence: number
}

/**
 * The mean variance (annual) that a GARCH(1,1) process expects over `days` trading days, a real number: the closed form
 * sL² + (s0² - sL²)(1 - p^N) / (N(1 - p)) of the mean of sL² + p^{k-1}(s0² - sL²), k = 1..N. Bollerslev (1986), J.
 * Econometrics 31:307-327. It is s0² at 0 days or without reversion to the long run (p = 1), and tends to sL².
 *
 * Within the first day the closed form extrapolates. With very fast reversion the result may not be positive; then the
 * next day's variance is used. Throws a RangeError for a negative or non-finite argument.
 */
export const averageVariance = ({ sigma0, sigmaLongRun, persistence }: VarianceForecast, days: number): number => {
  if (![sigma0, sigmaLongRun, persistence, days].every((value) => Number.isFinite(value) && value >= 0)) {
    throw new RangeError('a variance forecast needs finite numbers of at least 0')
  }
  const next = sigma0 ** 2
  const forgetting = 1 - persistence
  if (days === 0 || forgetting === 0) return next
  const longRun = sigmaLongRun ** 2
  // 1 - p^N without cancellation for p near 1.
  const remaining = -Math.expm1(days * Math.log1p(-forgetting)) / (days * forgetting)
  const average = longRun + (next - longRun) * remaining
  return average > 0 ? average : next
}

/**
 * The kernel's volatility: the integrated volatility times the tier's markup, at least the tier's floor. The floor is
 * applied last because it is a guarantee: a low long-run volatility must not push the result below it.
 */
export const kernelSigma = (
  sigmaIntegrated: number,
  tier: { readonly floor: number; readonly volMarkup: number },
): number => Math.max(tier.floor, tier.volMarkup * sigmaIntegrated)
