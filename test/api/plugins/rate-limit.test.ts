import Fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { createRateLimit, type RateLimit } from '../../../src/api/limits/rate-limit.ts'
import { errors } from '../../../src/api/plugins/errors.ts'
import { rateLimits } from '../../../src/api/plugins/rate-limit.ts'
import { eventually } from '../../support/process.ts'

const TAG = { 'if-none-match': '"a"' }

const open = async (max: number, options: Partial<RateLimit> = {}) => {
  const clock = { ms: 0 }
  const counted: unknown[] = []
  const own = createRateLimit(max, undefined, { now: () => clock.ms })
  const limit: RateLimit = {
    ...own,
    async count(client, step) {
      counted.push([client, step])
      return own.count(client, step)
    },
    ...options,
  }
  const refused = { load: 0, rate: 0, unread: 0 }
  const app = Fastify({ trustProxy: (_, hop) => hop < 1 })
  onTestFinished(() => app.close())
  await app.register(rateLimits, { limit, refused })
  await app.register(errors)
  const state = { status: 200, handled: 0, before: async (): Promise<void> => {} }
  app.route({
    ...{ method: ['GET', 'POST', 'OPTIONS'], url: '/page' },
    async handler(_, reply) {
      state.handled += 1
      await state.before()
      return reply.code(state.status).send(state.status === 304 ? undefined : 'a')
    },
  })
  app.get('/livez', { config: { unlimited: true } }, async () => 'a')
  const ask = (
    headers: Record<string, string> = {},
    method: 'GET' | 'POST' | 'OPTIONS' | 'HEAD' = 'GET',
    url = '/page',
  ) => app.inject({ method, url, headers, remoteAddress: '192.0.2.1' })
  /** The statuses of requests that are sent one after the other. */
  const statuses = async (times: number, ...request: Parameters<typeof ask>) => {
    const found: number[] = []
    for (let time = 0; time < times; time += 1) found.push((await ask(...request)).statusCode)
    return found
  }
  return { app, clock, counted, refused, state, ask, statuses }
}

test('requests count down to a 429 that reports when to try again, until the minute is over', async () => {
  const { ask, clock, refused, state } = await open(2)
  const first = await ask()
  expect(first.headers).toMatchObject({
    ...{ 'ratelimit-limit': '2', 'ratelimit-remaining': '1', 'ratelimit-reset': '60' },
  })
  clock.ms = 20_000
  expect((await ask()).headers).toMatchObject({ 'ratelimit-remaining': '0', 'ratelimit-reset': '40' })
  expect(refused.rate).toBe(0)
  const { statusCode, headers, body } = await ask()
  expect([statusCode, headers['retry-after'], headers['ratelimit-remaining']]).toEqual([429, '40', '0'])
  expect(JSON.parse(body).error).toEqual({
    ...{ code: 'rate_limited', message: 'rate limit exceeded: at most 2 requests a minute' },
  })
  expect([refused, state.handled]).toEqual([{ load: 0, rate: 1, unread: 0 }, 2])
  clock.ms = 60_000
  expect((await ask()).statusCode).toBe(200)
})

test('a 429 reports at least a second', async () => {
  const count = async () => ({ max: 1, remaining: 0, reset: 0, isExceeded: true })
  const { ask } = await open(1, { count })
  expect((await ask()).headers['retry-after']).toBe('1')
})

test('a request counts for the address that the trusted proxy reports', async () => {
  const { ask } = await open(1)
  const from = async (forwarded: string) => (await ask({ 'x-forwarded-for': forwarded })).statusCode
  expect([await from('203.0.113.1'), await from('203.0.113.2'), await from('203.0.113.1')]).toEqual([200, 200, 429])
  expect(await from('203.0.113.9, 203.0.113.2')).toBe(429)
})

test('preflights and routes without a limit are not counted, and unknown routes are', async () => {
  const { ask, counted } = await open(2)
  await ask({}, 'OPTIONS')
  const { headers } = await ask({}, 'GET', '/livez')
  expect([counted, headers['ratelimit-limit']]).toEqual([[], undefined])
  await ask({}, 'GET', '/nothing')
  expect(counted).toEqual([['192.0.2.1', 'incr']])
})

test('a 304 is not counted, for GET and for HEAD', async () => {
  const { state, statuses, ask } = await open(1)
  state.status = 304
  expect(await statuses(4, TAG)).toEqual([304, 304, 304, 304])
  expect((await ask(TAG, 'HEAD')).statusCode).toBe(304)
  expect((await ask(TAG)).headers['ratelimit-remaining']).toBe('1')
})

test('a request with a tag is counted once when its answer is not a 304', async () => {
  const { statuses, counted, ask, state } = await open(2)
  expect(await statuses(4, TAG)).toEqual([200, 200, 429, 429])
  const read = ['192.0.2.1', 'read']
  const incr = ['192.0.2.1', 'incr']
  // What was refused is not counted.
  expect(counted).toEqual([read, incr, read, incr, read, read])
  state.status = 304
  expect((await ask(TAG)).statusCode).toBe(429)
})

test('a tag of a POST changes nothing: it is counted before its answer', async () => {
  const { ask, counted } = await open(2)
  await ask(TAG, 'POST')
  expect(counted).toEqual([['192.0.2.1', 'incr']])
})

test('requests with a tag that are in progress at once are no more than remain', async () => {
  const { ask, state } = await open(2)
  let go = (): void => {}
  const gate = new Promise<void>((resolve) => {
    go = resolve
  })
  state.before = () => gate
  const sent = Array.from({ length: 4 }, () => ask(TAG))
  await eventually('two are handled', () => state.handled === 2)
  go()
  expect((await Promise.all(sent)).map(({ statusCode }) => statusCode).toSorted()).toEqual([200, 200, 429, 429])
})

test('requests with a tag that ended leave their places, whatever became of them', async () => {
  const { ask, state, statuses } = await open(3)
  state.status = 304
  for (let round = 0; round < 3; round += 1)
    expect((await Promise.all([ask(TAG), ask(TAG), ask(TAG)])).map(({ statusCode }) => statusCode)).toEqual([
      ...[304, 304, 304],
    ])
  state.before = () => Promise.reject(new Error('a bug'))
  expect(await statuses(2, TAG)).toEqual([500, 500])
  state.before = async () => {}
  expect(await statuses(2, TAG)).toEqual([304, 304])
})

test('a request whose shared count fails afterwards is answered', async () => {
  const own = createRateLimit(5, undefined)
  let failed = 0
  const { ask } = await open(5, {
    count: (client, step) => {
      if (step === 'read') return own.count(client, step)
      failed += 1
      return Promise.reject(new Error('closed'))
    },
  })
  expect((await ask(TAG)).statusCode).toBe(200)
  await eventually('it is counted', () => failed === 1)
})
