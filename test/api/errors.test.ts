import { connect } from 'node:net'
import type { InjectOptions } from 'fastify'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { envelope } from '../../src/api/operation.ts'
import type { ErrorCode } from '../../src/lib/errors.ts'
import { openApp } from '../support/app.ts'

// No node and no database is in reach here: nothing below needs one to be refused.
let api: Awaited<ReturnType<typeof openApp>>
beforeAll(async () => {
  api = await openApp({})
})
afterAll(() => api.close())

const wallet = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const digest = `0x${'5f'.repeat(32)}`

type Request = InjectOptions & { readonly url: string }
type Case = readonly [name: string, request: Request, status: number, code: ErrorCode, ...details: string[]]

const get = (path: string, headers: Record<string, string> = {}): Request => ({ url: `/v1${path}`, headers })
const post = (path: string, payload: NonNullable<InjectOptions['payload']>, type = 'application/json'): Request => ({
  method: 'POST',
  url: `/v1${path}`,
  headers: { 'content-type': type },
  payload,
})
const bad = (name: string, request: Request, ...details: string[]): Case => [
  name,
  request,
  400,
  'validation_error',
  ...details,
]
const unknown = (name: string, request: Request): Case => [name, request, 404, 'not_found']

const deposit = { chainId: 8453, eventId: '1', amount: '1' }
const approval = { chainId: 8453, token: wallet, spender: wallet, amount: '1' }
const cut = { facetAddress: wallet, action: 3, functionSelectors: ['0x010203', '0x01020304'] }
const terms = {
  pair: 'USD/GHS',
  strike: 12,
  payoutCap: 13.5,
  expiryUnixSeconds: 4_000_000_000,
  notional: 10_000,
  strikeAbove: true,
}
const upgrade = { chainId: 56, cuts: [cut], init: wallet, initData: '0x123' }
const large = { ...deposit, amount: '1'.repeat(65_536) }
const misspelt = wallet.replace('0xf', '0xF')
const selectors = Array(500).fill('0x01020304')
const crowded = {
  ...{ chainId: 56, init: wallet, initData: '0x' },
  cuts: Array(10).fill({ facetAddress: wallet, action: 0, functionSelectors: selectors }),
}
const event = {
  ...{ chainId: 8453, name: 'Cedi', underlying: 'USD/GHS', strike: '1', payoutCap: '2', premiumRate: '1', expiry: '1' },
  ...{ allowExternalLp: true, initialLiquidity: '1', initialRate: '1', strikeAbove: true, paymentToken: wallet },
  ...{ signature: '0x', quoteTimestamp: '0', quoteNonce: digest },
}
const broadcast = (signedTx: unknown) => post('/tx/broadcast', { chainId: 8453, signedTx })
const list = (query: string) => get(`/hedge/creators/56/wallet/${wallet}?${query}`)
const quote = (query: string) => get(`/hedge/quote-payout/8453/1?${query}`)

const cases: readonly Case[] = [
  unknown('an unknown route', get('/nothing')),
  unknown('a path outside the version', { url: '/hedge/fees' }),
  unknown('a version that is not there', { url: '/v2/hedge/fees' }),
  unknown('a route below a read', get('/hedge/events/8453/1/nothing')),
  unknown('a read with two slashes too many', get('/chains//')),
  unknown('a POST to a read', post('/chains', {})),
  unknown('a GET of a builder', get('/tx/hedge/deposit')),
  unknown('a PUT', { ...post('/tx/hedge/deposit', deposit), method: 'PUT' }),
  unknown('a DELETE', { method: 'DELETE', url: '/v1/chains' }),

  bad('bad percent-encoding', get('/hedge/events/8453/%zz'), 'url'),
  bad('half a character, encoded', get('/hedge/events/8453/%e0%a4'), 'url'),
  bad('an unsupported chain', get('/hedge/events/1/1'), 'chainId'),
  bad('a chain in hex', get('/hedge/events/0x2105/1'), 'chainId'),
  bad('a chain with leading text', get('/oracle/config/+8453'), 'chainId'),
  bad('a chain of 400 digits', get(`/hedge/paused/${'8'.repeat(400)}`), 'chainId'),
  bad('an unsupported chain by query', get('/hedge/fees?chainId=1'), 'chainId'),
  bad('two chains by query', get('/hedge/fees?chainId=56&chainId=8453'), 'chainId'),
  bad('an empty chain in the query', get('/governance/owner?chainId='), 'chainId'),
  bad('a chain of blanks by query', get('/governance/facets?chainId=%208453'), 'chainId'),
  bad('a negative id', get('/hedge/events/8453/-1'), 'id'),
  bad('a fractional id', get('/hedge/positions/8453/5.0'), 'id'),
  bad('an exponent for an id', get('/hedge/deposits/8453/1e1'), 'id'),
  bad('an id of one space', get('/hedge/deposits/8453/%20'), 'id'),
  unknown('no id', get('/hedge/deposits/8453/')),
  bad('an id past 2^53 - 1', get('/hedge/events/8453/9007199254740992/stats'), 'id'),
  bad('an id of 5,000 digits', get(`/hedge/events/8453/${'9'.repeat(5_000)}`), 'id'),
  bad('an id in other digits', get(`/hedge/events/8453/${encodeURIComponent('\u0661')}`), 'id'),
  bad('a word for an id', get('/hedge/deposits/8453/first/pending'), 'id'),
  bad("a bad id of an event's submissions", get('/oracle/submissions/8453/0x1'), 'eventId'),
  bad('a short address', get('/hedge/positions/8453/wallet/0x1234'), 'addr'),
  bad('an address without 0x', get(`/hedge/deposits/8453/wallet/${wallet.slice(2)}`), 'addr'),
  bad('an address that is not hex', get(`/hedge/creators/56/wallet/${wallet.slice(0, -1)}g`), 'addr'),
  bad('a short proposal', get(`/governance/proposals/8453/${digest.slice(0, -1)}`), 'proposalId'),
  bad('a long proposal', get(`/governance/proposals/8453/${digest}5f`), 'proposalId'),
  bad('a proposal without 0x', get(`/governance/proposals/8453/${digest.slice(2)}`), 'proposalId'),
  bad('everything bad in a path', get('/hedge/events/1/x/stats'), 'chainId', 'id'),
  bad('a limit of 0', list('limit=0'), 'limit'),
  bad('a limit past the longest list', list('limit=10001'), 'limit'),
  bad('a negative limit', list('limit=-1'), 'limit'),
  bad('two limits', list('limit=1&limit=2'), 'limit'),
  bad('a damaged cursor', list('cursor=abc'), 'cursor'),
  bad('an empty cursor', list('cursor='), 'cursor'),
  bad('a quote without notional', quote('hypoSettlement=1'), 'notional'),
  bad('a quote of nothing', quote(''), 'hypoSettlement', 'notional'),
  bad('a quote of a fraction', quote('hypoSettlement=1.5&notional=1'), 'hypoSettlement'),
  bad('a quote of a negative notional', quote('hypoSettlement=1&notional=-1'), 'notional'),
  bad('a quote of 2^256', quote(`hypoSettlement=1&notional=${2n ** 256n}`), 'notional'),

  bad('a quote on no terms', post('/pricing/quote', {}), ...Object.keys(terms)),
  bad('a quote of an unknown pair', post('/pricing/quote', { ...terms, pair: 'USDGHS' }), 'pair'),
  bad('a strike as text', post('/pricing/quote', { ...terms, strike: '12' }), 'strike'),
  bad(
    'a quote to sign without diamond and creator',
    post('/pricing/quote', { ...terms, chainId: 56 }),
    'diamondAddress',
    'creator',
  ),

  bad('no body', { method: 'POST', url: '/v1/tx/hedge/deposit' }, 'body'),
  bad('an empty body', post('/tx/hedge/deposit', ''), 'body'),
  bad('a list for a body', post('/tx/hedge/deposit', []), 'body'),
  bad('a text for a body', post('/tx/hedge/deposit', '"x"'), 'body'),
  bad('null for a body', post('/tx/hedge/deposit', 'null'), 'body'),
  bad('malformed JSON', post('/tx/hedge/deposit', '{"a":'), 'body'),
  bad('a prototype', post('/tx/hedge/deposit', '{"__proto__":{}}'), 'body'),
  bad('an empty object', post('/tx/hedge/deposit', {}), 'chainId', 'eventId', 'amount'),
  bad('an unknown field', post('/tx/hedge/deposit', { ...deposit, memo: '' }), 'memo'),
  bad('an unsupported chain in a body', post('/tx/hedge/pause', { chainId: 1 }), 'chainId'),
  bad('a chain in hex in a body', post('/tx/hedge/pause', { chainId: '0x2105' }), 'chainId'),
  bad('a negative amount', post('/tx/erc20/approve', { ...approval, amount: '-1' }), 'amount'),
  bad('a malformed address', post('/tx/erc20/approve', { ...approval, spender: '0x12' }), 'spender'),
  bad('2^256', post('/tx/hedge/deposit', { ...deposit, amount: `${2n ** 256n}` }), 'amount'),
  bad('an amount as a JSON number', post('/tx/hedge/deposit', { ...deposit, amount: 1 }), 'amount'),
  bad('a malformed wallet to estimate for', post('/tx/hedge/deposit', { ...deposit, from: 'me' }), 'from'),
  bad('a malformed bytes32', post('/tx/governance/execute-cut', { chainId: 56, proposalId: '0x5f' }), 'proposalId'),
  bad(
    'an upgrade with an action past 2, a short selector and half a byte',
    post('/tx/governance/diamond-cut', upgrade),
    'cuts.0.action',
    'cuts.0.functionSelectors.0',
    'initData',
  ),
  bad(
    'every field of a body, each by its path',
    post('/tx/hedge/deposit', { chainId: 1, eventId: -1, amount: '0x1', memo: '', from: 'me' }),
    'chainId',
    'eventId',
    'amount',
    'from',
    'memo',
  ),
  bad('an address with a wrong checksum', post('/tx/erc20/approve', { ...approval, token: misspelt }), 'token'),
  bad('101 cuts', post('/tx/governance/diamond-cut', { ...upgrade, cuts: Array(101).fill({}) }), 'cuts', 'initData'),
  bad('more selectors than a transaction can hold', post('/tx/governance/diamond-cut', crowded), 'cuts'),
  bad('101 wallets', post('/wallets/portfolio', { wallets: Array(101).fill(wallet) }), 'wallets'),
  bad('a name of 257 characters', post('/tx/hedge/create-event', { ...event, name: 'n'.repeat(257) }), 'name'),
  bad('a transaction that is not hex', broadcast('0xzz'), 'signedTx'),
  bad('an empty transaction', broadcast('0x'), 'signedTx'),
  bad('a transaction that is no text', broadcast(1), 'signedTx'),

  ['text for JSON', post('/tx/hedge/deposit', 'x', 'text/plain'), 415, 'validation_error', 'body'],
  ['a form', post('/tx/hedge/deposit', 'a=1', 'application/x-www-form-urlencoded'), 415, 'validation_error', 'body'],
  ['a content type that is none', post('/tx/hedge/deposit', '{}', 'json'), 415, 'validation_error', 'body'],
  ['more than 64 KB', post('/tx/hedge/deposit', large), 413, 'validation_error', 'body'],
  ['a parameter past any length', get(`/hedge/events/8453/${'9'.repeat(20_000)}`), 414, 'validation_error', 'url'],

  ['no credentials', get('/me'), 401, 'unauthorized'],
  ['another scheme than a bearer', get('/me', { authorization: 'Basic YTpi' }), 401, 'unauthorized'],
  ['an empty bearer', get('/me', { authorization: 'Bearer ' }), 401, 'unauthorized'],
  ['a bearer without a configured provider', get('/me', { authorization: 'Bearer abc' }), 503, 'service_unavailable'],

  ['a read without any source', get('/hedge/fees'), 503, 'service_unavailable'],
  ['a list without any source', get('/hedge/events/8453/1/positions'), 503, 'service_unavailable'],
  ['a read of the chain alone without it', get('/oracle/config/56'), 503, 'service_unavailable'],
  ['a relay without a node', broadcast('0x02'), 503, 'service_unavailable'],
  ['a crash', get('/crash'), 500, 'internal_error'],
  ['an answer that misses its schema', get('/misfit'), 500, 'internal_error'],
]

describe('the error has the envelope, its code and the invalid fields for', () => {
  beforeAll(() => {
    api.app.get('/v1/crash', () => {
      throw new Error('the inside of the machine')
    })
    const schema = { response: { 200: envelope(z.object({ at: z.string() })) } }
    api.app.get('/v1/misfit', { schema }, async () => ({ data: {} }))
  })

  // The client checks every answer for what all errors have: the envelope, a request id, CORS headers, and
  // `Retry-After` on a 503.
  for (const [name, request, status, code, ...details] of cases) {
    test(name, async () => {
      const answer = await api.send(request)
      expect([answer.status, answer.error?.code]).toEqual([status, code])
      expect(answer.error?.details?.map(({ path }) => path)).toEqual(details.length > 0 ? details : undefined)
    })
  }

  test.each([
    ['PUT', '/chains', 'GET, HEAD'],
    ['DELETE', '/hedge/events/8453/1/', 'GET, HEAD'],
    ['GET', '/tx/hedge/deposit', 'POST'],
    ['POST', '/hedge/settlements/stream?since=now', 'GET, HEAD'],
  ] as const)('%s %s is a 404 that names the methods of the path', async (method, path, methods) => {
    const { status, error, headers } = await api.send({ method, url: `/v1${path}` })
    expect([status, error?.code, headers.allow]).toEqual([404, 'not_found', methods])
    expect(error?.message).toMatch(new RegExp(`^no route ${method} /v1/.*: the path takes ${methods}$`))
  })

  test('a path that no method takes is a 404 without methods', async () => {
    const { status, error, headers } = await api.get('/hedge/nothing')
    expect([status, error?.message, headers.allow]).toEqual([404, 'no route GET /v1/hedge/nothing', undefined])
  })

  test('an unknown field of a body is refused with the name that may be meant, at any depth', async () => {
    const { error } = await api.send(
      post('/tx/governance/diamond-cut', {
        ...{ chainId: 56, cuts: [{ facetAdress: wallet, action: 0, functionSelectors: [] }] },
        ...{ init: wallet, initdata: '0x', initData: '0x', memo: 1 },
      }),
    )
    expect(error?.details).toEqual(
      expect.arrayContaining([
        { path: 'cuts.0.facetAdress', message: "unknown field; did you mean 'facetAddress'?" },
        { path: 'initdata', message: "unknown field; did you mean 'initData'?" },
        { path: 'memo', message: 'unknown field' },
      ]),
    )
    const { error: plan } = await api.send(post('/plans/claim-payout', { chainId: 56, from: wallet, positonId: 1 }))
    expect(plan?.details).toContainEqual({ path: 'positonId', message: "unknown field; did you mean 'positionId'?" })
  })

  test('an unsupported chain names the supported ones', async () => {
    expect((await api.get('/hedge/events/1/1')).error?.message).toMatch(/8453.*56/)
  })

  test.each(['0', '10001', '9'.repeat(400), '1.5', 'ten', ''])(
    'a limit of %j names the field and its range',
    async (limit) => {
      const { error } = await api.send(list(`limit=${limit}`))
      expect(error?.message).toBe('limit: expected an integer from 1 to 10000')
    },
  )
})

describe('without database, nodes and engine', () => {
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
  ])('%s is a 503 with Retry-After', async (path) => {
    const { status, error, headers } = await api.get(path)
    expect([status, error?.code]).toEqual([503, 'service_unavailable'])
    expect(Number(headers['retry-after'])).toBeGreaterThan(0)
    expect(JSON.stringify([error, headers])).not.toMatch(/private-key|secret-password|127\.0\.0\.1/)
  })

  test('a broadcast is a 503', async () => {
    expect((await api.post('/tx/broadcast', { chainId: 8453, signedTx: '0x02' })).status).toBe(503)
  })

  test('a quote is a 503', async () => {
    for (const path of ['/pricing/health', '/pricing/signer']) expect((await api.get(path)).status).toBe(503)
    const { status, error } = await api.post('/pricing/quote', terms)
    expect([status, error?.code]).toEqual([503, 'service_unavailable'])
  })

  test('the chains and the builders still answer', async () => {
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
  test('keeps a valid request id and replaces an invalid one', async () => {
    expect((await api.get('/chains', { 'x-request-id': 'mine-1.a:b' })).headers['x-request-id']).toBe('mine-1.a:b')
    for (const insane of ['', 'a b', 'x'.repeat(129), '<script>']) {
      expect((await api.get('/chains', { 'x-request-id': insane })).headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
    }
    expect((await api.get('/hedge/events/8453/%zz', { 'x-request-id': 'mine' })).headers['x-request-id']).toBe('mine')
  })

  test('forbids browsers to load resources, frame the page and guess the type', async () => {
    for (const path of ['/chains', '/nothing']) {
      expect((await api.get(path)).headers).toMatchObject({
        'content-security-policy': "default-src 'none';frame-ancestors 'none'",
        'strict-transport-security': expect.stringContaining('max-age='),
        'x-content-type-options': 'nosniff',
        'cross-origin-resource-policy': 'cross-origin',
      })
    }
  })

  test('to a HEAD equals that to the GET, without its body', async () => {
    const [head, get] = await Promise.all([
      api.app.inject({ method: 'HEAD', url: '/v1/chains' }),
      api.app.inject({ method: 'GET', url: '/v1/chains' }),
    ])
    expect([head.statusCode, head.body]).toEqual([200, ''])
    expect(head.headers['content-length']).toBe(get.headers['content-length'])
  })

  test('to a preflight allows any page to call the API', async () => {
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
  test('is reported with the request id only, and the log has the cause without secrets', async () => {
    const lines: string[] = []
    const broken = await openApp({ log: pino({ level: 'info' }, { write: (line) => lines.push(line) }) })
    broken.app.get('/v1/crash', () => {
      throw new Error('the inside of the machine')
    })
    try {
      const secrets = { authorization: 'Bearer secret-token', 'x-request-id': 'crash-1' }
      const { status, error } = await broken.get('/crash?_key=secret-query', secrets)
      expect([status, error]).toEqual([500, { code: 'internal_error', message: 'internal error, request crash-1' }])
      await broken.get('/hedge/fees', secrets)
      await broken.get(`/hedge/deposits/8453/wallet/${wallet}`, secrets)
    } finally {
      await broken.close()
    }
    const logged = lines.flatMap((text) => text.trim().split('\n')).map((line) => JSON.parse(line))
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
