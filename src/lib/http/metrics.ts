import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Counter, Histogram } from 'prom-client'
import { DURATIONS, type Metrics } from '../observe/metrics.ts'

/** Labels by class, `2xx` for 200: one series per status would be too many. */
const classes = ['', '1xx', '2xx', '3xx', '4xx', '5xx']
const statusOf = (status: number): string => classes[Math.floor(status / 100)] ?? 'other'

/** A request that ended. `status` is `left` when the client closed the connection before the answer was complete. */
export type Ended = {
  readonly method: string
  /** The template of the route and not the URL; undefined for a URL without a route. */
  readonly route: string | undefined
  readonly status: number | 'left'
  /** Whether it was answered with a stream, which lasts as long as its client wants. */
  readonly isStream?: boolean
  readonly ms: number
}

/** Creates the metrics of requests by method, route and class of status. Returns the function that counts a request. */
export const createRequestMetrics = (metrics: Metrics): ((ended: Ended) => void) => {
  const durations = new Histogram({
    name: 'fx_http_request_duration_seconds',
    help: 'Duration of requests until the response ended or the client left (status left), without streams',
    labelNames: ['method', 'route', 'status'],
    buckets: DURATIONS,
    registers: [metrics],
  })
  const notModified = new Counter({
    name: 'fx_http_not_modified_total',
    help: 'Requests answered 304: the copy of the client is still valid',
    registers: [metrics],
  })
  // All URLs without a route are one series, so that clients cannot create series.
  return ({ method, route = 'unknown', status, isStream = false, ms }) => {
    if (isStream) return
    durations.observe({ method, route, status: status === 'left' ? status : statusOf(status) }, ms / 1_000)
    if (status === 304) notModified.inc()
  }
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
      const status = isSent ? raw.statusCode : 'left'
      const isStream = String(reply.getHeader('content-type')).startsWith('text/event-stream')
      ended({ method, route: routeOptions.url, status, isStream, ms: reply.elapsedTime }, request)
    })
    done()
  })
}
