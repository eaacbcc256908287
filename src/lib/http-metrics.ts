import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Histogram } from 'prom-client'
import { DURATIONS, type Metrics, show } from './metrics.ts'

/** Labels by class, `2xx` for 200: one series per status would be too many. */
const classes = ['', '1xx', '2xx', '3xx', '4xx', '5xx']
const statusOf = (status: number): string => classes[Math.floor(status / 100)] ?? 'other'

/** The state that the histogram stores for one set of labels. */
type Kept = { readonly labels: object; readonly bucketValues: Record<number, number>; sum: number; count: number }

/** The requests of one method, route and class of status. */
type Series = { observe(ms: number): void }

/** `left` is the status of a request whose client did not wait for the answer. */
export type RequestMetrics = { series(method: string, route: string | undefined, status: number | 'left'): Series }

/** The metrics of requests by method, route and class of status. */
export const createRequestMetrics = (metrics: Metrics): RequestMetrics => {
  const durations = new Histogram({
    name: 'fx_http_request_duration_seconds',
    help: 'Duration of requests until the response ended or the client left (status left); streams count at their end',
    labelNames: ['method', 'route', 'status'],
    buckets: DURATIONS,
    registers: [metrics],
  })
  const counts = { notModified: 0 }
  show(metrics, () => counts, [
    {
      name: 'fx_http_not_modified_total',
      help: 'Requests answered 304: the copy of the client is still valid',
      of: (it) => [[{}, it.notModified]],
    },
  ])
  const all = new Map<string, Kept>()
  // The histogram's own `observe` validates and joins the labels every time. Updating its stored state costs a tenth.
  const { hashMap } = durations as unknown as { readonly hashMap: Readonly<Record<string, Kept>> }
  const keptOf = (method: string, route: string, status: string): Kept => {
    const key = `${method} ${status} ${route}`
    const known = all.get(key)
    if (known !== undefined) return known
    const labels = { method, route, status }
    durations.zero(labels)
    const kept = Object.values(hashMap).find((it) => it.labels === labels)
    if (kept === undefined) throw new Error('unknown layout of histogram series: check the version of prom-client')
    all.set(key, kept)
    return kept
  }
  return {
    series(method, route = 'unknown', status) {
      // All URLs without a route are one series, so that clients cannot create series.
      const kept = keptOf(method, route, status === 'left' ? status : statusOf(status))
      return {
        observe(ms) {
          const seconds = ms / 1_000
          const bound = DURATIONS.find((it) => seconds <= it)
          if (bound !== undefined) kept.bucketValues[bound] = (kept.bucketValues[bound] ?? 0) + 1
          kept.sum += seconds
          kept.count += 1
          if (status === 304) counts.notModified += 1
        },
      }
    },
  }
}

/** A request that ended. `status` is `left` when the client closed the connection before the answer was complete. */
export type Ended = {
  readonly method: string
  /** The template of the route and not the URL; undefined for a URL without a route. */
  readonly route: string | undefined
  readonly status: number | 'left'
  readonly ms: number
}

/** Calls `ended` once for every request of an app, when its response is sent or its client is gone. */
export const onEnd = (app: FastifyInstance, ended: (it: Ended, request: FastifyRequest) => void): void => {
  app.addHook('onRequest', (request, reply, done) => {
    const { raw } = reply
    let isSent = false
    raw.once('finish', () => {
      isSent = true
    })
    // A client that leaves gets no response, but its request counts: clients leave the slowest ones.
    raw.once('close', () => {
      const { method, routeOptions } = request
      ended(
        { method, route: routeOptions.url, status: isSent ? raw.statusCode : 'left', ms: reply.elapsedTime },
        request,
      )
    })
    done()
  })
}
