import { z } from 'zod'
import { errorText } from '../lib/errors.ts'
import type { Logger } from '../lib/observe/log.ts'
import { type CalibratedPair, calibrateMarket, digestOf } from './calibrations.ts'
import type { Market } from './market/market.ts'
import { daysBetween } from './market/series.ts'
import { parsePair } from './pair.ts'

/**
 * Version of the stored calibrations' meaning. Raise it with every change to the results of `calibrate`, to a tier's
 * defaults or to the shape below. A process ignores sets of another model, so that two versions of the service can
 * share a database.
 * @internal
 */
export const CALIBRATION_MODEL = 2

/**
 * Maximum days between the last close of a stored calibration and the last close of the market it prices. One week
 * out of three years hardly changes a calibration.
 */
const MAX_DAYS_APART = 7

const AtLeastZero = z.number().min(0)

const Pairs: z.ZodType<CalibratedPair[]> = z.array(
  z.object({
    pair: z.string(),
    source: z.string(),
    lastClose: z.iso.date(),
    returns: z.int(),
    digest: z.string().optional(),
    calibration: z.object({
      garch: z.object({ alpha: AtLeastZero, beta: AtLeastZero, sigmaLongRun: AtLeastZero }),
      garchFrom: z.enum(['fit', 'sample', 'tier']),
      jumps: z.object({ lambda: AtLeastZero, jumpMean: z.number(), jumpStd: AtLeastZero }),
      jumpsFrom: z.enum(['fit', 'tier']),
    }),
  }),
)

/** One calibration of a whole market; versions increase. */
export type CalibrationSet = { readonly version: number; readonly pairs: readonly CalibratedPair[] }

/** Looks up the newest set of a model; null when there is none. The content of `pairs` is validated in this module. */
export type FindSet = (model: number) => Promise<{ readonly version: number; readonly pairs: unknown } | null>

/** Stores a set and returns its version; null when the newest set of the model has the same content. */
type AppendSet = (model: number, pairs: readonly CalibratedPair[]) => Promise<number | null>

/**
 * Reads the newest set that this version of the service understands. Never throws: when reading fails, the previous set
 * stays in use.
 */
export const createSetReader = (options: {
  readonly find: FindSet
  readonly log: Logger
}): (() => Promise<CalibrationSet | null>) => {
  const { find, log } = options
  let newest: CalibrationSet | null = null
  let failing = false
  return async () => {
    try {
      const found = await find(CALIBRATION_MODEL)
      if (found?.version !== newest?.version) newest = found && { ...found, pairs: Pairs.parse(found.pairs) }
      failing = false
    } catch (fault) {
      if (!failing)
        log.warn({ fault: errorText(fault) }, 'the stored calibrations cannot be read; the previous ones stay in use')
      failing = true
    }
    return newest
  }
}

/** The pairs of a set that were calibrated on the market's sources and on nearly the same closes. */
export const fittingPairs = (set: CalibrationSet, market: Market): CalibratedPair[] =>
  set.pairs.filter(({ pair, source, lastClose }) => {
    const parsed = parsePair(pair)
    const history = parsed && market.history(parsed)
    return history?.source === source && Math.abs(daysBetween(lastClose, history.last.date)) <= MAX_DAYS_APART
  })

/** The pairs of a set that were calibrated on exactly the market's closes: calibrating them again gives the same. */
const currentPairs = (set: CalibrationSet, market: Market): CalibratedPair[] =>
  set.pairs.filter(({ pair, source, digest }) => {
    const parsed = parsePair(pair)
    const history = parsed && market.history(parsed)
    return history?.source === source && digest === digestOf(history)
  })

/**
 * The scheduled job: reads rates, calibrates the pairs that have new closes and stores the set. Throws the errors of
 * `append`, and the signal's reason when it aborts.
 */
export const createCalibrator = (options: {
  readonly market: Market
  readonly find: FindSet
  readonly append: AppendSet
  readonly log: Logger
}): ((signal?: AbortSignal) => Promise<void>) => {
  const { market, find, append, log } = options
  const readSet = createSetReader({ find, log })
  return async (signal) => {
    await market.refresh(signal)
    signal?.throwIfAborted()
    const newest = await readSet()
    const current = newest === null ? [] : currentPairs(newest, market)
    const renewed = await calibrateMarket(market, current, signal)
    if (renewed.length === 0) return
    const pairs = [...current, ...renewed]
    const version = await append(CALIBRATION_MODEL, pairs)
    if (version !== null) log.info({ version, pairs: pairs.length }, 'calibrations stored')
  }
}
