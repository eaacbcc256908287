import { createHash } from 'node:crypto'
import { setImmediate as breathe } from 'node:timers/promises'
import { type Calibration, calibrate } from './calibrate/calibrate.ts'
import type { History, Market } from './market/market.ts'
import { inverse, type Pair, pairName } from './pair.ts'
import { type Classification, classify, jumpsOf, tiers } from './tiers.ts'
import { logReturns } from './variance.ts'

/** A pair's parameters and the history they are of. */
export type CalibratedPair = {
  /** `BASE/QUOTE`. */
  readonly pair: string
  readonly source: string
  /** The last close the fit has seen, YYYY-MM-DD. */
  readonly lastClose: string
  /** How many daily returns it has seen. */
  readonly returns: number
  /** A digest of those; a set of an older release has none. */
  readonly digest?: string | undefined
  readonly calibration: Calibration
}

/** Pegs are left to their tier: rounding noise about a peg reads as jumps. */
const isCalibrated = (pair: Pair): boolean => classify(pair)?.tier !== 'pegged'

/**
 * Calibrates every published pair of a market that is not among the `known`, about 10 ms each; other work of the process goes on
 * between two. Throws the reason of `signal` when it aborts.
 */
export const calibrateMarket = async (
  market: Market,
  known: readonly CalibratedPair[] = [],
  signal?: AbortSignal,
): Promise<CalibratedPair[]> => {
  const names = new Set(known.map(({ pair }) => pair))
  const calibrated: CalibratedPair[] = []
  for (const pair of market.pairs().filter((each) => isCalibrated(each) && !names.has(pairName(each)))) {
    const history = market.history(pair)
    const classification = classify(pair)
    if (history === undefined || classification === undefined) continue
    const returns = logReturns(history.closes.map(({ close }) => close))
    const tier = { garch: tiers[classification.tier].garch, jumps: jumpsOf(classification) }
    const { source, last } = history
    calibrated.push({
      pair: pairName(pair),
      source,
      lastClose: last.date,
      returns: returns.length,
      digest: digestOf(history),
      calibration: calibrate(returns, tier),
    })
    await breathe()
    signal?.throwIfAborted()
  }
  return calibrated
}

/** Tells closes of a history from the same ones corrected. */
export const digestOf = ({ closes }: History): string => {
  const values = closes.map(({ close }) => close)
  return createHash('sha256').update(values.join()).digest('base64url').slice(0, 22)
}

/** The parameters to price a pair with. */
export type Parameters = Calibration & {
  /** The last close they have seen; null for a tier's defaults. */
  readonly lastClose: string | null
  /** The stored set they are of; null for those of this process and a tier's. */
  readonly version: number | null
}

export type Calibrations = {
  /** Takes these in place of those before: what this process has calibrated, and pairs of a stored set. */
  replace(
    own: readonly CalibratedPair[],
    stored?: { readonly version: number; readonly pairs: readonly CalibratedPair[] },
  ): void
  /** Those of the pair or its inverse, else the tier's. */
  of(pair: Pair, classification: Classification): Parameters
}

const turned = (parameters: Parameters): Parameters => ({
  ...parameters,
  // Subtracted, so that no jump stays no jump and does not become -0.
  jumps: { ...parameters.jumps, jumpMean: 0 - parameters.jumps.jumpMean },
})

/** The calibrations to price with; without one every pair is priced with its tier's parameters. */
export const createCalibrations = (): Calibrations => {
  let held: ReadonlyMap<string, Parameters> = new Map()
  return {
    replace(own, stored) {
      const entries = (pairs: readonly CalibratedPair[], version: number | null) =>
        pairs.map(({ pair, calibration, lastClose }) => [pair, { ...calibration, lastClose, version }] as const)
      held = new Map([...entries(stored?.pairs ?? [], stored?.version ?? null), ...entries(own, null)])
    },
    of(pair, classification) {
      const own = held.get(pairName(pair))
      if (own !== undefined) return own
      const other = held.get(pairName(inverse(pair)))
      if (other !== undefined) return turned(other)
      const { garch } = tiers[classification.tier]
      const jumps = jumpsOf(classification)
      return { garch, garchFrom: 'tier', jumps, jumpsFrom: 'tier', lastClose: null, version: null }
    },
  }
}
