import type { RouteOptions } from 'fastify'
import fp from 'fastify-plugin'
import { z } from 'zod'
import { createAsset, sendAsset } from '../asset.ts'
import { BODY_LIMIT } from '../limits.ts'
import { createDocument, type Route } from '../openapi/document.ts'

const objectOf = (schema: unknown): z.ZodObject | undefined => (schema instanceof z.ZodObject ? schema : undefined)

const successOf = (response: unknown): unknown =>
  typeof response === 'object' && response !== null && 200 in response ? response[200] : undefined

/** The route as it is documented; undefined when it says nothing of itself. A HEAD is its GET without the body. */
const documented = ({ method, url, schema, config, bodyLimit = BODY_LIMIT }: RouteOptions): Route | undefined => {
  const success = successOf(schema?.response)
  if (config?.operation === undefined || method === 'HEAD' || !(success instanceof z.ZodType)) return undefined
  return {
    method: String(method),
    url,
    operation: config.operation,
    deprecated: config.deprecated !== undefined,
    params: objectOf(schema?.params),
    query: objectOf(schema?.querystring),
    body: schema?.body instanceof z.ZodType ? schema.body : undefined,
    bodyLimit,
    success,
  }
}

/** Describes the routes that are mounted after it at `/v1/openapi.json`. */
export const openapi = fp(async (app) => {
  const routes: Route[] = []
  app.addHook('onRoute', (options) => {
    const route = documented(options)
    if (route !== undefined) routes.push(route)
  })

  const asset = createAsset('application/json; charset=utf-8', () =>
    Buffer.from(JSON.stringify(createDocument(routes))),
  )
  app.get('/v1/openapi.json', async (request, reply) => sendAsset(request, reply, await asset()))
})
