import { setImmediate as breathe } from 'node:timers/promises'
import { type Calibration, calibrate } from './calibrate/calibrate.ts'
import type { Market } from './market/market.ts'
import { inverse, type Pair, pairName } from './pair.ts'
import { type Classification, classify, jumpsOf, tiers } from './tiers.ts'
import { logReturns } from './variance.ts'

/** A pair's parameters and the history they are of. */
export type CalibratedPair = {
  readonly pair: Pair
  readonly source: string
  /** The last close the fit has seen, YYYY-MM-DD. */
  readonly lastClose: string
  readonly calibration: Calibration
}

/** Pegs are left to their tier: rounding noise about a peg reads as jumps. */
const isCalibrated = (pair: Pair): boolean => classify(pair)?.tier !== 'pegged'

/** Calibrates every published pair of a market, about 10 ms each; other work of the process goes on between two. */
export const calibrateMarket = async (market: Market): Promise<CalibratedPair[]> => {
  const calibrated: CalibratedPair[] = []
  for (const pair of market.pairs().filter(isCalibrated)) {
    const history = market.history(pair)
    const classification = classify(pair)
    if (history === undefined || classification === undefined) continue
    const returns = logReturns(history.closes.map(({ close }) => close))
    const tier = { garch: tiers[classification.tier].garch, jumps: jumpsOf(classification) }
    const { source, last } = history
    calibrated.push({ pair, source, lastClose: last.date, calibration: calibrate(returns, tier) })
    await breathe()
  }
  return calibrated
}

/** The parameters to price a pair with, and the last close they have seen; null for a tier's defaults. */
export type Parameters = Calibration & { readonly lastClose: string | null }

export type Calibrations = {
  /** Takes a whole new set in place of the one before. */
  replace(pairs: readonly CalibratedPair[]): void
  /** Those of the pair or its inverse, else the tier's. */
  of(pair: Pair, classification: Classification): Parameters
}

const turned = (calibration: Calibration): Calibration => ({
  ...calibration,
  // Subtracted, so that no jump stays no jump and does not become -0.
  jumps: { ...calibration.jumps, jumpMean: 0 - calibration.jumps.jumpMean },
})

/** The newest set of calibrations; without one every pair is priced with its tier's parameters. */
export const createCalibrations = (): Calibrations => {
  let held: ReadonlyMap<string, CalibratedPair> = new Map()
  return {
    replace(pairs) {
      held = new Map(pairs.map((entry) => [pairName(entry.pair), entry]))
    },
    of(pair, classification) {
      const own = held.get(pairName(pair))
      if (own !== undefined) return { ...own.calibration, lastClose: own.lastClose }
      const other = held.get(pairName(inverse(pair)))
      if (other !== undefined) return { ...turned(other.calibration), lastClose: other.lastClose }
      const { garch } = tiers[classification.tier]
      return { garch, garchFrom: 'tier', jumps: jumpsOf(classification), jumpsFrom: 'tier', lastClose: null }
    },
  }
}
