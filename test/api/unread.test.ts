import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { errors } from '../../src/api/plugins/errors.ts'
import { createRateLimit } from '../../src/api/rate-limit.ts'
import { createResponseCache, NO_ROOM, responseCache } from '../../src/api/response-cache/cache.ts'
import { cachingServer } from '../../src/api/response-cache/server.ts'
import { createStore } from '../../src/api/response-cache/store.ts'
import { createTags } from '../../src/api/response-cache/tags.ts'
import { createUnread, isLarge } from '../../src/api/unread.ts'
import { openApp } from '../support/app.ts'
import { eventually } from '../support/process.ts'

/** More than the buffers of a connection take, so that a part stays in the process. */
const BODY_BYTES = 16_777_216

/** A client that requests a path and reads nothing before `resume`. */
const stalled = (port: number, path: string): Socket => {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)
  onTestFinished(() => void socket.destroy())
  return socket.pause()
}

/** Bodies that a path may ask for in place of one of `BODY_BYTES`. */
const sizes: Readonly<Record<string, number>> = { small: 65_535, double: 2 * BODY_BYTES }

/** A server whose paths have the client's address, and a body: one of their own, or a common one. */
const open = async (maxBytes: number, options: Parameters<typeof createUnread>[1] = {}) => {
  const unread = createUnread(maxBytes, options)
  const common = Buffer.alloc(BODY_BYTES)
  const sent = new Set<string>()
  const handled = new Set<string>()
  const refused: string[] = []
  const server = createServer((request, response) => {
    const url = request.url ?? ''
    const [, address = '', kind = ''] = url.split('/')
    const body = kind === 'common' ? common : Buffer.alloc(sizes[kind] ?? BODY_BYTES)
    handled.add(url)
    if (isLarge(body) && !unread.add(response, body, address)) {
      refused.push(url)
      return void response.writeHead(503).end()
    }
    sent.add(url)
    response.once('close', () => sent.delete(url)).end(body)
  })
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const ask = async (path: string): Promise<Socket> => {
    const socket = stalled(port, path)
    await eventually(`${path} is handled`, () => handled.has(path))
    return socket
  }
  return { unread, sent, refused, ask }
}

test('a client that has not read a body in time is disconnected', async () => {
  const { sent, ask, unread } = await open(2 * BODY_BYTES, { readWithinMs: 5_000, msPerByte: 0 })
  await ask('/a/stalled')
  const reader = await ask('/b/reader')
  let read = 0
  reader.on('data', (chunk) => {
    read += chunk.length
  })
  reader.resume()
  await eventually('the reader has all', () => read > BODY_BYTES)
  await eventually('the other is disconnected', () => sent.size === 0)
  expect(unread.counts()).toEqual({ bytes: 0, dropped: 1 })
})

test('all bodies have a bound, and those of one address half of it', async () => {
  const { sent, refused, ask, unread } = await open(4 * BODY_BYTES, { now: () => 0 })
  for (const path of ['/a/1', '/a/2', '/a/3', '/b/1', '/b/2', '/c/1']) await ask(path)
  expect(refused).toEqual(['/a/3', '/c/1'])
  expect([...sent]).toEqual(['/a/1', '/a/2', '/b/1', '/b/2'])
  expect(unread.counts()).toEqual({ bytes: 4 * BODY_BYTES, dropped: 0 })
})

test('slow bodies make room, the oldest first, and only when they suffice', async () => {
  let now = 0
  const { sent, refused, ask, unread } = await open(3 * BODY_BYTES, { slowMs: 5_000, now: () => now })
  await ask('/a/1')
  await ask('/b/1')
  now = 5_000
  await ask('/c/1')
  await ask('/d/1')
  await eventually('the oldest is dropped', () => !sent.has('/a/1'))
  await ask('/e/double')
  expect(refused).toEqual(['/e/double'])
  expect([...sent]).toEqual(['/b/1', '/c/1', '/d/1'])
  now = 10_000
  await ask('/f/double')
  await eventually('two are dropped', () => sent.size === 2)
  expect([...sent]).toEqual(['/d/1', '/f/double'])
  expect(unread.counts()).toEqual({ bytes: 3 * BODY_BYTES, dropped: 3 })
})

test('a shared body counts once, until its last reader leaves, and is as slow as its newest reader', async () => {
  let now = 0
  const { ask, unread, refused } = await open(BODY_BYTES, { slowMs: 5_000, now: () => now })
  const first = await ask('/a/common')
  now = 5_000
  const second = await ask('/b/common')
  await ask('/b/small')
  await ask('/c/1')
  expect(refused).toEqual(['/c/1'])
  first.destroy()
  await sleep(50)
  expect(unread.counts()).toEqual({ bytes: BODY_BYTES, dropped: 0 })
  second.destroy()
  await eventually('nothing is unread', () => unread.counts().bytes === 0)
})

test('nothing is dropped for a body that has no room even so, and for a client that has gone', async () => {
  let now = 0
  const { sent, refused, ask, unread } = await open(4 * BODY_BYTES, { slowMs: 5_000, now: () => now })
  await ask('/a/1')
  now = 5_000
  const others = ['/b/1', '/b/2', '/c/1']
  for (const path of others) await ask(path)
  // Of address `a` enough is slow, of all it is not.
  await ask('/a/double')
  expect(refused).toEqual(['/a/double'])
  expect(unread.add({ destroyed: true } as never, Buffer.alloc(BODY_BYTES), 'd')).toBe(true)
  expect([...sent]).toEqual(['/a/1', ...others])
  expect(unread.counts()).toEqual({ bytes: 4 * BODY_BYTES, dropped: 0 })
})

test('a body that several addresses read makes no room for one of them', async () => {
  let now = 0
  const { sent, ask, unread } = await open(4 * BODY_BYTES, { slowMs: 5_000, now: () => now })
  for (const path of ['/a/common', '/b/common', '/a/1']) await ask(path)
  now = 5_000
  await ask('/a/double')
  await eventually('its own is dropped', () => !sent.has('/a/1'))
  expect([...sent]).toEqual(['/a/common', '/b/common', '/a/double'])
  expect(unread.counts()).toEqual({ bytes: 3 * BODY_BYTES, dropped: 1 })
})

test('a body from the response cache counts once, and not for HEAD; without room, the framework has the request', async () => {
  const unread = createUnread(BODY_BYTES, { now: () => 0 })
  const store = createStore(32 * BODY_BYTES)
  const tags = createTags('test')
  const tag = { version: 0, block: null }
  for (const path of ['/cached', '/other'])
    store.set(path, {
      ...{ resource: { chainIds: [] } as never, tag, etag: tags.encode(tag), route: path, headers: [] },
      ...{ bodies: { identity: Buffer.alloc(BODY_BYTES) }, until: Number.POSITIVE_INFINITY, hits: 0, lists: null },
    })
  // An index in which nothing changes.
  const changes = { isCurrent: () => true, version: () => 0, position: () => 0, reached: () => undefined } as never
  const limit = createRateLimit(4, undefined)
  const options = { changes, store, tags, unread, forkBlocks: null as never, limit, trustedProxies: 0 }
  let sent = 0
  const access = (): void => {
    sent += 1
  }
  const cache = createResponseCache(options)
  const server = cachingServer({ cache, access, tracing: undefined })((_, response) => response.writeHead(418).end())
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  expect((await fetch(`http://127.0.0.1:${port}/cached`, { method: 'HEAD' })).status).toBe(200)
  expect(unread.counts().bytes).toBe(0)
  const sockets = [1, 2].map(() => stalled(port, '/cached'))
  await eventually('both are sent', () => sent === 3)
  expect(unread.counts()).toEqual({ bytes: BODY_BYTES, dropped: 0 })
  const other = async () => (await fetch(`http://127.0.0.1:${port}/other`)).status
  expect(await other()).toBe(418)
  for (const socket of sockets) socket.destroy()
  await eventually('nothing is unread', () => unread.counts().bytes === 0)
  // No request is left of the limit. Such a request does not count.
  expect([await other(), unread.counts().bytes]).toEqual([418, 0])
})

test('a request whose cached body has no room is rejected before it is handled', async () => {
  const refused = { load: 0, rate: 0, unread: 0 }
  let handled = 0
  const app = Fastify()
  await app.register(responseCache, { cache: { decide: () => NO_ROOM, keep: String } as never, refused })
  await app.register(errors)
  app.get('/cached', async () => {
    handled += 1
  })
  const { statusCode, headers } = await app.inject('/cached')
  expect([statusCode, headers['retry-after'], refused.unread, handled]).toEqual([503, '2', 1, 0])
})

test('the API answers 503 for a large body without room, and counts it', async () => {
  const api = await openApp({ limits: { maxUnreadBytes: BODY_BYTES } })
  onTestFinished(() => api.close())
  api.app.get('/v1/large', (_, reply) => reply.header('etag', '"a"').send(Buffer.alloc(BODY_BYTES)))
  api.app.get('/v1/text', (_, reply) => reply.type('text/plain').send('a'.repeat(BODY_BYTES)))
  const origin = await api.app.listen({ port: 0, host: '127.0.0.1' })
  const metric = async (name: string): Promise<number> =>
    Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(await api.metrics.metrics())?.[1])
  let socket: Socket | undefined
  let response: Response | undefined
  // When the machine pauses in between, the first response is slow and makes room.
  await eventually('a second body is refused', async () => {
    socket = stalled(Number(new URL(origin).port), '/v1/text')
    await eventually('the first is unread', async () => (await metric('fx_unread_bytes')) === BODY_BYTES)
    response = await fetch(`${origin}/v1/large`)
    return response.status === 503
  })
  expect([response?.headers.get('retry-after'), response?.headers.get('etag')]).toEqual(['2', null])
  expect(await response?.json()).toEqual({
    error: { code: 'service_unavailable', message: 'too many large responses are not read yet: try again after 2 s' },
  })
  expect((await fetch(`${origin}/v1/large`, { method: 'HEAD' })).status).toBe(200)
  expect((await fetch(`${origin}/livez`)).status).toBe(200)
  expect(await metric('fx_http_refused_total{reason="unread"}'.replace(/[{}]/g, '\\$&'))).toBe(1)
  socket?.destroy()
  await eventually('nothing is unread', async () => (await metric('fx_unread_bytes')) === 0)
  expect((await fetch(`${origin}/v1/large`)).status).toBe(200)
})
