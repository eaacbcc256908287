import type { Jumps } from '../kernel/jumps.ts'
import { TRADING_DAYS } from '../variance.ts'

/** Returns that the local volatility looks back on. */
const LOCAL_RETURNS = 60

/** How many local deviations make a jump. */
const THRESHOLD = 4

/** More jumps a year than this are volatility clusters, and a long horizon of them would not fit the kernel's series. */
const MOST_A_YEAR = 8

/** A default counts as much as this many jumps. */
const DEFAULT_WEIGHT = 5

const FEWEST_RETURNS = 500
const FEWEST_JUMPS = 3

export type SplitReturns = {
  /** The returns that are jumps. */
  readonly jumps: readonly number[]
  /** All returns, the jumps cut down to the threshold. */
  readonly clipped: readonly number[]
  /** How many returns had enough before them to be judged. */
  readonly judged: number
}

/**
 * The deviation of the 60 returns before `index`, by the products of neighbours: a jump among them hardly raises it (bipower variation,
 * Barndorff-Nielsen & Shephard 2004, J. Financial Econometrics 2:1-37).
 */
const localDeviation = (returns: readonly number[], index: number): number => {
  const window = returns.slice(index - LOCAL_RETURNS, index).map(Math.abs)
  const products = window.slice(1).map((size, i) => size * (window[i] ?? 0))
  return Math.sqrt((Math.PI / 2) * (products.reduce((sum, product) => sum + product, 0) / products.length))
}

/**
 * Tells jumps from the rest: a return is one when it exceeds four times the local deviation before it (Lee & Mykland 2008, Review of
 * Financial Studies 21:2535-2563; Mancini 2009). The first 60 returns are never jumps.
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
  return { jumps, clipped, judged: Math.max(0, returns.length - LOCAL_RETURNS) }
}

/**
 * Jump parameters of daily returns, their mean and deviation drawn towards `fallback` the fewer jumps there are; undefined with fewer than
 * 500 returns or 3 jumps. Maximum likelihood of the mixture is not used: on daily rates it takes volatility clusters for 55 to 295 jumps
 * a year.
 */
export const estimateJumps = ({ jumps, judged, clipped }: SplitReturns, fallback: Jumps): Jumps | undefined => {
  const count = jumps.length
  if (clipped.length < FEWEST_RETURNS || count < FEWEST_JUMPS) return undefined
  const mean = jumps.reduce((sum, jump) => sum + jump, 0) / count
  const deviation = Math.sqrt(jumps.reduce((sum, jump) => sum + (jump - mean) ** 2, 0) / (count - 1))
  const weight = count / (count + DEFAULT_WEIGHT)
  return {
    lambda: Math.min(MOST_A_YEAR, count / (judged / TRADING_DAYS)),
    jumpMean: weight * mean + (1 - weight) * fallback.jumpMean,
    jumpStd: weight * deviation + (1 - weight) * fallback.jumpStd,
  }
}
