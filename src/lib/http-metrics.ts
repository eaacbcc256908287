import type { FastifyInstance } from 'fastify'
import { Counter, Histogram } from 'prom-client'
import { DURATIONS, type Metrics } from './metrics.ts'

/** 2xx for 200: a series of its own for each status would be many. */
const classes = ['', '1xx', '2xx', '3xx', '4xx', '5xx']
const statusOf = (status: number): string => classes[Math.floor(status / 100)] ?? 'other'

/** What the histogram keeps of one set of labels. */
type Series = { readonly labels: object; readonly bucketValues: Record<number, number>; sum: number; count: number }

/** Counts answered requests; `left` for a client that did not wait for the answer. */
export type RequestMetrics = { observe(method: string, route: string, status: number | 'left', ms: number): void }

/** The metrics of requests by method, route and class of status. */
export const createRequestMetrics = (metrics: Metrics): RequestMetrics => {
  const registers = [metrics]
  const durations = new Histogram({
    name: 'fx_http_request_duration_seconds',
    help: 'Requests, from their arrival to the end of the answer, or to when the client left (status left); a stream counts when it ends',
    labelNames: ['method', 'route', 'status'],
    buckets: DURATIONS,
    registers,
  })
  const notModified = new Counter({
    name: 'fx_http_not_modified_total',
    help: 'Requests answered 304: what the client has still holds',
    registers,
  })
  const all = new Map<string, Series>()
  // The histogram's own `observe` checks and joins the labels every time; to count into what it keeps costs a tenth.
  const { hashMap } = durations as unknown as { readonly hashMap: Readonly<Record<string, Series>> }
  const seriesOf = (method: string, route: string, status: string): Series => {
    const key = `${method} ${status} ${route}`
    const known = all.get(key)
    if (known !== undefined) return known
    const labels = { method, route, status }
    durations.zero(labels)
    const series = Object.values(hashMap).find((it) => it.labels === labels)
    if (series === undefined) throw new Error('the histogram keeps its series differently')
    all.set(key, series)
    return series
  }
  return {
    observe(method, route, status, ms) {
      const series = seriesOf(method, route, status === 'left' ? status : statusOf(status))
      const seconds = ms / 1_000
      const bound = DURATIONS.find((it) => seconds <= it)
      if (bound !== undefined) series.bucketValues[bound] = (series.bucketValues[bound] ?? 0) + 1
      series.sum += seconds
      series.count += 1
      if (status === 304) notModified.inc()
    },
  }
}

/**
 * Measures every request of an app. The route is the template and not the URL, and all that fit none are one, so that nobody can make up
 * series.
 */
export const measureRequests = (app: FastifyInstance, { observe }: RequestMetrics): void => {
  app.addHook('onRequest', (request, reply, done) => {
    const { method, routeOptions } = request
    const route = routeOptions.url ?? 'unknown'
    const { raw } = reply
    // A client that leaves is no response, and the slowest answers are those that clients leave.
    raw.once('close', () => observe(method, route, raw.writableFinished ? raw.statusCode : 'left', reply.elapsedTime))
    done()
  })
}
