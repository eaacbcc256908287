import fp from 'fastify-plugin'
import { onEnd } from '../../lib/http-metrics.ts'
import { type Metrics, show } from '../../lib/metrics.ts'
import type { Waits } from '../../reads/freshness/waits.ts'
import type { Access } from '../access.ts'
import type { Counted, Refused } from '../limits.ts'
import { traceOf } from '../request-id.ts'
import type { Store } from '../response-cache/store.ts'
import type { Streams } from '../streams.ts'

type Options = {
  readonly metrics: Metrics
  readonly access: Access
  readonly store: Store
  readonly streams: Streams
  readonly waits: Waits
  readonly refused: Readonly<Refused>
  readonly counted: Readonly<Counted>
}

/** Counts and logs the requests, and exports the metrics of the response cache, the streams and the waits. */
export const metrics = fp<Options>(async (app, options) => {
  onEnd(app, (ended, request) => options.access(ended, request.id, traceOf(request)))
  show(options.metrics, options.store.tally, [
    { name: 'fx_pages_bytes', help: 'Memory of the response cache', of: (it) => [[{}, it.bytes]] },
    { name: 'fx_pages', help: 'Responses in the response cache', of: (it) => [[{}, it.pages]] },
    { name: 'fx_pages_hits_total', help: 'Requests found in the response cache', of: (it) => [[{}, it.hits]] },
    { name: 'fx_pages_misses_total', help: 'Requests not found in the response cache', of: (it) => [[{}, it.misses]] },
  ])
  show(options.metrics, () => Object.entries(options.refused), [
    {
      name: 'fx_http_refused_total',
      help: 'Requests rejected because of the load of the process (503) or the rate limit (429)',
      labels: ['reason'],
      of: (it) => it.map(([reason, count]) => [{ reason }, count]),
    },
  ])
  show(options.metrics, () => options.counted, [
    {
      name: 'fx_rate_limit_alone_total',
      help: 'Requests that this process counted on its own, because the Redis of the shared rate limit was out of reach or rejected writes',
      of: (it) => [[{}, it.alone]],
    },
  ])
  show(options.metrics, options.streams.tally, [
    { name: 'fx_streams_open', help: 'Open streams of settlements', of: (it) => [[{}, it.open]] },
    {
      name: 'fx_streams_dropped_total',
      help: 'Streams ended because their client read too slowly or the database was out of reach',
      of: (it) => [[{}, it.dropped]],
    },
  ])
  show(options.metrics, options.waits.tally, [
    { name: 'fx_waits_open', help: 'Requests that wait for a block or a transaction', of: (it) => [[{}, it.open]] },
    {
      name: 'fx_waits_refused_total',
      help: 'Requests rejected because of too many waits in total (503) or of one client (429)',
      of: (it) => [[{}, it.refused]],
    },
  ])
})
