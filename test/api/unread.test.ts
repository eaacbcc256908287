import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createRateLimit } from '../../src/api/limits/rate-limit.ts'
import { createResponseCache } from '../../src/api/response-cache/cache.ts'
import { cachingServer } from '../../src/api/response-cache/server.ts'
import { createStore } from '../../src/api/response-cache/store.ts'
import { createTags } from '../../src/api/response-cache/tags.ts'
import { createUnread } from '../../src/api/unread.ts'
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

test('a body from the response cache counts, but not for HEAD; without room, the framework has the request', async () => {
  const unread = createUnread(BODY_BYTES, () => 0)
  const store = createStore(32 * BODY_BYTES)
  const tags = createTags('test')
  const tag = { version: 0, block: null }
  for (const path of ['/cached', '/other'])
    store.set(path, {
      ...{ resource: { chainIds: [] } as never, tag, etag: tags.encode(tag), route: path, headers: [] },
      ...{ bodies: { identity: Buffer.alloc(BODY_BYTES) }, until: Number.POSITIVE_INFINITY, lists: null },
    })
  // An index in which nothing changes.
  const changes = { isCurrent: () => true, version: () => 0, position: () => 0, reached: () => undefined } as never
  const limit = createRateLimit(3, undefined)
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
  const headers = { 'accept-encoding': 'identity' }
  expect((await fetch(`http://127.0.0.1:${port}/cached`, { method: 'HEAD', headers })).status).toBe(200)
  expect(unread.counts().bytes).toBe(0)
  const socket = stalled(port, '/cached')
  await eventually('it is sent', () => sent === 2)
  expect(unread.counts()).toEqual({ bytes: BODY_BYTES, dropped: 0 })
  const other = async () => (await fetch(`http://127.0.0.1:${port}/other`, { headers })).status
  expect(await other()).toBe(418)
  socket.destroy()
  await eventually('nothing is unread', () => unread.counts().bytes === 0)
  // No request is left of the limit. Such a request does not count.
  expect([await other(), unread.counts().bytes]).toEqual([418, 0])
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
