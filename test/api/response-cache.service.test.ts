import { once } from 'node:events'
import { type IncomingHttpHeaders, type IncomingMessage, type OutgoingHttpHeaders, request as send } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLimitStore } from '../../src/api/limits/store.ts'
import { uniforms } from '../../src/lib/random.ts'
import type { openApp } from '../support/app.ts'
import { startIndexed } from '../support/indexing.ts'
import { eventually } from '../support/process.ts'
import { startTestRedis, type TestService } from '../support/services.ts'

type Api = Awaited<ReturnType<typeof openApp>>

const lines: string[] = []
const log = pino({ level: 'info' }, { write: (chunk: string) => lines.push(...chunk.trim().split('\n')) })
const drain = new AbortController()
let indexed: Awaited<ReturnType<typeof startIndexed>>
let redis: TestService
let api: Api
let limited: Api
let shared: Api
/** A page of more than 1 KB. */
const page = '/v1/hedge/events?chainId=8453'

beforeAll(async () => {
  ;[indexed, redis] = await Promise.all([startIndexed([8453]), startTestRedis()])
  const store = createLimitStore({ redisUrl: redis.url, prefix: `test-${uniforms(Date.now())()}`, log })
  await eventually('Redis is ready', () => store.redis.status === 'ready')
  const limits = { requestsPerMinute: 6, trustedProxies: 1 }
  ;[api, limited, shared] = await Promise.all([
    indexed.open({ log, draining: drain.signal }),
    indexed.open({ limits }),
    indexed.open({ limits, limitStore: store }),
  ])
  for (const { app } of [api, limited, shared]) await app.listen({ port: 0, host: '127.0.0.1' })
  await indexed.quiet()
})
afterAll(async () => {
  await indexed?.close()
  await redis?.close()
})

const portOf = ({ app }: Api): number => (app.server.address() as AddressInfo).port

const ask = async (of: Api, headers: OutgoingHttpHeaders = {}, { path = page, method = 'GET' } = {}) => {
  const request = send({ host: '127.0.0.1', port: portOf(of), path, method, headers, agent: false }).end()
  const [response]: [IncomingMessage] = (await once(request, 'response')) as never
  return { status: response.statusCode ?? 0, headers: response.headers, body: await buffer(response) }
}

/** An answer that the cache may not give. */
const cold = (headers: OutgoingHttpHeaders = {}, options: Parameters<typeof ask>[2] = {}) =>
  ask(api, { expect: '100-continue', ...headers }, options)

/** Whether an answer came from the cache: the framework adds how long it waited for the database. */
const isHit = ({ headers }: { readonly headers: IncomingHttpHeaders }): boolean =>
  /^app;dur=/.test(String(headers['server-timing']))

/** A hit, as soon as there is one: a body is kept for a second. */
const hit = async (of: Api, headers: OutgoingHttpHeaders = {}, options: Parameters<typeof ask>[2] = {}) => {
  for (;;) {
    const answer = await ask(of, headers, options)
    if (isHit(answer)) return answer
  }
}

const changing = ['x-request-id', 'date', 'server-timing', 'x-block-number', 'x-block-hash', 'x-block-timestamp']
const lasting = (headers: IncomingHttpHeaders) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, changing.includes(name) ? '' : value]))

describe('an answer from the cache', () => {
  test('has the headers and the body of one that was read', async () => {
    const read = await cold()
    const cached = await hit(api)
    expect(lasting(cached.headers)).toEqual(lasting(read.headers))
    expect(cached.headers.vary).toBe('accept, accept-encoding')
    expect(JSON.parse(String(cached.body)).data).toEqual(JSON.parse(String(read.body)).data)
  })

  test('that is 304 has the headers of a 304 from the framework', async () => {
    const { etag = '' } = (await hit(api)).headers
    const warm = await ask(api, { 'if-none-match': etag })
    const read = await cold({ 'if-none-match': etag })
    expect([warm.status, read.status]).toEqual([304, 304])
    expect(lasting(warm.headers)).toEqual(lasting(read.headers))
  })

  test('to HEAD is that to GET without its body, 304 too', async () => {
    const [get, head] = [await hit(api), await hit(api, {}, { method: 'HEAD' })]
    expect(head.body.length).toBe(0)
    expect(lasting(head.headers)).toEqual(lasting(get.headers))
    expect(head.headers['content-length']).toBe(String(get.body.length))
    const tagged = await ask(api, { 'if-none-match': String(get.headers.etag) }, { method: 'HEAD' })
    expect(tagged.status).toBe(304)
  })

  test('keeps the request id of the caller, and is logged and counted like any other', async () => {
    const count = async () => {
      const metrics = await api.metrics.metrics()
      const series =
        /^fx_http_request_duration_seconds_count\{method="GET",route="\/v1\/hedge\/events",status="3xx"\} (\d+)/m
      return [Number(series.exec(metrics)?.[1] ?? 0), Number(/^fx_http_not_modified_total (\d+)/m.exec(metrics)?.[1])]
    }
    const { etag = '' } = (await hit(api)).headers
    const [requests = 0, unchanged = 0] = await count()
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const headers = { 'if-none-match': etag, 'x-request-id': 'mine-304', traceparent }
    expect((await ask(api, headers)).headers['x-request-id']).toBe('mine-304')
    expect(await count()).toEqual([requests + 1, unchanged + 1])
    await eventually('the line is written', () => lines.some((line) => line.includes('mine-304')))
    const line = JSON.parse(lines.find((it) => it.includes('mine-304')) ?? '')
    const other = JSON.parse(lines.find((it) => it.includes('answered') && it.includes('"status":200')) ?? '')
    expect(Object.keys(line).filter((key) => key !== 'traceId')).toEqual(Object.keys(other))
    expect(line).toMatchObject({
      ...{ level: 30, requestId: 'mine-304', method: 'GET', route: '/v1/hedge/events', status: 304 },
      ...{ traceId: '0af7651916cd43dd8448eb211c80319c', msg: 'answered' },
    })
  })
})

describe('a compressed answer', () => {
  const plain = (encoding: string | undefined, body: Buffer): string =>
    String(encoding === 'br' ? brotliDecompressSync(body) : encoding === 'gzip' ? gunzipSync(body) : body)

  test.each([
    ['gzip', 'gzip'],
    ['br', 'br'],
    ['gzip, br', 'br'],
    ['gzip;q=1, br;q=0.5', 'gzip'],
    ['*', 'br'],
    ['identity', undefined],
    ['gzip;q=0, br;q=0', undefined],
    ['deflate', undefined],
  ])('to Accept-Encoding %j is %s, cold and warm, under the same weak tag', async (accept, encoding) => {
    const headers = { 'accept-encoding': accept }
    const read = await cold(headers)
    // `*` is gzip for the framework's plugin; both are acceptable.
    if (accept !== '*') expect(read.headers['content-encoding']).toBe(encoding)
    let warm = await hit(api, headers)
    await eventually('the compressed body is kept', async () => {
      warm = await hit(api, headers)
      return warm.headers['content-encoding'] === encoding
    })
    expect(warm.headers['content-length']).toBe(String(warm.body.length))
    expect(JSON.parse(plain(encoding, warm.body)).data).toEqual(
      JSON.parse(plain(read.headers['content-encoding'], read.body)).data,
    )
    expect(warm.headers.etag).toMatch(/^W\//)
    const { etag = '' } = warm.headers
    expect((await ask(api, { ...headers, 'if-none-match': etag })).status).toBe(304)
  })

  test('is not left out where the client refuses a plain one', async () => {
    const { headers, body } = await ask(api, { 'accept-encoding': 'gzip, identity;q=0' })
    expect(headers['content-encoding']).toBe('gzip')
    expect(JSON.parse(String(gunzipSync(body))).data.length).toBeGreaterThan(0)
  })
})

describe('the cache does not answer', () => {
  test.each([
    ['OPTIONS', 'OPTIONS', page, {}, 204],
    ['POST', 'POST', page, {}, 404],
    ['an asterisk', 'GET', '*', {}, 404],
    ['a fragment', 'GET', `${page}#a`, {}, 400],
    ['an unknown parameter', 'GET', `${page}&b=1`, {}, 400],
  ])('%s', async (_, method, path, headers, status) => {
    await hit(api)
    expect((await ask(api, headers, { method, path })).status).toBe(status)
  })

  test.each([
    ['an expectation', { expect: '100-continue' }],
    ['a body', { 'content-length': '0' }],
  ])('a request with %s', async (_, headers) => {
    await hit(api)
    const answer = await ask(api, headers)
    expect([answer.status, isHit(answer)]).toEqual([200, false])
  })
})

test('pipelined requests are answered in their order, from the cache or not', async () => {
  const { etag = '' } = (await hit(api)).headers
  const socket = connect(portOf(api), '127.0.0.1')
  const head = (id: string, path: string, more = ''): string =>
    `GET ${path} HTTP/1.1\r\nHost: a\r\nX-Request-Id: ${id}\r\n${more}\r\n`
  const tagged = `If-None-Match: ${etag}\r\n`
  socket.write(
    head('a', page, tagged) +
      head('b', `${page}&limit=7`) +
      head('c', page, tagged) +
      head('d', page, `Connection: close\r\n`),
  )
  const ids = [...(await text(socket)).matchAll(/x-request-id: (\w+)\r\n/g)].map(([, id]) => id)
  expect(ids).toEqual(['a', 'b', 'c', 'd'])
})

describe.each([
  ['in memory', () => limited],
  ['with Redis', () => shared],
])('under a rate limit %s', (_, of) => {
  test('a 304 is not counted, a cached body is, for the client that the proxies name', async () => {
    const from = (client: string, more = {}) => ({ 'x-forwarded-for': client, ...more })
    const first = await ask(of(), from('192.0.2.9'))
    const etag = String(first.headers.etag)
    for (let request = 0; request < 20; request += 1)
      expect((await ask(of(), from('192.0.2.1', { 'if-none-match': etag }))).status).toBe(304)
    const left: unknown[] = []
    for (let request = 0; request < 8; request += 1) {
      const { status, headers } = await ask(of(), from('192.0.2.1'))
      left.push([status, headers['ratelimit-remaining']])
    }
    expect(left).toEqual([5, 4, 3, 2, 1, 0, 0, 0].map((remaining, at) => [at < 6 ? 200 : 429, String(remaining)]))
    expect((await ask(of(), from('192.0.2.2'))).status).toBe(200)
    // Still for the one who asked too often.
    expect((await ask(of(), from('192.0.2.1', { 'if-none-match': etag }))).status).toBe(304)
  })
})

test('while the process drains, a cached answer is the last of its connection', async () => {
  const { etag = '' } = (await hit(api)).headers
  drain.abort()
  const { status, headers } = await ask(api, { 'if-none-match': etag, connection: 'keep-alive' })
  expect([status, headers.connection]).toEqual([304, 'close'])
})
