import type { FastifyInstance } from 'fastify'
import { Histogram } from 'prom-client'
import { DURATIONS, type Metrics, show } from './metrics.ts'

/** 2xx for 200: a series of its own for each status would be many. */
const classes = ['', '1xx', '2xx', '3xx', '4xx', '5xx']
const statusOf = (status: number): string => classes[Math.floor(status / 100)] ?? 'other'

/** What the histogram keeps of one set of labels. */
type Kept = { readonly labels: object; readonly bucketValues: Record<number, number>; sum: number; count: number }

/** The requests of one method, route and class of status. */
export type Series = { observe(ms: number): void }

/** `left` is the status of a request whose client did not wait for the answer. */
export type RequestMetrics = { series(method: string, route: string, status: number | 'left'): Series }

/** The metrics of requests by method, route and class of status. */
export const createRequestMetrics = (metrics: Metrics): RequestMetrics => {
  const durations = new Histogram({
    name: 'fx_http_request_duration_seconds',
    help: 'Requests, from their arrival to the end of the answer, or to when the client left (status left); a stream counts when it ends',
    labelNames: ['method', 'route', 'status'],
    buckets: DURATIONS,
    registers: [metrics],
  })
  const tally = { notModified: 0 }
  show(metrics, () => tally, [
    {
      name: 'fx_http_not_modified_total',
      help: 'Requests answered 304: what the client has still holds',
      of: (it) => [[{}, it.notModified]],
    },
  ])
  const all = new Map<string, Kept>()
  // The histogram's own `observe` checks and joins the labels every time; to count into what it keeps costs a tenth.
  const { hashMap } = durations as unknown as { readonly hashMap: Readonly<Record<string, Kept>> }
  const keptOf = (method: string, route: string, status: string): Kept => {
    const key = `${method} ${status} ${route}`
    const known = all.get(key)
    if (known !== undefined) return known
    const labels = { method, route, status }
    durations.zero(labels)
    const kept = Object.values(hashMap).find((it) => it.labels === labels)
    if (kept === undefined) throw new Error('the histogram keeps its series differently')
    all.set(key, kept)
    return kept
  }
  return {
    series(method, route, status) {
      const kept = keptOf(method, route, status === 'left' ? status : statusOf(status))
      return {
        observe(ms) {
          const seconds = ms / 1_000
          const bound = DURATIONS.find((it) => seconds <= it)
          if (bound !== undefined) kept.bucketValues[bound] = (kept.bucketValues[bound] ?? 0) + 1
          kept.sum += seconds
          kept.count += 1
          if (status === 304) tally.notModified += 1
        },
      }
    },
  }
}

/**
 * Measures every request of an app. The route is the template and not the URL, and all that fit none are one, so that nobody can make up
 * series.
 */
export const measureRequests = (app: FastifyInstance, { series }: RequestMetrics): void => {
  app.addHook('onRequest', (request, reply, done) => {
    const { method, routeOptions } = request
    const route = routeOptions.url ?? 'unknown'
    const { raw } = reply
    // A client that leaves is no response, and the slowest answers are those that clients leave.
    raw.once('close', () =>
      series(method, route, raw.writableFinished ? raw.statusCode : 'left').observe(reply.elapsedTime),
    )
    done()
  })
}
