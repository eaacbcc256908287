import type { Jumps } from '../kernel/jumps.ts'
import { TRADING_DAYS } from '../variance.ts'

/** Number of preceding returns that the local volatility uses. */
const LOCAL_RETURNS = 60

/** A return larger than this many local deviations is a jump. */
const THRESHOLD = 4

/**
 * Maximum jumps a year: the kernel's series would not hold a long horizon of more. Of more candidates, as in a rate that
 * moves in steps, only the largest are jumps.
 */
const MAX_JUMPS_A_YEAR = 8

/** How many years of the tier's default jumps count like observed ones. */
const PRIOR_YEARS = 1

const FEWEST_RETURNS = 500

export type SplitReturns = {
  /** The returns that are jumps. */
  readonly jumps: readonly number[]
  /** All returns, with each jump replaced by one local deviation in its direction. */
  readonly diffusive: readonly number[]
  /** Number of returns with enough history before them to be classified. */
  readonly classified: number
  /** True with more candidates than jumps. */
  readonly capped: boolean
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
 * & Mykland 2008, Review of Financial Studies 21:2535-2563; Mancini 2009), and is among the largest eight a year. The
 * first 60 returns are never jumps.
 */
export const splitReturns = (returns: readonly number[]): SplitReturns => {
  const classified = Math.max(0, returns.length - LOCAL_RETURNS)
  const most = Math.ceil((MAX_JUMPS_A_YEAR * classified) / TRADING_DAYS)
  const candidates = returns.flatMap((r, index) => {
    if (index < LOCAL_RETURNS) return []
    const deviation = localDeviation(returns, index)
    return Math.abs(r) > THRESHOLD * deviation ? [{ index, size: Math.abs(r), deviation }] : []
  })
  const largest = candidates.toSorted((a, b) => b.size - a.size).slice(0, most)
  const deviations = new Map(largest.map(({ index, deviation }) => [index, deviation]))
  return {
    jumps: returns.filter((_, index) => deviations.has(index)),
    diffusive: returns.map((r, index) => Math.sign(r) * (deviations.get(index) ?? Math.abs(r))),
    classified,
    capped: candidates.length > largest.length,
  }
}

const sampleDeviation = (values: readonly number[], mean: number): number =>
  Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1))

/**
 * Jump parameters of daily returns; undefined with fewer than 500 returns. A year of `fallback` counts like observed
 * jumps: the longer the history, the lower its weight in their number, and the more jumps, the lower that in their mean
 * and deviation. The deviation of a single jump is that of `fallback`. Maximum likelihood of the mixture is not used: on
 * daily rates it mistakes volatility clusters for 55 to 295 jumps a year.
 */
export const estimateJumps = (
  { jumps, classified }: Pick<SplitReturns, 'jumps' | 'classified'>,
  fallback: Jumps,
): Jumps | undefined => {
  if (classified + LOCAL_RETURNS < FEWEST_RETURNS) return undefined
  const count = jumps.length
  const assumed = PRIOR_YEARS * fallback.lambda
  const weight = count / (count + assumed)
  const mean = count === 0 ? fallback.jumpMean : jumps.reduce((sum, jump) => sum + jump, 0) / count
  const deviation = count < 2 ? fallback.jumpStd : sampleDeviation(jumps, mean)
  return {
    lambda: (count + assumed) / (classified / TRADING_DAYS + PRIOR_YEARS),
    jumpMean: weight * mean + (1 - weight) * fallback.jumpMean,
    jumpStd: weight * deviation + (1 - weight) * fallback.jumpStd,
  }
}
