import fp from 'fastify-plugin'
import { measureRequests, type RequestMetrics } from '../../lib/http-metrics.ts'
import { type Metrics, show } from '../../lib/metrics.ts'
import type { Waits } from '../../reads/waits.ts'
import type { Counted, Refused } from '../limits.ts'
import type { Store } from '../response-cache/store.ts'
import type { Streams } from '../streams.ts'

type Options = {
  readonly metrics: Metrics
  readonly requests: RequestMetrics
  readonly store: Store
  readonly streams: Streams
  readonly waits: Waits
  readonly refused: Readonly<Refused>
  readonly counted: Readonly<Counted>
}

/** Measures the requests, and shows what the kept pages, the open streams and the waits take. */
export const metrics = fp<Options>(async (app, options) => {
  measureRequests(app, options.requests)
  show(options.metrics, options.store.tally, [
    { name: 'fx_pages_bytes', help: 'Memory of answers kept to be given again', of: (it) => [[{}, it.bytes]] },
    { name: 'fx_pages', help: 'Answers kept to be given again', of: (it) => [[{}, it.pages]] },
    { name: 'fx_pages_hits_total', help: 'Requests whose page was kept', of: (it) => [[{}, it.hits]] },
    { name: 'fx_pages_misses_total', help: 'Requests whose page was not', of: (it) => [[{}, it.misses]] },
  ])
  show(options.metrics, () => Object.entries(options.refused), [
    {
      name: 'fx_http_refused_total',
      help: 'Requests turned away: for the load of the process (503), or because a client asked too often (429)',
      labels: ['reason'],
      of: (it) => it.map(([reason, count]) => [{ reason }, count]),
    },
  ])
  show(options.metrics, () => options.counted, [
    {
      name: 'fx_rate_limit_alone_total',
      help: 'Requests that this process counted on its own, because the Redis of the shared rate limit did not count',
      of: (it) => [[{}, it.alone]],
    },
  ])
  show(options.metrics, options.streams.tally, [
    { name: 'fx_streams_open', help: 'Open streams of settlements', of: (it) => [[{}, it.open]] },
    {
      name: 'fx_streams_dropped_total',
      help: 'Streams ended because their reader or the database did not keep up',
      of: (it) => [[{}, it.dropped]],
    },
  ])
  show(options.metrics, options.waits.tally, [
    { name: 'fx_waits_open', help: 'Requests that wait for a block or a transaction', of: (it) => [[{}, it.open]] },
    {
      name: 'fx_waits_refused_total',
      help: 'Requests that were refused because too many wait (503), or too many of one client (429)',
      of: (it) => [[{}, it.refused]],
    },
  ])
})
