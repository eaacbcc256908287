import { errorText } from '../../lib/errors.ts'
import type { Logger } from '../../lib/observe/log.ts'
import { download } from './download.ts'
import { fredSeries, MAX_FRED_BYTES, parseFredSeries, parseSeries } from './formats.ts'
import type { Feed } from './market.ts'
import { dayOf, type Series, type Source } from './series.ts'

/** Publishers fix their rates once a day. */
const EVERY_MS = 3_600_000

/** Milliseconds between a failure and the next attempt. */
const RETRY_MS = 60_000

/** Days of history that fill the window of estimates. */
const HISTORY_DAYS = 3.1 * 365

type Options = {
  readonly url: string
  /** The time in Unix milliseconds. */
  readonly now: () => number
  /** A monotonic clock in milliseconds, for when to fetch again: a clock that is set back would delay it. */
  readonly monotonicNow?: () => number
  readonly log: Logger
}

/** One request to a publisher. */
type Part = { readonly name: string; fetch(signal: AbortSignal | undefined): Promise<readonly Series[]> }

/**
 * Fetches each part hourly, and again after a minute when it failed. A part that fails keeps its previous series, with
 * a warning. Throws the first fault when all of them fail.
 */
const hourly = (name: string, options: Options, parts: readonly Part[]): Feed => {
  const { monotonicNow = () => performance.now(), log } = options
  const held = new Map<Part, readonly Series[]>()
  const next = new Map<Part, number>()
  let sources: readonly Source[] = []

  const fetchPart = async (part: Part, signal: AbortSignal | undefined) => {
    try {
      held.set(part, await part.fetch(signal))
      next.set(part, monotonicNow() + EVERY_MS)
      return []
    } catch (fault) {
      next.set(part, monotonicNow() + RETRY_MS)
      return [{ part, fault }]
    }
  }

  return {
    name,
    async read(signal) {
      const due = parts.filter((part) => monotonicNow() >= (next.get(part) ?? 0))
      // Concurrently, so that an unresponsive publisher costs the time of one request, not of all.
      const failed = (await Promise.all(due.map((part) => fetchPart(part, signal)))).flat()
      if (failed.length === parts.length) throw failed[0]?.fault
      for (const { part, fault } of failed) {
        log.warn(
          { feed: name, series: part.name, fault: errorText(fault) },
          'a series cannot be refreshed; its previous rates, if any, stay in use',
        )
      }
      if (failed.length < due.length) {
        sources = [{ name, synthetic: false, series: parts.flatMap((part) => held.get(part) ?? []) }]
      }
      return sources
    },
  }
}

/** The European Central Bank's reference rates, as CSV or in a zip archive (`eurofxref-hist.zip`). */
export const ecbFeed = (options: Options): Feed =>
  hourly('ECB', options, [
    { name: 'all', fetch: async (signal) => parseSeries(await download(options.url, { signal }), 'ECB') },
  ])

/**
 * The Federal Reserve's daily rates by FRED's `fredgraph.csv`, one series a request. Of each answer, of at most
 * `MAX_FRED_BYTES`, only the column of that series is used.
 */
export const fredFeed = (options: Options): Feed =>
  hourly(
    'FRED',
    options,
    Object.entries(fredSeries).map(([id, pair]) => ({
      name: id,
      async fetch(signal) {
        const since = dayOf(options.now() - HISTORY_DAYS * 86_400_000)
        const url = new URL(options.url)
        url.searchParams.set('id', id)
        url.searchParams.set('cosd', since)
        const text = await download(url.href, { signal, maxBytes: MAX_FRED_BYTES })
        return [parseFredSeries(text, `FRED ${id}`, id, pair)]
      },
    })),
  )
