import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { closesHalfOpen } from '../../src/lib/http/half-open.ts'

/** More than the buffers of a connection take. */
const LARGE_BYTES = 16_777_216

/** Longer than any test. */
const NEVER_MS = 600_000

const opened: { close(): void }[] = []
afterEach(() => {
  for (const each of opened.splice(0)) each.close()
})

type Request = { readonly request: IncomingMessage; readonly response: ServerResponse }

/** A server whose requests the test answers, in the order in which they arrive. */
const open = async ({ answerWithinMs = NEVER_MS } = {}) => {
  const requests: Request[] = []
  let notify = (): void => {}
  const server = createServer((request, response) => {
    requests.push({ request, response })
    notify()
  })
  // The server itself never ends a connection because it is idle.
  server.keepAliveTimeout = 0
  const draining = new AbortController()
  const close = closesHalfOpen(server, draining.signal, answerWithinMs)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  opened.push({ close: () => void server.close().closeAllConnections() })
  const { port } = server.address() as AddressInfo
  /** The request that arrives next. */
  const next = async (): Promise<Request> => {
    for (let found = requests.shift(); ; found = requests.shift()) {
      if (found !== undefined) return found
      await new Promise<void>((resolve) => (notify = resolve))
    }
  }
  const send = async (bytes = '') => {
    const socket: Socket = connect(port, '127.0.0.1')
    const accepted = once(server, 'connection')
    socket.on('error', () => {})
    await Promise.all([once(socket, 'connect'), accepted])
    socket.write(bytes)
    const got = { text: '' }
    socket.setEncoding('latin1').on('data', (chunk) => {
      got.text += chunk
    })
    const ended = new Promise<string>((resolve) => socket.once('close', () => resolve(got.text)))
    const answered = async (times: number): Promise<void> => {
      while (got.text.split('HTTP/1.1 ').length <= times) await once(socket, 'data')
    }
    return { socket, ended, answered }
  }
  return { server, draining, close, next, send, port }
}

const HEAD = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
const HALF = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{'

test('a closing server closes connections at once whose request has not arrived, is partial, or was answered', async () => {
  const { close, next, send } = await open()
  const silent = await send()
  const half = await send(HALF)
  await next()
  const answered = await send(HEAD)
  const { response } = await next()
  response.end('one')
  await answered.answered(1)
  await close()
  expect([await silent.ended, await half.ended]).toEqual(['', ''])
  expect(await answered.ended).toMatch(/Connection: keep-alive/)
})

test('a connection serves request after request while the server is not closing', async () => {
  const { next, send } = await open()
  const { socket, answered, ended } = await send(HEAD)
  for (const times of [1, 2]) {
    const { response } = await next()
    response.end('again')
    await answered(times)
    if (times === 1) socket.write(HEAD)
  }
  expect(socket.destroyed).toBe(false)
  socket.destroy()
  expect((await ended).match(/Connection: keep-alive/g)).toHaveLength(2)
})

test('a request without its answer is answered by a closing server, and its connection ends then', async () => {
  const { close, next, send } = await open()
  const { socket, ended } = await send(HEAD)
  const { response } = await next()
  await close()
  expect([socket.destroyed, response.destroyed]).toEqual([false, false])
  response.end('late')
  expect(await ended).toMatch(/Connection: close\r\n[\s\S]*late/)
})

test('a connection whose headers were sent before ends after its response', async () => {
  const { close, next, send } = await open()
  const { ended, answered } = await send(HEAD)
  const { response } = await next()
  response.writeHead(200, { 'content-length': 4 }).flushHeaders()
  await answered(1)
  await close()
  response.end('late')
  expect(await ended).toMatch(/Connection: keep-alive\r\n[\s\S]*late/)
})

test('a closing server accepts no further connection', async () => {
  const { close, send, next } = await open()
  const first = await send(HEAD)
  await next()
  await close()
  const second = await send(HEAD)
  expect(await second.ended).toBe('')
  expect(first.socket.destroyed).toBe(false)
})

test('a draining server closes a connection after its pending request or its next one', async () => {
  const { draining, next, send } = await open()
  const pending = await send(HEAD)
  const { response } = await next()
  const idle = await send(HEAD)
  const first = await next()
  first.response.end('one')
  await idle.answered(1)
  draining.abort()
  response.end('late')
  expect(await pending.ended).toMatch(/Connection: close\r\n[\s\S]*late/)
  idle.socket.write(HEAD)
  const second = await next()
  second.response.end('two')
  expect((await idle.ended).match(/connection: .*/gi)).toEqual(['Connection: keep-alive', 'Connection: close'])
})

test('a client that reads its response while the server closes gets all of it', async () => {
  const { server, close, next, send } = await open()
  const { socket, ended } = await send(HEAD)
  socket.pause()
  const { response } = await next()
  response.end(Buffer.alloc(LARGE_BYTES))
  await close()
  server.close()
  socket.resume()
  expect((await ended).length).toBeGreaterThan(LARGE_BYTES)
})

test('a client that does not read its response delays the close only until the limit', async () => {
  const { close, next, send } = await open({ answerWithinMs: 20 })
  const { socket, ended } = await send(HEAD)
  socket.pause()
  const { request, response } = await next()
  response.end(Buffer.alloc(LARGE_BYTES))
  await close()
  await once(request.socket, 'close')
  socket.resume()
  expect((await ended).length).toBeLessThan(LARGE_BYTES)
})
