import type { FastifyInstance } from 'fastify'
import { Counter, Histogram } from 'prom-client'
import { DURATIONS, type Metrics } from './metrics.ts'

/** 2xx for 200: a series of its own for each status would be many. */
const statusOf = (status: number): string => `${Math.floor(status / 100)}xx`

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
  return {
    observe(method, route, status, ms) {
      durations.observe({ method, route, status: status === 'left' ? status : statusOf(status) }, ms / 1_000)
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
