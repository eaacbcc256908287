import fp from 'fastify-plugin'
import { serverTiming, type Timings, withTimings } from '../../lib/observe/timing.ts'
import type { RequestSpan, Tracing } from '../../lib/observe/tracing.ts'

declare module 'fastify' {
  interface FastifyRequest {
    timings: Timings | null
    span: RequestSpan | null
  }
}

/** Sets `Server-Timing` on every response: how long it waited for nodes and for the database, and its total time. */
export const timing = fp(async (app) => {
  app.decorateRequest('timings', null)
  app.addHook('onRequest', (request, _, done) => {
    withTimings((timings) => {
      request.timings = timings
      done()
    })
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    reply.header('server-timing', serverTiming(request.timings, reply.elapsedTime))
    done(null, payload)
  })
})

/** Creates a span for each request, named by the URL template of its route. */
export const tracing = fp<{ readonly tracing: Tracing }>(async (app, options) => {
  app.decorateRequest('span', null)
  app.addHook('onRequest', (request, _, done) => {
    request.span = options.tracing.begin(request.method, request.headers)
    request.span.run(done)
  })
  // A body arrives in events of the socket, outside the context of the request, so the context is set again.
  app.addHook('preValidation', (request, _, done) => {
    if (request.span === null) done()
    else request.span.run(done)
  })
  app.addHook('onResponse', (request, reply, done) => {
    request.span?.end({ route: request.routeOptions.url ?? 'unknown', status: reply.statusCode })
    done()
  })
})
