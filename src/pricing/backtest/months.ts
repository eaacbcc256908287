import { setImmediate as breathe } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { createConcurrencyLimit } from '../../lib/concurrency-limit.ts'
import { ServiceError } from '../../lib/errors.ts'
import { createSingleFlight } from '../../lib/single-flight.ts'
import type { ModelOptions } from '../model.ts'
import type { Basis } from '../quotes/inputs.ts'
import { FIRST_YEAR, type Past, ratesKnownOn } from './past.ts'

/** What a pair was priced with at the end of a month. */
export type Month = {
  /** YYYY-MM-DD. */
  readonly date: string
  /** The close of that day in millionths. */
  readonly spot: bigint
  readonly basis: Basis
}

/** Maximum pairs whose months are kept, of about 300 kB each. */
const MAX_PAIRS = 128

/** Maximum pairs that wait for their calibration. */
const MAX_WAITING = 4

/** Maximum milliseconds that a request waits, in which it keeps one of few slots of its API. */
const WAIT_MS = 1_000

/** Seconds after which a client tries again. A pair takes about as long. */
const RETRY_AFTER_SECONDS = 10

/**
 * The months of a pair from the first year on, on the closes and interest rates known then. Takes seconds of processor
 * time, and yields to the event loop after each month.
 */
export const monthsOf = async (
  past: Past,
  pair: string,
  { localRates, volMarkups }: Pick<ModelOptions, 'localRates' | 'volMarkups'>,
): Promise<readonly Month[]> => {
  const months: Month[] = []
  for (const date of past.datesOf(FIRST_YEAR, Number.POSITIVE_INFINITY)) {
    const [modelOf] = await past.modelsOn(date, [pair], [ratesKnownOn(localRates, date)], volMarkups)
    const model = await modelOf?.(pair)
    if (model?.spot !== undefined) months.push({ date, spot: model.spot, basis: model.basis })
    await breathe()
  }
  return months
}

/**
 * Keeps the months of pairs, which `compute` calibrates one pair at a time when they are first asked for. Throws
 * `service_unavailable` when they are not ready in time, or when too many pairs wait. A calibration that has begun goes
 * on, so that a later request is answered. Clients that wait take turns, and one that asks for many pairs makes room for
 * others.
 */
export const createMonths = (options: {
  readonly compute: (pair: string) => Promise<readonly Month[]>
  readonly waitMs?: number
}): ((pair: string, client: string) => Promise<readonly Month[]>) => {
  const { compute, waitMs = WAIT_MS } = options
  const known = new LRUCache<string, readonly Month[]>({ max: MAX_PAIRS })
  const once = createSingleFlight<readonly Month[]>()
  /** Names the pair, so that a client can distinguish this from other reasons to wait. */
  const retry = (why: string): Error => {
    const details = [{ path: 'pair', message: why }]
    const message = `${why}: retry after ${RETRY_AFTER_SECONDS} s`
    return new ServiceError('service_unavailable', message, { details, retryAfter: RETRY_AFTER_SECONDS })
  }
  const refuse = (): Error => retry('the histories of other pairs are being calibrated')
  const limited = createConcurrencyLimit({ atOnce: 1, waiting: MAX_WAITING, refuse })

  return async (pair, client) => {
    const found = known.get(pair)
    if (found !== undefined) return found
    const computing = once(pair, () =>
      limited(
        async () => {
          const months = await compute(pair)
          known.set(pair, months)
          return months
        },
        undefined,
        client,
      ),
    )
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(retry(`the history of ${pair} is being calibrated`)), waitMs)
    })
    return Promise.race([computing, late]).finally(() => clearTimeout(timer))
  }
}
