import { isDeepStrictEqual } from 'node:util'
import type { RouteOptions } from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { openApp } from '../../support/app.ts'
import { mountedBy } from '../../support/mounted.ts'
import { committed, operations } from '../../support/openapi.ts'

/* The description that a process serves is the committed one, of the routes that it has mounted. */

// No node and no database is in reach: the description needs neither.
let api: Awaited<ReturnType<typeof openApp>>
let routes: readonly RouteOptions[]
beforeAll(async () => {
  routes = await mountedBy(async () => {
    api = await openApp({})
  })
})
afterAll(() => api.close())

test('the description is served as committed, with the ids of the configured chains', async () => {
  const { statusCode, headers, body } = await api.app.inject('/v1/openapi.json')
  expect([statusCode, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8'])
  const Listed = z.looseObject({ type: z.literal('integer'), enum: z.array(z.number()) })
  let listed = 0
  const unlist = (_key: string, value: unknown): unknown => {
    if (!isDeepStrictEqual(Listed.safeParse(value).data?.enum, [8453, 56])) return value
    listed += 1
    const { enum: _, ...schema } = Listed.parse(value)
    return { ...schema, minimum: 1, maximum: 2_147_483_647 }
  }
  const served = JSON.parse(body, unlist)
  expect(served).toEqual(JSON.parse(committed))
  // The documentation lists operations in this order.
  expect(Object.keys(served.paths)).toEqual(Object.keys(JSON.parse(committed).paths))
  expect(listed).toBeGreaterThan(15)
  expect(JSON.stringify(JSON.parse(committed))).not.toContain('"enum":[8453')
})

test('the description has every route but itself, the pages for people and the tools', () => {
  const mounted = routes
    .filter(({ method }) => method !== 'HEAD' && method !== 'OPTIONS')
    .map(({ method, url }) => `${method} ${url.replace(/:(\w+)/g, '{$1}')}`)
    .filter((route) => !/^GET \/(v1\/openapi\.json|v1\/docs.*|llms\.txt|explorer.*)$|^\w+ \/mcp$/.test(route))
  expect(operations.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(mounted.sort())
})
