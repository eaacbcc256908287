import type { FastifyInstance } from 'fastify'
import { Counter, Histogram } from 'prom-client'
import { DURATIONS, type Metrics } from './metrics.ts'

/** 2xx for 200: a series of its own for each status would be many. */
const statusOf = (status: number): string => `${Math.floor(status / 100)}xx`

/**
 * Measures every request of an app by method, route and class of status. The route is the template and not the URL, and all that fit none
 * are one, so that nobody can make up series.
 */
export const measureRequests = (app: FastifyInstance, metrics: Metrics): void => {
  const registers = [metrics]
  const durations = new Histogram({
    name: 'fx_http_request_duration_seconds',
    help: 'Requests answered, from their arrival to the end of the answer; a stream counts when it ends',
    labelNames: ['method', 'route', 'status'],
    buckets: DURATIONS,
    registers,
  })
  const notModified = new Counter({
    name: 'fx_http_not_modified_total',
    help: 'Requests answered 304: what the client has still holds',
    registers,
  })
  app.addHook('onResponse', (request, reply, done) => {
    const { method, routeOptions } = request
    const { statusCode } = reply
    durations.observe(
      { method, route: routeOptions.url ?? 'unknown', status: statusOf(statusCode) },
      reply.elapsedTime / 1_000,
    )
    if (statusCode === 304) notModified.inc()
    done()
  })
}
