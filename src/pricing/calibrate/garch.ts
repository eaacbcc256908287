import { minimise } from './minimise.ts'

/**
 * h_t = omega + alpha e²_{t-1} + beta h_{t-1}, of returns e around a mean of zero; variances in the square of the unit of
 * the input returns.
 */
export type GarchFit = {
  readonly omega: number
  readonly alpha: number
  readonly beta: number
  /** Gaussian log-likelihood of the whole sample. */
  readonly logLikelihood: number
  /** The highest log-likelihood that a constant variance reaches. */
  readonly constantLogLikelihood: number
}

/** Fits are stationary by construction: a long-run variance has to exist. */
const MAX_PERSISTENCE = 0.9995

/** Starting points of the searches: persistence, and alpha's share of it. */
const starts = [
  [0.98, 0.05],
  [0.95, 0.12],
  [0.9, 0.2],
  [0.6, 0.4],
] as const

const logistic = (x: number): number => 1 / (1 + Math.exp(-x))
const logit = (y: number): number => Math.log(y / (1 - y))
const average = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length

/** Maps any two real numbers to the alpha and beta of a stationary process. */
const weightsOf = (a: number, b: number): { readonly alpha: number; readonly beta: number } => {
  const persistence = MAX_PERSISTENCE * logistic(a)
  const alpha = persistence * logistic(b)
  return { alpha, beta: persistence - alpha }
}

/**
 * Sum of ln h_t + e²_t / h_t of squared residuals. The squared residual and the variance before the sample both equal
 * its mean square (Fiorentini, Calzolari & Panattoni 1996, J. Applied Econometrics 11:399-417).
 */
const deviance = (squares: readonly number[], omega: number, alpha: number, beta: number): number => {
  const mean = average(squares)
  let variance = omega + (alpha + beta) * mean
  let sum = 0
  for (const square of squares) {
    sum += Math.log(variance) + square / variance
    variance = omega + alpha * square + beta * variance
  }
  return sum
}

const logLikelihoodOf = (deviance: number, count: number): number => -(count * Math.log(2 * Math.PI) + deviance) / 2

const best = (
  cost: (point: readonly number[]) => number,
  points: readonly (readonly number[])[],
): readonly number[] => {
  const found = points.map((point) => {
    // A second search starts where the first one ended, because a simplex can collapse before it reaches the minimum.
    const first = minimise(cost, point)
    return minimise(cost, first.point, { step: 0.1, tolerance: 1e-12 })
  })
  return found.reduce((a, b) => (b.value < a.value ? b : a)).point
}

/** The root mean square. Returns are divided by it, so that every search works at the same scale. */
const scaleOf = (returns: readonly number[]): number => {
  const scale = Math.sqrt(average(returns.map((r) => r * r)))
  if (!(scale > 0 && Number.isFinite(scale)))
    throw new RangeError('a variance fit needs finite returns that are not all zero')
  return scale
}

/**
 * GARCH(1,1) around a mean of zero by Gaussian quasi-maximum likelihood with variance targeting: the long-run variance
 * is the sample's, and the search covers only alpha and beta (Engle & Mezrich 1996; Francq, Horváth & Zakoïan 2011).
 * Targeting fixes the long-run variance, on which prices depend most. Throws a RangeError for returns that are not
 * finite or all zero.
 */
export const fitGarch = (returns: readonly number[]): GarchFit => {
  const scale = scaleOf(returns)
  const squares = returns.map((r) => (r / scale) ** 2)
  const cost = ([a = 0, b = 0]: readonly number[]): number => {
    const { alpha, beta } = weightsOf(a, b)
    return deviance(squares, 1 - alpha - beta, alpha, beta)
  }
  const found = best(
    cost,
    starts.map(([persistence, share]) => [logit(persistence / MAX_PERSISTENCE), logit(share)]),
  )
  const { alpha, beta } = weightsOf(found[0] ?? 0, found[1] ?? 0)
  const rescaled = returns.length * Math.log(scale ** 2)
  return {
    omega: scale ** 2 * (1 - alpha - beta),
    alpha,
    beta,
    logLikelihood: logLikelihoodOf(cost(found) + rescaled, returns.length),
    constantLogLikelihood: logLikelihoodOf(returns.length + rescaled, returns.length),
  }
}
