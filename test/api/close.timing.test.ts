import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { openApp } from '../support/app.ts'
import { ranMs } from '../support/stopwatch.ts'

const HEAD = 'GET /v1/slow HTTP/1.1\r\nHost: a\r\n'
const POST =
  'POST /v1/tx/hedge/deposit HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n'

/** More than the buffers of a connection take. */
const LARGE_BYTES = 16_777_216

/** The app on a port, with a route that answers on command and one with a large body. */
const listening = async () => {
  const drain = new AbortController()
  const api = await openApp({ draining: drain.signal })
  let answer = (): void => {}
  const asked = new Promise<void>((arrived) => {
    const told = new Promise<void>((resolve) => {
      answer = resolve
    })
    api.app.get('/v1/slow', async () => {
      arrived()
      await told
      return { data: 'late' }
    })
  })
  api.app.get('/v1/large', (_, reply) => reply.send(Buffer.alloc(LARGE_BYTES)))
  await api.app.listen({ port: 0, host: '127.0.0.1' })
  const address = api.app.server.address()
  if (address === null || typeof address === 'string') throw new Error('the app does not listen')
  const open = async (bytes: string): Promise<{ socket: Socket; ended: Promise<string> }> => {
    const socket = connect(address.port, '127.0.0.1')
    await once(socket, 'connect')
    socket.write(bytes)
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += chunk
    })
    return { socket, ended: once(socket, 'close').then(() => text) }
  }
  return { api, drain, asked, answer: () => answer(), open }
}

/** Until the server has seen what was written. */
const arrived = () => new Promise((resolve) => setTimeout(resolve, 100))

test.each([
  ['sends nothing', ''],
  ['never ends its head', 'GET /v1/chains HTTP/1.1\r\nHost: a\r\n'],
  ['never ends its body', `${POST}{"chainId":`],
  ['was answered and is kept open', 'GET /livez HTTP/1.1\r\nHost: a\r\n\r\n'],
])('a connection that %s does not delay the stop', async (_, bytes) => {
  const { api, open } = await listening()
  const { ended } = await open(bytes)
  await arrived()
  const started = ranMs()
  await api.close()
  await ended
  expect(ranMs() - started).toBeLessThan(5_000)
})

test('requests in progress are answered before the stop, and their connections are closed then', async () => {
  const { api, asked, answer, open } = await listening()
  const half = await open(`${POST}{`)
  const whole = await open(`${HEAD}Connection: keep-alive\r\n\r\n`)
  await asked
  const closed = api.close()
  expect(await half.ended).toBe('')
  expect(whole.socket.destroyed).toBe(false)
  const started = ranMs()
  answer()
  expect(await whole.ended).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\nconnection: close\r\n[\s\S]*\{"data":"late"\}$/i)
  await closed
  expect(ranMs() - started).toBeLessThan(5_000)
})

test('a client that reads its response during the stop gets all of it', async () => {
  const { api, open } = await listening()
  const { socket, ended } = await open('GET /v1/large HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(socket, 'data')
  socket.pause()
  const closed = api.close()
  await arrived()
  socket.resume()
  expect((await ended).length).toBeGreaterThan(LARGE_BYTES)
  await closed
})

test('each response of a draining process is complete and the last of its connection, and readiness is refused', async () => {
  const { api, drain, asked, answer, open } = await listening()
  const under = await open(`${HEAD}\r\n`)
  const idle = await open('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n')
  await Promise.all([asked, once(idle.socket, 'data')])
  drain.abort()
  answer()
  expect(await under.ended).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\nconnection: close\r\n[\s\S]*\{"data":"late"\}$/i)
  // The listener stays open, and each kept-alive connection serves one more request.
  const answers: [string, RegExp][] = [
    ['/livez', /^HTTP\/1\.1 200 [\s\S]*\r\nconnection: close\r\n[\s\S]*"ok"/i],
    ['/readyz', /^HTTP\/1\.1 503 [\s\S]*\r\nconnection: close\r\n[\s\S]*this process is about to stop/i],
  ]
  for (const [path, expected] of answers) {
    const { ended } = await open(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)
    expect(await ended).toMatch(expected)
  }
  idle.socket.write('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n')
  expect((await idle.ended).match(/connection: .*/gi)).toEqual(['Connection: keep-alive', 'Connection: close'])
  await api.close()
})

test('a request that does not arrive in time is rejected: after 10 s for its head and 30 s in total', async () => {
  const { api, open } = await listening()
  const { headersTimeout, requestTimeout } = api.app.server
  expect([headersTimeout, requestTimeout]).toEqual([10_000, 30_000])
  // Shorter limits keep the test short. The server checks them once a second.
  api.app.server.headersTimeout = 50
  api.app.server.requestTimeout = 50
  const halves = await Promise.all([open('GET /v1/chains HTTP/1.1\r\nHost: a\r\n'), open(`${POST}{`)])
  for (const { ended } of halves) {
    const answer = await ended
    expect(answer).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/)
    expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toMatchObject({ error: { code: 'validation_error' } })
  }
  await api.close()
})

test('a body that is too large gets a response, its rest is dropped, and its connection stays open', async () => {
  const { api, open } = await listening()
  const size = 8_000_000
  const { socket, ended } = await open(POST.replace('100', String(size)))
  // The Content-Length is enough: the server answers before the body arrives.
  await once(socket, 'data')
  socket.write('1'.repeat(size))
  socket.write('GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  expect((await ended).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200'])
  await api.close()
})
