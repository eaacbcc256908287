import { IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import fastifyCors from '@fastify/cors'
import type { FastifyPluginAsync } from 'fastify'
import fp from 'fastify-plugin'
import helmet, { type HelmetOptions } from 'helmet'

/** The headers that pages of other origins may read. */
const exposed = [
  'X-Request-Id, X-Data-Source, X-Block-Number, X-Block-Hash, X-Block-Timestamp, X-Stale, X-Index-Lag',
  'X-Complete-From, X-Transaction',
  'ETag, Server-Timing, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Link',
].join(', ')

/** The headers that helmet sets. They do not depend on the request, so helmet runs once and not for every response. */
const helmetHeaders = (options: HelmetOptions): OutgoingHttpHeaders => {
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  helmet(options)(response.req, response, (fault) => {
    if (fault !== undefined) throw fault
  })
  return response.getHeaders()
}

/** The headers of every response. Pages of any origin may read it, and browsers must not render it as a document. */
const always: OutgoingHttpHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': exposed,
  // A stream shares its URL with a page, and any response may be compressed. The compression plugin expects lower case.
  vary: 'accept, accept-encoding',
  ...helmetHeaders({
    // A page that loads resources sets its own policy.
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    // Pages of any origin may use the API.
    crossOriginResourcePolicy: { policy: 'cross-origin' },
    // These are for documents in a browser or for obsolete browsers. OWASP's list for REST APIs does not have them.
    crossOriginOpenerPolicy: false,
    originAgentCluster: false,
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xPermittedCrossDomainPolicies: false,
    xXssProtection: false,
  }),
}

/** The standard headers of a response, for code that answers without the hooks. */
export const standardHeaders = (requestId: string): OutgoingHttpHeaders => ({ ...always, 'x-request-id': requestId })

/** Sets the standard headers of every response, before any hook can reject the request. */
export const headers = fp(async (app) => {
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(always).header('x-request-id', request.id)
    done()
  })
})

/**
 * Answers CORS preflights. Any page may call the API: its only credential is a header that the page has to set itself.
 * The hook runs in this scope only, because all other responses already have the headers.
 */
export const preflights: FastifyPluginAsync = async (app) => {
  await app.register(fastifyCors, {
    origin: '*',
    methods: ['GET', 'HEAD', 'POST', 'DELETE'],
    exposedHeaders: exposed,
    maxAge: 86_400,
    // An OPTIONS request that is not a preflight gets the same response, and not the plugin's own text.
    strictPreflight: false,
  })
}
