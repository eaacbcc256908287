import fp from 'fastify-plugin'
import { onEnd } from '../../lib/http/metrics.ts'
import { type Metrics, type Shown, show } from '../../lib/observe/metrics.ts'
import type { Waits } from '../../reads/freshness/waits.ts'
import { type Access, traceOf } from '../access.ts'
import type { Refused } from '../limits/limits.ts'
import type { RateLimit } from '../limits/rate-limit.ts'
import type { Store } from '../response-cache/store.ts'
import type { Streams } from '../streams/shared.ts'
import type { Unread } from '../unread.ts'

type Options = {
  readonly metrics: Metrics
  readonly access: Access
  readonly store: Store
  readonly streams: readonly Pick<Streams<never>, 'counts'>[]
  readonly waits: Waits
  readonly unread: Unread
  readonly refused: Readonly<Refused>
  readonly limit: RateLimit | null
}

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0)

type Row = readonly [name: string, help: string, of: (it: Options) => number]
const rows: readonly Row[] = [
  ['fx_pages_bytes', 'Memory of the response cache', ({ store }) => store.counts().bytes],
  ['fx_pages', 'Responses in the response cache', ({ store }) => store.counts().pages],
  ['fx_pages_hits_total', 'Requests found in the response cache', ({ store }) => store.counts().hits],
  ['fx_pages_misses_total', 'Requests not found in the response cache', ({ store }) => store.counts().misses],
  [
    'fx_rate_limit_alone_total',
    'Requests that this process counted on its own, because the Redis of the shared rate limit was out of reach or rejected writes',
    ({ limit }) => limit?.countedLocally() ?? 0,
  ],
  [
    'fx_streams_open',
    'Open streams of settlements and changes',
    ({ streams }) => sum(streams.map((it) => it.counts().open)),
  ],
  [
    'fx_streams_dropped_total',
    'Streams ended because their client read too slowly or the database was out of reach',
    ({ streams }) => sum(streams.map((it) => it.counts().dropped)),
  ],
  ['fx_unread_bytes', 'Bytes of large bodies that clients have not read yet', ({ unread }) => unread.counts().bytes],
  [
    'fx_unread_dropped_total',
    'Responses ended because their client reads too slowly',
    ({ unread }) => unread.counts().dropped,
  ],
  ['fx_waits_open', 'Requests that wait for a block or a transaction', ({ waits }) => waits.counts().open],
  [
    'fx_waits_refused_total',
    'Requests rejected because of too many waits in total (503) or of one client (429)',
    ({ waits }) => waits.counts().refused,
  ],
]

/** Counts and logs the requests, and exports the metrics of the response cache, the limits, the streams and the waits. */
export const metrics = fp<Options>(async (app, options) => {
  onEnd(app, (ended, request) => options.access(ended, request.id, traceOf(request)))
  show(options.metrics, () => options, [
    ...rows.map(([name, help, of]): Shown<Options> => ({ name, help, of: (it) => [[{}, of(it)]] })),
    {
      name: 'fx_http_refused_total',
      help: 'Requests rejected because of the load of the process (503), the rate limit (429) or unread bodies (503)',
      labels: ['reason'],
      of: ({ refused }) => Object.entries(refused).map(([reason, count]) => [{ reason }, count]),
    },
  ])
})
