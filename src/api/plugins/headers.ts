import { IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import fastifyCors from '@fastify/cors'
import fp from 'fastify-plugin'
import helmet, { type HelmetOptions } from 'helmet'

const exposed = [
  'X-Request-Id',
  'X-Data-Source',
  'X-Block-Number',
  'X-Block-Hash',
  'X-Block-Timestamp',
  'X-Stale',
  'X-Index-Lag',
  'ETag',
  'Server-Timing',
  'Retry-After',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'Deprecation',
  'Sunset',
  'Link',
]

/** The headers that helmet sets. They do not depend on the request, so helmet is asked once and not with every answer. */
const helmetHeaders = (options: HelmetOptions): OutgoingHttpHeaders => {
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  helmet(options)(response.req, response, (fault) => {
    if (fault !== undefined) throw fault
  })
  return response.getHeaders()
}

/** What every response has, whoever writes it: any page may read it, and no browser may make more of it than it is. */
const always: OutgoingHttpHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': exposed.join(', '),
  // A stream has the URL of a page, and any answer may be compressed. In lower case, as the plugin that compresses looks for it.
  vary: 'accept, accept-encoding',
  ...helmetHeaders({
    // A page that loads anything says so with a policy of its own.
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    // The API is for pages of any origin, so its resources are too.
    crossOriginResourcePolicy: { policy: 'cross-origin' },
  }),
}

/** The headers of any response to a request: hooks put them on every reply, and whatever answers past the hooks takes them from here. */
export const standardHeaders = (requestId: string): OutgoingHttpHeaders => ({ ...always, 'x-request-id': requestId })

/**
 * Sets the headers of every response, before anything can refuse the request, and answers preflights: any page may call the API, which has no
 * cookies, and whose one credential is a header that a page has to set itself.
 */
export const headers = fp(async (app) => {
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(standardHeaders(request.id))
    done()
  })
  await app.register(fastifyCors, {
    origin: '*',
    methods: ['GET', 'HEAD', 'POST'],
    exposedHeaders: exposed,
    maxAge: 86_400,
    // An OPTIONS that is no preflight is answered like one and not with a text of the plugin's own.
    strictPreflight: false,
  })
})
