import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import Fastify, { type FastifyInstance } from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { contentEncodings } from '../../../src/api/plugins/content-encoding.ts'
import { errors } from '../../../src/api/plugins/errors.ts'
import { headers, preflights } from '../../../src/api/plugins/headers.ts'
import { timing, tracing } from '../../../src/api/plugins/timing.ts'
import { unreadBodies } from '../../../src/api/plugins/unread.ts'
import { urls } from '../../../src/api/plugins/urls.ts'
import { validatorCompiler } from '../../../src/api/schema.ts'
import type { Unread } from '../../../src/api/unread.ts'
import { waited } from '../../../src/lib/observe/timing.ts'

const open = async (register: (app: FastifyInstance) => PromiseLike<unknown>) => {
  const app = Fastify({ genReqId: () => 'mine' })
  onTestFinished(() => app.close())
  app.setValidatorCompiler(validatorCompiler)
  await register(app)
  return app
}

test.each([
  ['gzip', 415],
  ['identity, br', 415],
  ['IDENTITY', 200],
  [' identity ,', 200],
  ['', 200],
])('a body with Content-Encoding %j is a %i, on routes that take a body', async (encoding, status) => {
  const app = await open(async (it) => {
    await it.register(errors)
    await it.register(contentEncodings)
    it.post('/body', { schema: { body: z.unknown() } }, async () => 'a')
    it.get('/none', async () => 'a')
  })
  const sent = { headers: { 'content-type': 'application/json', 'content-encoding': encoding }, payload: '{}' }
  const answer = await app.inject({ method: 'POST', url: '/body', ...sent })
  expect([answer.statusCode, answer.headers['accept-encoding']]).toEqual([
    status,
    status === 415 ? 'identity' : undefined,
  ])
  expect((await app.inject({ url: '/none', headers: { 'content-encoding': encoding } })).statusCode).toBe(200)
})

test('the message about an encoding repeats at most 40 characters of it', async () => {
  const app = await open(async (it) => {
    await it.register(errors)
    await it.register(contentEncodings)
    it.post('/body', { schema: { body: z.unknown() } }, async () => 'a')
  })
  const headers = { 'content-type': 'application/json', 'content-encoding': 'x'.repeat(41) }
  const { error } = (await app.inject({ method: 'POST', url: '/body', headers, payload: '{}' })).json()
  expect(error.message).toMatch(/, got x{40}: send it uncompressed/)
})

test('every response has the standard headers, and preflights are answered', async () => {
  const app = await open(async (it) => {
    await it.register(headers)
    await it.register(preflights)
    it.get('/page', async () => 'a')
  })
  for (const answer of [await app.inject('/page'), await app.inject('/nothing')]) {
    expect(answer.headers).toMatchObject({
      ...{ 'x-request-id': 'mine', 'access-control-allow-origin': '*', vary: 'accept, accept-encoding' },
      ...{
        'x-content-type-options': 'nosniff',
        'content-security-policy': "default-src 'none';frame-ancestors 'none'",
      },
      ...{ 'cross-origin-resource-policy': 'cross-origin', 'x-frame-options': 'SAMEORIGIN' },
    })
    const exposed = String(answer.headers['access-control-expose-headers']).split(', ')
    expect(exposed).toEqual(expect.arrayContaining(['X-Request-Id', 'ETag', 'Retry-After', 'Link', 'X-Transaction']))
    for (const name of ['cross-origin-opener-policy', 'x-xss-protection', 'origin-agent-cluster'])
      expect(answer.headers).not.toHaveProperty(name)
  }
  const asked = { origin: 'https://app.example', 'access-control-request-method': 'POST' }
  const preflight = await app.inject({ method: 'OPTIONS', url: '/page', headers: asked })
  expect([preflight.statusCode, preflight.headers]).toMatchObject([
    204,
    { 'access-control-allow-methods': 'GET, HEAD, POST, DELETE', 'access-control-max-age': '86400' },
  ])
  expect((await app.inject({ method: 'OPTIONS', url: '/page' })).statusCode).toBe(204)
})

test('Server-Timing has the time of nodes and of the database, where a request waited for them', async () => {
  const app = await open(async (it) => {
    await it.register(timing)
    it.get('/plain', async () => 'a')
    it.get('/waits', async () => {
      await waited('rpc', () => new Promise((resolve) => setTimeout(resolve, 2)))
      return 'a'
    })
  })
  expect((await app.inject('/plain')).headers['server-timing']).toMatch(/^app;dur=\d+\.\d\d$/)
  expect((await app.inject('/waits')).headers['server-timing']).toMatch(/^rpc;dur=[1-9]\d*\.\d\d, app;dur=\d+\.\d\d$/)
})

test('a request has one span, with its route and its status, in which its hooks and its handler run', async () => {
  const steps: unknown[] = []
  const app = await open(async (it) => {
    const begin = (method: string) => {
      steps.push(`begin ${method}`)
      return {
        run(work: () => void) {
          steps.push('run')
          work()
        },
        end: (answer: object) => void steps.push(answer),
      }
    }
    await it.register(tracing, { tracing: { begin, follow: () => {}, close: async () => {} } })
    it.get('/page/:id', async () => {
      steps.push('handler')
      return 'a'
    })
  })
  await app.inject('/page/7')
  expect(steps).toEqual(['begin GET', 'run', 'run', 'handler', { route: '/page/:id', status: 200 }])
  steps.length = 0
  await app.inject('/nothing')
  expect(steps.at(-1)).toEqual({ route: 'unknown', status: 404 })
})

test('large bodies count as unread for the address of the client, and those without room are a 503', async () => {
  const added: unknown[] = []
  let hasRoom = true
  const unread: Unread = {
    add(_, size, address) {
      added.push([size, address])
      return hasRoom
    },
    counts: () => ({ bytes: 0, dropped: 0 }),
  }
  const refused = { load: 0, rate: 0, unread: 0 }
  const app = await open(async (it) => {
    await it.register(unreadBodies, { unread, refused })
    await it.register(errors)
    it.get('/text/:length', async ({ params }) => 'ä'.repeat(Number(Object(params).length)))
    it.get('/bytes/:length', async ({ params }) => Buffer.alloc(Number(Object(params).length)))
  })
  const ask = (url: string, method: 'GET' | 'HEAD' = 'GET') => app.inject({ method, url, remoteAddress: '192.0.2.7' })
  expect((await ask('/text/65535')).statusCode).toBe(200)
  expect((await ask('/bytes/65536', 'HEAD')).statusCode).toBe(200)
  expect(added).toEqual([])
  expect((await ask('/text/65536')).body).toBe('ä'.repeat(65_536))
  expect((await ask('/bytes/65536')).rawPayload).toHaveLength(65_536)
  expect(added).toEqual([
    [131_072, '192.0.2.7'],
    [65_536, '192.0.2.7'],
  ])
  expect(refused.unread).toBe(0)
  hasRoom = false
  const answer = await ask('/bytes/65536')
  expect([answer.statusCode, answer.headers['retry-after'], refused.unread]).toEqual([503, '2', 1])
})

test('a fragment is a 400, an asterisk a 404, and a route of the API without parameters rejects them', async () => {
  const app = await open(async (it) => {
    await it.register(errors)
    await it.register(urls)
    it.get('/', async () => 'a')
    it.get('/v1/page', async () => 'a')
    it.get('/v1/own', { schema: { querystring: z.object({ a: z.string() }) } }, async () => 'a')
    it.get('/page', async () => 'a')
  })
  const status = async (url: string) => (await app.inject(url)).statusCode
  expect([await status('/v1/page'), await status('/v1/page?b=1'), await status('/v1/page?_=1')]).toEqual([
    200, 400, 200,
  ])
  expect([await status('/v1/own?a=1'), await status('/v1/own')]).toEqual([200, 400])
  expect([await status('/page?b=1'), await status('/')]).toEqual([200, 200])
  // Through `inject`, such URLs do not arrive as they are.
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const raw = async (path: string): Promise<number | undefined> => {
    const [response]: [IncomingMessage] = (await once(get(origin, { path, agent: false }), 'response')) as never
    response.resume()
    return response.statusCode
  }
  // The router takes what follows a fragment for a query, which only the first of them rejects on its own.
  expect([await raw('/v1/page#a'), await raw('/page#a'), await raw('/#')]).toEqual([400, 400, 400])
  expect([await raw('*'), await raw('/')]).toEqual([404, 200])
})
