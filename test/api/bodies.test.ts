import type { RouteOptions } from 'fastify'
import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ErrorBody } from '../../src/lib/http/problem.ts'
import { hostileBodies } from '../load/bodies.ts'
import { openApp } from '../support/app.ts'
import { exampleBody } from '../support/example-body.ts'
import { mountedBy } from '../support/mounted.ts'
import { byForm, seed } from '../support/repetitions.ts'

/**
 * The most bytes of an error, and the most faults that validation may find in one body before it details the first
 * ones.
 */
const MAX_ERROR_BYTES = 16_384
const MAX_ISSUES = 3_000

/**
 * One in this many bodies of a route is sent; the seed chooses which. The fillers follow one another at each place, and
 * their number has no common divisor with this one, so each run tries every place and every filler.
 */
const EVERY = byForm(20, 1)

// Nothing is in reach: what a body is worth is known before any source is asked.
let api: Awaited<ReturnType<typeof openApp>> | undefined
const routes = await mountedBy(async () => {
  api = await openApp({})
})
afterAll(() => api?.close())

/**
 * The tools answer errors of their own protocol (`test/api/mcp.test.ts`), and the operations on one webhook take no body.
 */
const posts = routes.filter(({ method, url }) => method === 'POST' && url !== '/mcp' && !/^\/v1\/webhooks\/:/.test(url))

const schemaOf = ({ url, schema }: RouteOptions): z.ZodType => {
  if (!(schema?.body instanceof z.ZodType)) throw new TypeError(`${url} has no schema of its body`)
  return schema.body
}

const issuesOf = (schema: z.ZodType, text: string): number => {
  try {
    return schema.safeParse(JSON.parse(text)).error?.issues.length ?? 0
  } catch {
    return 0
  }
}

/** The fault of the response to a body, or null. */
const judge = async (url: string, schema: z.ZodType, payload: string): Promise<string | null> => {
  const answer = await api?.app.inject({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/json' },
    payload,
  })
  const { statusCode = 0, body = '' } = answer ?? {}
  // Self-service for webhooks is off.
  if (![200, 400, 403, 503].includes(statusCode)) return `status ${statusCode}`
  if (statusCode === 200) return null
  const { details = [], message } = ErrorBody.parse(JSON.parse(body)).error
  const bytes = Buffer.byteLength(body)
  if (bytes > MAX_ERROR_BYTES || details.length > 20) return `${bytes} bytes, ${details.length} details`
  if (message.length > 1_000) return `a message of ${message.length} characters`
  const issues = issuesOf(schema, payload)
  return issues > MAX_ISSUES ? `${issues} issues` : null
}

describe('a hostile body gets a short error after a bounded validation, at', () => {
  test.each(posts.map((route) => [route.url, route] as const))('%s', async (url, route) => {
    const schema = schemaOf(route)
    const example = exampleBody(route)
    const limit = route.bodyLimit ?? api?.app.initialConfig.bodyLimit ?? 0
    const failures: string[] = []
    const bodies = hostileBodies({ route: url, limit, example }).filter((_, at) => at % EVERY === seed % EVERY)
    for (const { name, body } of bodies) {
      const text = body()
      expect([name, Buffer.byteLength(text) <= limit]).toEqual([name, true])
      const fault = await judge(url, schema, text)
      if (fault !== null) failures.push(`${name}: ${fault}`)
    }
    expect(failures, `TEST_SEED=${seed}`).toEqual([])
  })
})
