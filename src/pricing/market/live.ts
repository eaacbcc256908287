import { download } from './download.ts'
import { fredSeries, parseSeries } from './formats.ts'
import type { Feed } from './market.ts'
import type { Series, Source } from './series.ts'

/** Publishers fix their rates once a day. */
const EVERY_MS = 3_600_000

/** Days of history that fill the window of estimates. */
const HISTORY_DAYS = 3.1 * 365

type Options = { readonly url: string; readonly now: () => number; readonly everyMs?: number }

/** Downloads when the last attempt is old enough, whether it worked or not; the market keeps what it had before a failure. */
const hourly = (name: string, options: Options, fetchSeries: () => Promise<readonly Series[]>): Feed => {
  const { now, everyMs = EVERY_MS } = options
  let sources: readonly Source[] = []
  let next = 0
  return {
    name,
    async read() {
      if (now() < next) return sources
      next = now() + everyMs
      sources = [{ name, synthetic: false, series: await fetchSeries() }]
      return sources
    },
  }
}

/** The European Central Bank's reference rates, as CSV or in a zip archive (`eurofxref-hist.zip`). */
export const ecbFeed = (options: Options): Feed =>
  hourly('ECB', options, async () => parseSeries(await download(options.url), 'ECB'))

/** The Federal Reserve's daily rates by FRED's `fredgraph.csv`, one series a request. */
export const fredFeed = (options: Options): Feed =>
  hourly('FRED', options, async () => {
    const since = new Date(options.now() - HISTORY_DAYS * 86_400_000).toISOString().slice(0, 10)
    const series: Series[] = []
    for (const id of Object.keys(fredSeries)) {
      const url = new URL(options.url)
      url.searchParams.set('id', id)
      url.searchParams.set('cosd', since)
      series.push(...parseSeries(await download(url.href), `FRED ${id}`))
    }
    return series
  })
