import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import type { Access } from '../../../src/api/access.ts'
import { responseCache } from '../../../src/api/response-cache/cache.ts'
import { cachingServer } from '../../../src/api/response-cache/server.ts'
import type { Tracing } from '../../../src/lib/observe/tracing.ts'
import { eventually } from '../../support/process.ts'

const MANY = 50

test('pipelined requests are handled one after the other, so that a client has one under way a connection', async () => {
  const underWay: ServerResponse[] = []
  const server = cachingServer({
    // A cache that knows nothing.
    cache: { decide: () => null } as never,
    access: () => {},
    tracing: undefined,
  })((_, response) => void underWay.push(response))
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  let answers = ''
  socket.on('data', (chunk: Buffer) => {
    answers += chunk.toString()
  })
  socket.write(Array.from({ length: MANY }, (_, at) => `GET /${at} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''))
  for (let at = 0; at < MANY; at += 1) {
    await eventually('the next request is handled', () => underWay.length > at)
    if (at === 0) await sleep(50)
    expect(underWay.length).toBe(at + 1)
    underWay[at]?.end(`<${underWay[at]?.req.url}>`)
  }
  const expected = Array.from({ length: MANY }, (_, at) => `</${at}>`)
  await eventually('all are answered', () => answers.endsWith(`${expected.at(-1)}`))
  expect(answers.match(/<[^>]*>/g)).toEqual(expected)
})

test('a hit is sent without the framework, with its metrics, its log line and its span', async () => {
  const ended: unknown[] = []
  const spans: unknown[] = []
  const handled: (string | undefined)[] = []
  const sent: unknown[] = []
  const tracing: Tracing = {
    begin: (method, { traceparent }) => {
      spans.push(method, traceparent)
      return { run: (work) => work(), end: (answer) => void spans.push(answer) }
    },
    follow: () => {},
    close: async () => {},
  }
  const hit = { entry: { route: '/v1/page/:id' } }
  const cache = {
    decide: ({ req: { url } }: ServerResponse) => (url === '/hit' ? hit : null),
    send(response: ServerResponse, it: unknown, id: string, ms: number) {
      sent.push(it, id, ms >= 0 && ms < 10_000)
      response.writeHead(304).end()
    },
  } as never
  const access: Access = ({ ms, ...rest }, id, traceId) => void ended.push(rest, ms >= 0 && ms < 10_000, id, traceId)
  const server = cachingServer({ cache, access, tracing })((request, response) => {
    handled.push(request.url)
    response.writeHead(204).end()
  })
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const trace = '0af7651916cd43dd8448eb211c80319c'
  const traceparent = `00-${trace}-b7ad6b7169203331-01`
  const ask = async (path: string) =>
    (await fetch(origin + path, { headers: { traceparent, 'x-request-id': 'mine' } })).status
  expect(await ask('/miss')).toBe(204)
  expect([handled, ended, spans]).toEqual([['/miss'], [], []])
  expect(await ask('/hit')).toBe(304)
  expect(handled).toHaveLength(1)
  expect(sent).toEqual([hit, 'mine', true])
  expect(ended).toEqual([{ method: 'GET', route: '/v1/page/:id', status: 304 }, true, 'mine', trace])
  expect(spans).toEqual(['GET', traceparent, { route: '/v1/page/:id', status: 304 }])
})

test('the server bounds the time of a request and of an idle connection, and nothing else', () => {
  const server = cachingServer({ cache: {} as never, access: () => {}, tracing: undefined })(() => {})
  const { headersTimeout, requestTimeout, keepAliveTimeout, timeout, maxRequestsPerSocket } = server
  expect({ headersTimeout, requestTimeout, keepAliveTimeout, timeout, maxRequestsPerSocket }).toEqual({
    ...{ headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 72_000, timeout: 0 },
    maxRequestsPerSocket: 0,
  })
})

test('a request that the server has looked up is not looked up again by the framework', async () => {
  let lookups = 0
  const cache = {
    decide: () => {
      lookups += 1
      return null
    },
    keep: async (_request: unknown, _reply: unknown, payload: unknown) => payload,
  } as never
  const app = Fastify({ serverFactory: cachingServer({ cache, access: () => {}, tracing: undefined }) })
  onTestFinished(() => app.close())
  await app.register(responseCache, { cache })
  app.get('/page', async () => 'a')
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  expect((await fetch(`${origin}/page`)).status).toBe(200)
  expect(lookups).toBe(1)
  await app.inject('/page')
  expect(lookups).toBe(2)
})
