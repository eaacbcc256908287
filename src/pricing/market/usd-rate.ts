import { errorText } from '../../lib/errors.ts'
import type { Logger } from '../../lib/observe/log.ts'
import { createSingleFlight } from '../../lib/single-flight.ts'
import { download } from './download.ts'
import { MAX_FRED_BYTES, parseLastObservation } from './formats.ts'
import { dayOf } from './series.ts'

/** The dollar's 3-month bill rate: an annual fraction, used as continuously compounded. */
export type UsdRate = {
  readonly rate: number
  /** The day of the observation, YYYY-MM-DD. */
  readonly recordDate: string
  /** Time at which this process read it, Unix milliseconds. */
  readonly fetchedAt: number
  /** True for the configured rate, false for the publisher's. */
  readonly fallback: boolean
}

/** Milliseconds that a rate is used before it is fetched again. */
const CACHE_MS = 6 * 3_600_000

/** Milliseconds between a failure and the next attempt. */
const RETRY_MS = 60_000

/** Short, because a quote may wait for it. */
const TIMEOUT_MS = 3_000

/**
 * The dollar's rate from a FRED file in percent (`fredgraph.csv?id=DTB3`, at most `MAX_FRED_BYTES`), cached for 6
 * hours. While the publisher cannot be reached, it is the last fetched rate, or the dated fallback when none was
 * fetched. Without a URL it is always the fallback.
 *
 * @example
 * const fallback = { rate: 0.044, recordDate: '2024-11-29' }
 * const { read } = createUsdRate({ url: undefined, fallback, now: Date.now, log })
 */
export const createUsdRate = (options: {
  readonly url: string | undefined
  readonly fallback: Pick<UsdRate, 'rate' | 'recordDate'>
  /** The time in Unix milliseconds. */
  readonly now: () => number
  /** A monotonic clock in milliseconds, for when to fetch again: a clock that is set back would delay it. */
  readonly monotonicNow?: () => number
  readonly log: Logger
}): { read(): Promise<UsdRate> } => {
  const { url, now, monotonicNow = () => performance.now(), log } = options
  const once = createSingleFlight<void>()
  let held: UsdRate = { ...options.fallback, fetchedAt: now(), fallback: true }
  let next = 0

  const refresh = async (from: string): Promise<void> => {
    try {
      const text = await download(from, { timeoutMs: TIMEOUT_MS, maxBytes: MAX_FRED_BYTES })
      const { date, value } = parseLastObservation(text, 'USD rate', dayOf(now()))
      const rate = value / 100
      if (Math.abs(rate) > 0.5) throw new Error(`USD rate: ${value} % is out of range: expected between -50 % and 50 %`)
      held = { rate, recordDate: date, fetchedAt: now(), fallback: false }
      next = monotonicNow() + CACHE_MS
    } catch (fault) {
      next = monotonicNow() + RETRY_MS
      log.warn(
        { fault: errorText(fault), recordDate: held.recordDate },
        'the USD rate cannot be refreshed; the previous one stays in use',
      )
    }
  }

  return {
    async read() {
      if (url !== undefined && monotonicNow() >= next) await once('refresh', () => refresh(url))
      return held
    },
  }
}
