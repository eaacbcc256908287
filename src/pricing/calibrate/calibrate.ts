import type { Jumps } from '../kernel/jumps.ts'
import { TRADING_DAYS } from '../variance.ts'
import { fitGarch, type GarchFit } from './garch.ts'
import { estimateJumps, splitReturns } from './jumps.ts'

/** The variance process of a pair; `sigmaLongRun` annual. */
export type Garch = { readonly alpha: number; readonly beta: number; readonly sigmaLongRun: number }

/** The parameters a pair is priced with, and where each group of them is from. */
export type Calibration = {
  readonly garch: Garch
  /** `fit`: of the pair's history; `sample`: the tier's process about the history's volatility; `tier`: the tier's defaults. */
  readonly garchFrom: 'fit' | 'sample' | 'tier'
  readonly jumps: Jumps
  readonly jumpsFrom: 'fit' | 'tier'
}

const FEWEST_RETURNS_TO_FIT = 250
const FEWEST_RETURNS_TO_SAMPLE = 120

/** Above it the long run is too far away to be known. */
const MOST_PERSISTENCE = 0.999

const acceptable = ({ alpha, beta, logLikelihood, constantLogLikelihood }: GarchFit): boolean =>
  Number.isFinite(logLikelihood) &&
  logLikelihood > constantLogLikelihood &&
  alpha > 0 &&
  alpha + beta <= MOST_PERSISTENCE

const calibrateGarch = (returns: readonly number[], tier: Garch): Pick<Calibration, 'garch' | 'garchFrom'> => {
  const meanSquare = returns.reduce((sum, r) => sum + r * r, 0) / returns.length
  const sigmaLongRun = Math.sqrt(TRADING_DAYS * meanSquare)
  if (returns.length >= FEWEST_RETURNS_TO_FIT && meanSquare > 0) {
    const fit = fitGarch(returns)
    // Targeting has put the fit's long run at the sample's.
    if (acceptable(fit)) return { garch: { alpha: fit.alpha, beta: fit.beta, sigmaLongRun }, garchFrom: 'fit' }
  }
  if (returns.length >= FEWEST_RETURNS_TO_SAMPLE) return { garch: { ...tier, sigmaLongRun }, garchFrom: 'sample' }
  return { garch: tier, garchFrom: 'tier' }
}

/**
 * The parameters of a pair from its daily log returns, oldest first. What the history is too short or too odd for is the tier's. Jumps are
 * cut down before the variance is fitted, so that no move is priced twice.
 */
export const calibrate = (
  returns: readonly number[],
  tier: { readonly garch: Garch; readonly jumps: Jumps },
): Calibration => {
  const split = splitReturns(returns)
  const jumps = estimateJumps(split, tier.jumps)
  return {
    ...calibrateGarch(split.clipped, tier.garch),
    jumps: jumps ?? tier.jumps,
    jumpsFrom: jumps === undefined ? 'tier' : 'fit',
  }
}
