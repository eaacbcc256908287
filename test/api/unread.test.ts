import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
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

/** A server whose paths name the client's address, and whose responses are bodies of their own, or a common one. */
const open = async (maxBytes: number, options: Parameters<typeof createUnread>[1] = {}) => {
  const unread = createUnread(maxBytes, options)
  const common = Buffer.alloc(BODY_BYTES)
  const open = new Set<string>()
  const handled = new Set<string>()
  const refused: string[] = []
  const server = createServer((request, response) => {
    const url = request.url ?? ''
    const [, address = '', kind] = url.split('/')
    const body = kind === 'common' ? common : Buffer.alloc(kind === 'small' ? 65_535 : BODY_BYTES)
    handled.add(url)
    if (!unread.admit(response, body, () => address)) {
      refused.push(url)
      return void response.writeHead(503).end()
    }
    open.add(url)
    response.once('close', () => open.delete(url)).end(body)
  })
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const ask = async (path: string): Promise<Socket> => {
    const socket = stalled(port, path)
    await eventually(`${path} is handled`, () => handled.has(path))
    return socket
  }
  return { unread, open, refused, ask }
}

test('a client that reads nothing is disconnected, and one that reads slowly is not', async () => {
  const { open: responses, ask, unread } = await open(2 * BODY_BYTES, { stalledMs: 3_000 })
  await ask('/a/stalled')
  const slow = await ask('/a/slow')
  let read = 0
  slow.on('data', async (chunk) => {
    read += chunk.length
    slow.pause()
    await sleep(15)
    slow.resume()
  })
  slow.resume()
  await eventually('the stalled one is disconnected', () => !responses.has('/a/stalled'))
  await eventually('the slow one has read all', () => read > BODY_BYTES)
  expect(unread.counts()).toEqual({ bytes: 0, dropped: 1 })
})

test('the sum of the bodies is bounded: a client with the most of them makes room for others', async () => {
  const { open: responses, refused, ask, unread } = await open(2 * BODY_BYTES, { now: () => 0 })
  await ask('/a/1')
  await ask('/a/2')
  await ask('/a/3')
  expect(refused).toEqual(['/a/3'])
  await ask('/b/1')
  expect([...responses]).toEqual(['/a/2', '/b/1'])
  // Neither has more than the other, or than a third would have.
  await ask('/c/1')
  expect(refused).toEqual(['/a/3', '/c/1'])
  expect(unread.counts()).toEqual({ bytes: 2 * BODY_BYTES, dropped: 1 })
})

test('a slow response makes room for every other', async () => {
  let now = 0
  const { open: responses, ask } = await open(BODY_BYTES, { slowMs: 5_000, now: () => now })
  await ask('/a/1')
  now = 5_000
  await ask('/a/2')
  expect([...responses]).toEqual(['/a/2'])
})

test('a shared body counts once, and a small one does not', async () => {
  const { ask, unread } = await open(BODY_BYTES)
  const sockets = [await ask('/a/common'), await ask('/b/common'), await ask('/c/small')]
  expect(unread.counts().bytes).toBe(BODY_BYTES)
  sockets[0]?.destroy()
  sockets[2]?.destroy()
  await sleep(50)
  expect(unread.counts().bytes).toBe(BODY_BYTES)
  sockets[1]?.destroy()
  await eventually('nothing is unread', () => unread.counts().bytes === 0)
})

test('the API answers 503 for a large body without room, and counts it', async () => {
  const api = await openApp({ limits: { maxUnreadBytes: BODY_BYTES } })
  onTestFinished(() => api.close())
  api.app.get('/v1/large', (_, reply) => reply.header('etag', '"a"').send(Buffer.alloc(BODY_BYTES)))
  const origin = await api.app.listen({ port: 0, host: '127.0.0.1' })
  const metric = async (name: string): Promise<number> =>
    Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(await api.metrics.metrics())?.[1])
  let socket: Socket | undefined
  let response: Response | undefined
  // When the machine pauses in between, the first response is slow and makes room.
  await eventually('a second body is refused', async () => {
    socket = stalled(Number(new URL(origin).port), '/v1/large')
    await eventually('the first is unread', async () => (await metric('fx_unread_bytes')) === BODY_BYTES)
    response = await fetch(`${origin}/v1/large`)
    return response.status === 503
  })
  expect([response?.headers.get('retry-after'), response?.headers.get('etag')]).toEqual(['2', null])
  expect(await response?.json()).toEqual({
    error: { code: 'service_unavailable', message: 'too many large responses are not read yet: try again after 2 s' },
  })
  expect((await fetch(`${origin}/livez`)).status).toBe(200)
  expect(await metric('fx_http_refused_total{reason="load"}'.replace(/[{}]/g, '\\$&'))).toBe(1)
  socket?.destroy()
  await eventually('nothing is unread', async () => (await metric('fx_unread_bytes')) === 0)
  expect((await fetch(`${origin}/v1/large`)).status).toBe(200)
})
