import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import fp from 'fastify-plugin'

const SANE = /^[\w.:-]{1,128}$/

/** The request's id: the caller's `X-Request-Id` when it is sane, else a new one. */
export const requestId = ({ headers }: Pick<IncomingMessage, 'headers'>): string => {
  const given = headers['x-request-id']
  return typeof given === 'string' && SANE.test(given) ? given : randomUUID()
}

/** The trace's id of a W3C `traceparent`; undefined for none and for one that is not sane. */
export const traceOf = ({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined => {
  const given = headers.traceparent
  const [, id] =
    typeof given === 'string' ? (/^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/.exec(given) ?? []) : []
  return id
}

/** Each request that the framework answers ends in one log line, which also says whose trace it is of. */
export const requestLog = fp(async (app) => {
  app.addHook('onResponse', (request, reply, done) => {
    // The route and not the URL: it groups, and no caller's value gets into the log.
    const { method, routeOptions } = request
    const traceId = traceOf(request)
    const line = {
      method,
      route: routeOptions.url,
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime),
      traceId,
    }
    request.log.info(line, 'answered')
    done()
  })
})
