import { IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import fp from 'fastify-plugin'
import helmet, { type HelmetOptions } from 'helmet'

/** What helmet sets; nothing of it depends on the request, so it is asked once and not with every answer. */
const headersOf = (options: HelmetOptions): OutgoingHttpHeaders => {
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  helmet(options)(response.req, response, (fault) => {
    if (fault !== undefined) throw fault
  })
  return response.getHeaders()
}

/** The headers that keep browsers from making more of an answer than it is. */
export const securityHeaders = headersOf({
  // A page that loads anything says so with a policy of its own.
  contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
  // The API is for pages of any origin, so its resources are too.
  crossOriginResourcePolicy: { policy: 'cross-origin' },
})

/** Every answer has them. */
export const security = fp(async (app) => {
  app.addHook('onRequest', async (_, reply) => {
    reply.headers(securityHeaders)
  })
})
