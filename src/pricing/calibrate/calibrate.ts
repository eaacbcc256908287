import type { Jumps } from '../kernel/jumps.ts'
import { TRADING_DAYS } from '../variance.ts'
import { fitGarch, type GarchFit } from './garch.ts'
import { estimateJumps, splitReturns } from './jumps.ts'

/** The variance process of a pair; `sigmaLongRun` annual. */
export type Garch = { readonly alpha: number; readonly beta: number; readonly sigmaLongRun: number }

/** The parameters that price a pair, and the origin of each group of them. */
export type Calibration = {
  readonly garch: Garch
  /**
   * `fit`: fitted to the pair's history; `sample`: the tier's process around the history's volatility; `tier`: the
   * tier's defaults.
   */
  readonly garchFrom: 'fit' | 'sample' | 'tier'
  readonly jumps: Jumps
  readonly jumpsFrom: 'fit' | 'tier'
}

const FEWEST_RETURNS_TO_FIT = 250
const FEWEST_RETURNS_TO_SAMPLE = 120

/** Above this persistence the variance reverts so slowly that the history does not determine its long-run level. */
const MAX_PERSISTENCE = 0.999

/** A gain below this is rounding, which differs between machines. With an alpha of 0 the variance would be constant. */
const LEAST_GAIN = 1e-3

const acceptable = ({ alpha, beta, logLikelihood, constantLogLikelihood }: GarchFit): boolean =>
  Number.isFinite(logLikelihood) &&
  logLikelihood - constantLogLikelihood > LEAST_GAIN &&
  alpha + beta <= MAX_PERSISTENCE

const calibrateGarch = (returns: readonly number[], tier: Garch): Pick<Calibration, 'garch' | 'garchFrom'> => {
  const meanSquare = returns.reduce((sum, r) => sum + r * r, 0) / returns.length
  const sigmaLongRun = Math.sqrt(TRADING_DAYS * meanSquare)
  if (returns.length >= FEWEST_RETURNS_TO_FIT && meanSquare > 0) {
    const fit = fitGarch(returns)
    // Variance targeting has set the fit's long-run variance to the sample's.
    if (acceptable(fit)) return { garch: { alpha: fit.alpha, beta: fit.beta, sigmaLongRun }, garchFrom: 'fit' }
  }
  if (returns.length >= FEWEST_RETURNS_TO_SAMPLE) return { garch: { ...tier, sigmaLongRun }, garchFrom: 'sample' }
  return { garch: tier, garchFrom: 'tier' }
}

/**
 * The parameters of a pair from its daily log returns, oldest first. Parameters that the history is too short or too
 * irregular to estimate come from the tier. The variance is fitted without jumps, so that no move is priced twice.
 */
export const calibrate = (
  returns: readonly number[],
  tier: { readonly garch: Garch; readonly jumps: Jumps },
): Calibration => {
  const split = splitReturns(returns)
  const jumps = estimateJumps(split, tier.jumps)
  return {
    ...calibrateGarch(split.diffusive, tier.garch),
    jumps: jumps ?? tier.jumps,
    jumpsFrom: jumps === undefined ? 'tier' : 'fit',
  }
}
