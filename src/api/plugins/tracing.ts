import fp from 'fastify-plugin'
import type { RequestSpan, Tracing } from '../../lib/tracing.ts'

declare module 'fastify' {
  interface FastifyRequest {
    span: RequestSpan | null
  }
}

/** A span for each request, by the template of its route. */
export const tracing = fp<{ readonly tracing: Tracing }>(async (app, options) => {
  app.decorateRequest('span', null)
  app.addHook('onRequest', (request, _, done) => {
    request.span = options.tracing.begin(request.method, request.headers)
    request.span.run(done)
  })
  // A body arrives by events of the socket, which know of no request: what follows it is told again whose it is.
  app.addHook('preValidation', (request, _, done) => {
    if (request.span === null) done()
    else request.span.run(done)
  })
  app.addHook('onResponse', (request, reply, done) => {
    request.span?.end({ route: request.routeOptions.url ?? 'unknown', status: reply.statusCode })
    done()
  })
})
