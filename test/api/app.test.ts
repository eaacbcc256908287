import { once } from 'node:events'
import { get } from 'node:http'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { openApp } from '../support/app.ts'

/* How the app is put together. No node and no database is in reach. */

const open = async (options: Parameters<typeof openApp>[0] = {}) => {
  const lines: string[] = []
  const api = await openApp({ log: pino({ level: 'info' }, { write: (line) => lines.push(line) }), ...options })
  onTestFinished(api.close)
  const ask = async (url: string, headers: Record<string, string> = {}) =>
    (await api.app.inject({ url, headers })).statusCode
  const metricOf = async (name: string) => new RegExp(`^${name} (.*)$`, 'm').exec(await api.metrics.metrics())?.[1]
  return { app: api.app, ask, lines, metricOf }
}

test('an app answers as it is configured by default', async () => {
  const { app, ask, lines } = await open()
  // Without a limit, no header reports one. A slash at the end of a path makes no difference.
  const { statusCode, headers } = await app.inject('/v1/chains/')
  expect([statusCode, Object.keys(headers).filter((name) => name.startsWith('x-ratelimit'))]).toEqual([200, []])

  const accepted = { 'accept-encoding': 'gzip' }
  const large = await app.inject({ url: '/v1/reverts', headers: accepted })
  const small = await app.inject({ url: '/v1/reverts?code=none', headers: accepted })
  expect([large.headers['content-encoding'], small.headers['content-encoding']]).toEqual(['gzip', undefined])

  const text = { method: 'POST', url: '/v1/tx/broadcast', payload: '{}', headers: { 'content-type': 'text/plain' } }
  expect((await app.inject(text as never)).statusCode).toBe(415)

  // The schema of the parameter decides, and not the router.
  const long = await app.inject(`/v1/hedge/events/8453/${'1'.repeat(16_000)}`)
  expect([long.statusCode, long.json().error.details[0].path]).toEqual([400, 'id'])
  expect((await app.inject('/v1/governance/owner')).json().error.message).toContain('8453')

  // The lines of the access log are written at the latest when the app closes.
  await ask('/v1/chains', { 'x-request-id': 'of-this-test' })
  await app.close()
  const own = lines
    .join('')
    .split('\n')
    .filter((line) => line.includes('of-this-test'))
  expect(own.map((line) => JSON.parse(line))).toMatchObject([{ level: 30, requestId: 'of-this-test' }])
})

test('a preflight of any page is answered, and is not counted', async () => {
  const { app, ask } = await open({ limits: { requestsPerMinute: 1 } })
  const page = { origin: 'https://app.example', 'access-control-request-method': 'POST' }
  for (const _ of [1, 2]) {
    const { statusCode, headers } = await app.inject({ method: 'OPTIONS', url: '/v1/tx/broadcast', headers: page })
    expect([statusCode, headers['access-control-allow-methods'], headers['access-control-allow-origin']]).toEqual([
      ...[204, 'GET, HEAD, POST, DELETE', '*'],
    ])
  }
  expect(await ask('/v1/chains')).toBe(200)
})

test('with a limit of one request a minute, each client has one, by the address that the trusted proxy reports', async () => {
  const { ask } = await open({ limits: { requestsPerMinute: 1, trustedProxies: 1 } })
  const from = (address: string) => ({ 'x-forwarded-for': address })
  expect(await ask('/v1/chains', from('192.0.2.1'))).toBe(200)
  expect(await ask('/v1/chains', from('192.0.2.1'))).toBe(429)
  expect(await ask('/v1/chains', from('192.0.2.2'))).toBe(200)
  // Only the last proxy is trusted.
  expect(await ask('/v1/chains', from('192.0.2.3, 192.0.2.2'))).toBe(429)
  expect(await ask('/livez', from('192.0.2.1'))).toBe(200)
})

test('without a trusted proxy the address of a client is that of its connection', async () => {
  const { ask } = await open({ limits: { requestsPerMinute: 1 } })
  const statuses: number[] = []
  for (const address of ['192.0.2.1', '192.0.2.2'])
    statuses.push(await ask('/v1/chains', { 'x-forwarded-for': address }))
  expect(statuses).toEqual([200, 429])
})

test.each([
  [{ maxWaits: 0, maxStreams: 0 }, 503],
  [{ maxWaitsPerClient: 0, maxStreamsPerClient: 0 }, 429],
])('with the limits %j a wait and a stream of each feed are a %i', async (limits, status) => {
  const { ask, metricOf } = await open({ limits })
  expect(await ask('/v1/hedge/events?chainId=8453&minBlock=1&waitMs=0')).toBe(status)
  expect(await metricOf('fx_waits_refused_total')).toBe('1')
  const settlements = '/v1/hedge/settlements/stream'
  for (const url of [settlements, `${settlements}?finality=finalized`, '/v1/changes/stream'])
    expect([url, await ask(url)]).toEqual([url, status])
})

test('when the process is about to stop, it is not ready, and requests that wait end', async () => {
  const draining = new AbortController()
  const { app, metricOf } = await open({ draining: draining.signal })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const waiting = get(`${origin}/v1/hedge/events?chainId=8453&minBlock=1&waitMs=10000`, { agent: false })
  await expect.poll(() => metricOf('fx_waits_open')).toBe('1')
  draining.abort()
  const [response] = await once(waiting, 'response')
  response.resume()
  expect([response.statusCode, await metricOf('fx_waits_open')]).toEqual([503, '0'])
  expect((await app.inject('/readyz')).json().error.message).toBe('this process is about to stop')
})
