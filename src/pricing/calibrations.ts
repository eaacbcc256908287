import { createHash } from 'node:crypto'
import { setImmediate as breathe } from 'node:timers/promises'
import { type Calibration, calibrate } from './calibrate/calibrate.ts'
import type { History, Market } from './market/market.ts'
import { inverse, type Pair, pairName } from './pair.ts'
import { type Classification, classify, jumpsOf, type TierName, tiers } from './tiers.ts'
import { logReturns } from './variance.ts'

/** A pair's parameters and the history they were calibrated on. */
export type CalibratedPair = {
  /** `BASE/QUOTE`. */
  readonly pair: string
  readonly source: string
  /** Date of the last close in the fit, YYYY-MM-DD. */
  readonly lastClose: string
  /** Number of daily returns in the fit. */
  readonly returns: number
  /** A digest of the closes; sets of older releases have none. */
  readonly digest?: string | undefined
  readonly calibration: Calibration
}

/** Pegged pairs use their tier's parameters: a calibration would mistake rounding noise around the peg for jumps. */
const isCalibrated = (pair: Pair): boolean => classify(pair)?.tier !== 'pegged'

/**
 * Tiers whose crosses are calibrated. For crosses of developed currencies the parameters of the tier predicted better
 * than those of three years of their history.
 */
const crossTiers: readonly TierName[] = ['mainstreamEM', 'frontierEM']

const calibrateHistory = ({ closes }: History, classification: Classification): Calibration =>
  calibrate(logReturns(closes.map(({ close }) => close)), {
    garch: tiers[classification.tier].garch,
    jumps: jumpsOf(classification),
  })

/**
 * Calibrates every published pair of a market that is not in `known`, about 10 ms each, and yields to the event loop
 * between pairs. Throws the reason of `signal` when it aborts.
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
    const { source, last, closes } = history
    calibrated.push({
      pair: pairName(pair),
      source,
      lastClose: last.date,
      returns: closes.length - 1,
      digest: digestOf(history),
      calibration: calibrateHistory(history, classification),
    })
    await breathe()
    signal?.throwIfAborted()
  }
  return calibrated
}

/** A digest of a history's closes. It changes when a publisher corrects a close. */
export const digestOf = ({ closes }: History): string => {
  const values = closes.map(({ close }) => close)
  return createHash('sha256').update(values.join()).digest('base64url').slice(0, 22)
}

/** The parameters that price a pair. */
export type Parameters = Calibration & {
  /** Date of the last close they were calibrated on; null for a tier's defaults. */
  readonly lastClose: string | null
  /** Version of their stored set; null for a tier's defaults and for parameters calibrated in this process. */
  readonly version: number | null
}

export type Calibrations = {
  /** Replaces all calibrations by those of this process and by pairs of a stored set. */
  replace(
    own: readonly CalibratedPair[],
    stored?: { readonly version: number; readonly pairs: readonly CalibratedPair[] },
  ): void
  /**
   * The parameters of the pair or of its inverse. A cross of some tiers, which no source publishes, is calibrated on its
   * history when it is first asked for, about 10 ms. Otherwise the tier's.
   */
  of(pair: Pair, classification: Classification, history?: History): Parameters
}

const turned = (parameters: Parameters): Parameters => ({
  ...parameters,
  // Subtraction instead of negation, so that a mean of 0 does not become -0.
  jumps: { ...parameters.jumps, jumpMean: 0 - parameters.jumps.jumpMean },
})

/** The calibrations in use. */
export const createCalibrations = (): Calibrations => {
  let held: ReadonlyMap<string, Parameters> = new Map()
  /** The market keeps a history until its closes change. */
  const crosses = new WeakMap<History, Parameters>()
  const ofCross = (history: History, classification: Classification): Parameters => {
    const known = crosses.get(history)
    if (known !== undefined) return known
    const calibration = calibrateHistory(history, classification)
    const parameters = { ...calibration, lastClose: history.last.date, version: null }
    crosses.set(history, parameters)
    return parameters
  }
  return {
    replace(own, stored) {
      const entries = (pairs: readonly CalibratedPair[], version: number | null) =>
        pairs.map(({ pair, calibration, lastClose }) => [pair, { ...calibration, lastClose, version }] as const)
      held = new Map([...entries(stored?.pairs ?? [], stored?.version ?? null), ...entries(own, null)])
    },
    of(pair, classification, history) {
      const own = held.get(pairName(pair))
      if (own !== undefined) return own
      const other = held.get(pairName(inverse(pair)))
      if (other !== undefined) return turned(other)
      if (history !== undefined && crossTiers.includes(classification.tier)) return ofCross(history, classification)
      const { garch } = tiers[classification.tier]
      const jumps = jumpsOf(classification)
      return { garch, garchFrom: 'tier', jumps, jumpsFrom: 'tier', lastClose: null, version: null }
    },
  }
}
