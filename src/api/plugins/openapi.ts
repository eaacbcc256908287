import fp from 'fastify-plugin'
import type { ChainId } from '../../protocol/chains.ts'
import { createAsset, sendAsset } from '../asset.ts'
import { BODY_LIMIT } from '../limits/limits.ts'
import { createDocument, type Description } from '../openapi/document.ts'
import type { Route } from '../openapi/route.ts'
import type { RouteSchema } from '../operation.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The description of the mounted routes. Call it when all of them are mounted. */
    readonly describe: () => Description
  }
}

type Options = { readonly chainIds: readonly ChainId[] }

/** Serves the description of all routes that are mounted after it, with their chain ids, at `/v1/openapi.json`. */
export const openapi = fp<Options>(async (app, { chainIds }) => {
  const routes: Route[] = []
  app.addHook('onRoute', ({ method, url, schema, config, bodyLimit = BODY_LIMIT }) => {
    const { operation } = config ?? {}
    // A HEAD route is part of its GET.
    if (operation === undefined || method === 'HEAD') return
    routes.push({ method: String(method), url, schema: schema as RouteSchema, operation, bodyLimit })
  })

  let description: Description | undefined
  app.decorate('describe', () => (description ??= createDocument(routes, chainIds)))
  const asset = createAsset('application/json; charset=utf-8', () => Buffer.from(JSON.stringify(app.describe())))
  app.get('/v1/openapi.json', async (request, reply) => sendAsset(request, reply, await asset()))
})
