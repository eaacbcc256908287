import { connect } from 'node:net'
import type { InjectOptions } from 'fastify'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openApp } from '../support/app.ts'

// No node and no database is in reach here: nothing below needs one to be refused.
let api: Awaited<ReturnType<typeof openApp>>
beforeAll(async () => {
  api = await openApp({})
})
afterAll(() => api.close())

const wallet = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
type Case = readonly [name: string, path: string, status: number, code: string, detail?: string]

const refusedGets: readonly Case[] = [
  ['an unknown route', '/nothing', 404, 'not_found'],
  ['a route below a read', '/hedge/events/8453/1/nothing', 404, 'not_found'],
  ['an unsupported chain', '/hedge/events/1/1', 400, 'validation_error', 'chainId'],
  ['a chain in hex', '/hedge/events/0x2105/1', 400, 'validation_error', 'chainId'],
  ['a chain by query', '/hedge/fees?chainId=1', 400, 'validation_error', 'chainId'],
  ['two chains by query', '/hedge/fees?chainId=56&chainId=8453', 400, 'validation_error', 'chainId'],
  ['a blank chain by query', '/hedge/fees?chainId=', 400, 'validation_error', 'chainId'],
  ['a negative id', '/hedge/events/8453/-1', 400, 'validation_error', 'id'],
  ['a fractional id', '/hedge/positions/8453/5.0', 400, 'validation_error', 'id'],
  ['an exponent for an id', '/hedge/deposits/8453/1e1', 400, 'validation_error', 'id'],
  ['a blank id', '/hedge/deposits/8453/%20', 400, 'validation_error', 'id'],
  ['an id past 2^53 - 1', '/hedge/events/8453/9007199254740992/stats', 400, 'validation_error', 'id'],
  ['an id of 5,000 digits', `/hedge/events/8453/${'9'.repeat(5_000)}`, 400, 'validation_error', 'id'],
  ['a word for an id', '/hedge/deposits/8453/first/pending', 400, 'validation_error', 'id'],
  ['a short address', '/hedge/positions/8453/wallet/0x1234', 400, 'validation_error', 'addr'],
  ['an address without 0x', `/hedge/deposits/8453/wallet/${wallet.slice(2)}`, 400, 'validation_error', 'addr'],
  ['an address that is not hex', `/hedge/creators/56/wallet/${wallet.slice(0, -1)}g`, 400, 'validation_error', 'addr'],
  ['a limit of 0', `/hedge/creators/56/wallet/${wallet}?limit=0`, 400, 'validation_error', 'limit'],
  [
    'a limit past the longest list',
    `/hedge/creators/56/wallet/${wallet}?limit=10001`,
    400,
    'validation_error',
    'limit',
  ],
  ['a foreign cursor', `/hedge/creators/56/wallet/${wallet}?cursor=abc`, 400, 'validation_error', 'cursor'],
  ['a quote without notional', '/hedge/quote-payout/8453/1?hypoSettlement=1', 400, 'validation_error', 'notional'],
  [
    'a quote of a fraction',
    '/hedge/quote-payout/8453/1?hypoSettlement=1.5&notional=1',
    400,
    'validation_error',
    'hypoSettlement',
  ],
  ['bad percent-encoding', '/hedge/events/8453/%zz', 400, 'validation_error', 'url'],
]

describe('a GET is refused for', () => {
  for (const [name, path, status, code, detail] of refusedGets) {
    test(name, async () => {
      const answer = await api.get(path)
      expect([answer.status, answer.error?.code]).toEqual([status, code])
      expect(answer.error?.details?.map(({ path }) => path)).toEqual(detail === undefined ? undefined : [detail])
    })
  }

  test('an unsupported chain by a message that names the supported ones', async () => {
    expect((await api.get('/hedge/events/1/1')).error?.message).toMatch(/8453.*56/)
  })
})

const deposit = '/v1/tx/hedge/deposit'
const to = (url: string, payload: NonNullable<InjectOptions['payload']>, type = 'application/json') =>
  ({ method: 'POST', url, headers: { 'content-type': type }, payload }) as const
const form = 'application/x-www-form-urlencoded'
const large = { chainId: 8453, eventId: '1', amount: '1'.repeat(1_100_000) }
const broadcast = (signedTx: string) => to('/v1/tx/broadcast', { chainId: 8453, signedTx })

const refusedPosts: readonly (readonly [string, InjectOptions & { readonly url: string }, number, string?])[] = [
  ['a wrong method', { method: 'POST', url: '/v1/chains' }, 404],
  ['a read of a builder', { method: 'GET', url: deposit }, 404],
  ['no body', { method: 'POST', url: deposit }, 400, 'body'],
  ['an empty body', to(deposit, ''), 400, 'body'],
  ['a list for a body', to(deposit, []), 400, 'body'],
  ['malformed JSON', to(deposit, '{"a":'), 400, 'body'],
  ['a prototype', to(deposit, '{"__proto__":{}}'), 400, 'body'],
  ['text', to(deposit, 'x', 'text/plain'), 415, 'body'],
  ['a form', to(deposit, 'a=1', form), 415, 'body'],
  ['more than a megabyte', to(deposit, large), 413, 'body'],
  ['a transaction that is not hex', broadcast('0xzz'), 400, 'signedTx'],
  ['an empty transaction', broadcast('0x'), 400, 'signedTx'],
]

describe('also refused:', () => {
  for (const [name, options, status, detail] of refusedPosts) {
    test(name, async () => {
      const answer = await api.send(options)
      expect([answer.status, answer.error?.code]).toEqual([status, status === 404 ? 'not_found' : 'validation_error'])
      expect(answer.error?.details?.map(({ path }) => path)).toEqual(detail === undefined ? undefined : [detail])
    })
  }

  test('every bad field at once, each by its path', async () => {
    const { error } = await api.post('/tx/hedge/deposit', {
      chainId: 1,
      eventId: -1,
      amount: '0x1',
      memo: '',
      from: 'me',
    })
    expect(error?.details?.map(({ path }) => path).sort()).toEqual(['amount', 'chainId', 'eventId', 'from', 'memo'])
  })
})

describe('with nothing in reach', () => {
  test.each([
    '/hedge/fees',
    '/hedge/paused/56',
    '/hedge/events/8453/total',
    '/hedge/events/8453/1',
    '/hedge/positions/56/1',
    '/hedge/deposits/8453/1/pending',
    '/hedge/events/8453/1/positions',
    `/hedge/deposits/8453/wallet/${wallet}`,
    '/hedge/quote-payout/8453/1?hypoSettlement=1&notional=1',
  ])('%s is 503 and tells when to come back', async (path) => {
    const { status, error, headers } = await api.get(path)
    expect([status, error?.code]).toEqual([503, 'service_unavailable'])
    expect(Number(headers['retry-after'])).toBeGreaterThan(0)
    expect(JSON.stringify([error, headers])).not.toMatch(/private-key|secret-password|127\.0\.0\.1/)
  })

  test('a broadcast is 503', async () => {
    expect((await api.post('/tx/broadcast', { chainId: 8453, signedTx: '0x02' })).status).toBe(503)
  })

  test('the chains and the builders answer all the same', async () => {
    expect((await api.get('/chains')).headers['x-data-source']).toBe('static')
    const { status, data } = await api.post('/tx/hedge/deposit', { chainId: 56, eventId: 1, amount: '5', from: wallet })
    expect(status).toBe(200)
    expect(data).toMatchObject({ function: 'deposit', args: { eventId: '1', amount: '5' }, estimatedGas: null })
  })

  test('the process is alive and not ready', async () => {
    expect((await api.app.inject('/livez')).statusCode).toBe(200)
    const ready = await api.app.inject('/readyz')
    expect(ready.statusCode).toBe(503)
    expect(ready.json()).toMatchObject({ error: { code: 'service_unavailable' } })
  })
})

describe('every response', () => {
  test('keeps a sane request id and replaces another', async () => {
    expect((await api.get('/chains', { 'x-request-id': 'mine-1.a:b' })).headers['x-request-id']).toBe('mine-1.a:b')
    for (const insane of ['', 'a b', 'x'.repeat(129), '<script>']) {
      expect((await api.get('/chains', { 'x-request-id': insane })).headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
    }
    expect((await api.get('/hedge/events/8453/%zz', { 'x-request-id': 'mine' })).headers['x-request-id']).toBe('mine')
  })

  test('to HEAD is that to GET without its body', async () => {
    const [head, get] = await Promise.all([
      api.app.inject({ method: 'HEAD', url: '/v1/chains' }),
      api.app.inject({ method: 'GET', url: '/v1/chains' }),
    ])
    expect([head.statusCode, head.body]).toEqual([200, ''])
    expect(head.headers['content-length']).toBe(get.headers['content-length'])
  })

  test('to a preflight lets any page call', async () => {
    const { statusCode, headers } = await api.app.inject({
      method: 'OPTIONS',
      url: '/v1/tx/hedge/deposit',
      headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
    })
    expect(statusCode).toBe(204)
    expect(headers).toMatchObject({ 'access-control-allow-origin': '*', 'access-control-allow-methods': /POST/ })
  })
})

describe('a crash', () => {
  test('tells nothing but the request, and the log has the rest without a secret', async () => {
    const lines: string[] = []
    const broken = await openApp({ log: pino({ level: 'info' }, { write: (line) => lines.push(line) }) })
    broken.app.get('/v1/crash', () => {
      throw new Error('the inside of the machine')
    })
    try {
      const secrets = { authorization: 'Bearer secret-token', 'x-request-id': 'crash-1' }
      const { status, error } = await broken.get('/crash?key=secret-query', secrets)
      expect([status, error]).toEqual([500, { code: 'internal_error', message: 'internal error, request crash-1' }])
      await broken.get('/hedge/fees', secrets)
      await broken.get(`/hedge/deposits/8453/wallet/${wallet}`, secrets)
    } finally {
      await broken.close()
    }
    const logged = lines.map((line) => JSON.parse(line))
    expect(logged).toContainEqual(expect.objectContaining({ requestId: 'crash-1', status: 500, route: '/v1/crash' }))
    expect(logged).toContainEqual(
      expect.objectContaining({ err: expect.objectContaining({ message: 'the inside of the machine' }) }),
    )
    expect(lines.join('')).not.toMatch(/private-key|secret-password|secret-token|secret-query/)
  })
})

describe('over a real socket', () => {
  /** What the server writes to bytes that no client library would send. */
  const exchange = async (bytes: string): Promise<string> => {
    const address = api.app.server.address()
    if (address === null || typeof address === 'string') throw new Error('the app does not listen')
    const socket = connect(address.port, '127.0.0.1')
    socket.write(bytes)
    let answer = ''
    for await (const chunk of socket) answer += chunk
    return answer
  }
  beforeAll(() => api.app.listen({ port: 0, host: '127.0.0.1' }))

  test.each([
    ['an overlong URL', `GET /v1/${'x'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 431],
    ['what is not HTTP', 'hello\r\n\r\n', 400],
  ])('%s has the envelope too', async (_, bytes, status) => {
    const [head = '', body = ''] = (await exchange(bytes)).split('\r\n\r\n')
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(head).toMatch(/\r\nx-request-id: \S/)
    expect(head).toMatch(/\r\naccess-control-allow-origin: \*/)
    expect(JSON.parse(body)).toMatchObject({ error: { code: 'validation_error' } })
  })
})
