import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { ServiceError } from '../../lib/errors.ts'

/** A batch would be many requests for the price of one. The protocol has none since its revision 2025-06-18. */
const Message = z.record(z.string(), z.unknown(), { error: 'expected one JSON-RPC message, and no batch' })

/**
 * `/mcp`: the API for language models, by the Model Context Protocol over Streamable HTTP. Without sessions, every message
 * is a request of its own. Its libraries are loaded with the first one.
 */
export const mcpRoutes: FastifyPluginAsync = async (app) => {
  let loading: Promise<ReturnType<typeof import('../mcp/server.ts')['createMcp']>> | undefined
  const load = async () => (await import('../mcp/server.ts')).createMcp(app)

  app.post('/mcp', { schema: { body: Message } }, async (request, reply) => {
    requireOrigin(request.headers.origin)
    loading ??= load()
    const response = await (await loading)(request)
    const type = response.headers.get('content-type')
    if (type !== null) reply.type(type)
    return reply
      .code(response.status)
      .header('cache-control', 'no-store')
      .send(await response.text())
  })

  // The protocol requires this status of a server without streams and sessions.
  for (const method of ['GET', 'DELETE'])
    app.route({
      ...{ method, url: '/mcp' },
      async handler(_, reply) {
        reply.header('allow', 'POST')
        throw new ServiceError('not_found', 'the path takes POST', { status: 405 })
      },
    })
}

/**
 * Throws a 403 for an `Origin` that is none, as the protocol requires. Every origin is allowed: pages of any origin may
 * call the API, which holds no credentials, so a page gains nothing by rebinding its name to the address of a service.
 */
const requireOrigin = (origin: string | undefined): void => {
  if (origin === undefined || origin === 'null' || URL.canParse(origin)) return
  throw new ServiceError('forbidden', 'Origin: expected the origin of a page')
}
