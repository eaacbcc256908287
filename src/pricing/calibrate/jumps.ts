import type { Jumps } from '../kernel/jumps.ts'
import { TRADING_DAYS } from '../variance.ts'

/** Number of preceding returns that the local volatility uses. */
const LOCAL_RETURNS = 60

/** A return larger than this many local deviations is a jump. */
const THRESHOLD = 4

/**
 * Maximum jumps a year. A higher estimate counts volatility clusters as jumps, and the kernel's series would not hold
 * a long horizon of them.
 * @internal
 */
export const MAX_JUMPS_A_YEAR = 8

/** The weight of the tier's default, as a number of observed jumps. */
const DEFAULT_WEIGHT = 5

const FEWEST_RETURNS = 500
const FEWEST_JUMPS = 3

export type SplitReturns = {
  /** The returns that are jumps. */
  readonly jumps: readonly number[]
  /** All returns, with jumps clipped to the threshold. */
  readonly clipped: readonly number[]
  /** Number of returns with enough history before them to be classified. */
  readonly classified: number
}

/**
 * The deviation of the 60 returns before `index`, from products of neighbouring returns, which a jump among them hardly
 * raises (bipower variation, Barndorff-Nielsen & Shephard 2004, J. Financial Econometrics 2:1-37).
 */
const localDeviation = (returns: readonly number[], index: number): number => {
  const window = returns.slice(index - LOCAL_RETURNS, index).map(Math.abs)
  const products = window.slice(1).map((size, i) => size * (window[i] ?? 0))
  return Math.sqrt((Math.PI / 2) * (products.reduce((sum, product) => sum + product, 0) / products.length))
}

/**
 * Separates jumps from other returns: a return is a jump when it exceeds four times the local deviation before it (Lee
 * & Mykland 2008, Review of Financial Studies 21:2535-2563; Mancini 2009). The first 60 returns are never jumps.
 */
export const splitReturns = (returns: readonly number[]): SplitReturns => {
  const jumps: number[] = []
  const clipped = returns.map((r, index) => {
    if (index < LOCAL_RETURNS) return r
    const threshold = THRESHOLD * localDeviation(returns, index)
    if (Math.abs(r) <= threshold) return r
    jumps.push(r)
    return Math.sign(r) * threshold
  })
  return { jumps, clipped, classified: Math.max(0, returns.length - LOCAL_RETURNS) }
}

/**
 * Jump parameters of daily returns; undefined with fewer than 500 returns or 3 jumps. The fewer the jumps, the closer
 * their mean and deviation are to `fallback`. Maximum likelihood of the mixture is not used: on daily rates it mistakes
 * volatility clusters for 55 to 295 jumps a year.
 */
export const estimateJumps = ({ jumps, classified, clipped }: SplitReturns, fallback: Jumps): Jumps | undefined => {
  const count = jumps.length
  if (clipped.length < FEWEST_RETURNS || count < FEWEST_JUMPS) return undefined
  const mean = jumps.reduce((sum, jump) => sum + jump, 0) / count
  const deviation = Math.sqrt(jumps.reduce((sum, jump) => sum + (jump - mean) ** 2, 0) / (count - 1))
  const weight = count / (count + DEFAULT_WEIGHT)
  return {
    lambda: Math.min(MAX_JUMPS_A_YEAR, count / (classified / TRADING_DAYS)),
    jumpMean: weight * mean + (1 - weight) * fallback.jumpMean,
    jumpStd: weight * deviation + (1 - weight) * fallback.jumpStd,
  }
}
