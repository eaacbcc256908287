import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { openApp } from '../support/app.ts'
import { ranMs } from '../support/stopwatch.ts'

const HEAD = 'GET /v1/slow HTTP/1.1\r\nHost: a\r\n'
const POST =
  'POST /v1/tx/hedge/deposit HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n'

/** The app on a port, with a route that answers when it is told to. */
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
  ['says nothing', ''],
  ['never ends its head', 'GET /v1/chains HTTP/1.1\r\nHost: a\r\n'],
  ['never ends its body', `${POST}{"chainId":`],
  ['was answered and is kept open', 'GET /livez HTTP/1.1\r\nHost: a\r\n\r\n'],
])('a connection that %s does not hold up the stop', async (_, bytes) => {
  const { api, open } = await listening()
  const { ended } = await open(bytes)
  await arrived()
  const started = ranMs()
  await api.close()
  await ended
  expect(ranMs() - started).toBeLessThan(5_000)
})

test('what was asked is answered before the stop, and its connection closed then', async () => {
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

test('while it drains, each answer is complete and the last of its connection, those under way too, and it says that it is not ready', async () => {
  const { api, drain, asked, answer, open } = await listening()
  const under = await open(`${HEAD}\r\n`)
  const idle = await open('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n')
  await Promise.all([asked, once(idle.socket, 'data')])
  drain.abort()
  answer()
  expect(await under.ended).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\nconnection: close\r\n[\s\S]*\{"data":"late"\}$/i)
  // The listener stays open, and what was kept open is good for one more.
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

test('a request that is not all there in time is refused: 10 s for its head, 30 s for all of it', async () => {
  const { api, open } = await listening()
  const { headersTimeout, requestTimeout } = api.app.server
  expect([headersTimeout, requestTimeout]).toEqual([10_000, 30_000])
  // Nobody wants to wait for that here; the server looks once a second.
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

test('a body that is too large is answered, the rest of it dropped, and its connection goes on', async () => {
  const { api, open } = await listening()
  const size = 8_000_000
  const { socket, ended } = await open(POST.replace('100', String(size)))
  // Its length says enough: the answer is there before the body is.
  await once(socket, 'data')
  socket.write('1'.repeat(size))
  socket.write('GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  expect((await ended).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200'])
  await api.close()
})
