import { ApiError, type Client, ConnectionError, createClient, formatAmount, parseAmount } from 'fx-protection-client'
import { afterEach, describe, expect, expectTypeOf, test } from 'vitest'
import { startPublisher } from '../support/publisher.ts'

type Publisher = Awaited<ReturnType<typeof startPublisher>>
type Answer = NonNullable<ReturnType<Parameters<typeof startPublisher>[0]>>

let server: Publisher | undefined
afterEach(async () => {
  await server?.close()
  server = undefined
})

/** A client of a server that gives these answers in turn, then the last one again. */
const clientOf = async (answers: readonly (Answer | undefined)[], options = {}) => {
  let at = 0
  const seen: string[] = []
  server = await startPublisher((_, headers) => {
    seen.push(String(headers['if-none-match']))
    return answers[Math.min(at++, answers.length - 1)]
  })
  return { client: createClient({ baseUrl: server.url, ...options }), asked: server.asked, seen }
}

const success = { body: '{"data":[]}' }
const failed = (status: number, code: string, headers = {}): Answer => ({
  ...{ status, headers: { 'x-request-id': 'abc', ...headers } },
  body: JSON.stringify({ error: { code, message: 'why' } }),
})
const busy = failed(503, 'service_unavailable', { 'retry-after': '0' })
const broadcast = { chainId: 1, signedTx: '0x00' }

describe('amounts', () => {
  test.each([
    [1_500_000n, 6, '1.5'],
    [0n, 18, '0'],
    [-1n, 6, '-0.000001'],
    [12n, 0, '12'],
    [2n ** 70n, 18, '1180.591620717411303424'],
  ])('%s units with %i decimals are written as %s, and read again', (amount, decimals, text) => {
    expect(formatAmount(amount, decimals)).toBe(text)
    expect(parseAmount(text, decimals)).toBe(amount)
  })

  test.each(['', '1,5', '1e3', '0x10', '.5', '1.1234567'])('%j is not an amount of a token with 6 decimals', (text) => {
    expect(() => parseAmount(text, 6)).toThrow(RangeError)
  })
})

describe('retries', () => {
  test.each([
    ['503', busy],
    ['429', failed(429, 'rate_limited', { 'retry-after': '0' })],
    ['a 502 of a proxy', { status: 502, body: '<html>' }],
  ])('a read is repeated after %s', async (_, answer) => {
    const { client, asked } = await clientOf([answer, success])
    expect((await client.get('/v1/chains')).data).toEqual([])
    expect(asked).toEqual(['/v1/chains', '/v1/chains'])
  })

  test('a broadcast is repeated after a 503, since a known transaction answers 200', async () => {
    const { client, asked } = await clientOf([busy, { body: '{"data":{"txHash":"0x1"}}' }])
    expect((await client.post('/v1/tx/broadcast', broadcast)).data.txHash).toBe('0x1')
    expect(asked).toHaveLength(2)
  })

  test.each([
    ['400', failed(400, 'validation_error')],
    ['502 of the API', failed(502, 'upstream_error')],
    ['503 with a long pause', failed(503, 'service_unavailable', { 'retry-after': '3600' })],
  ])('a request is not repeated after a %s', async (_, answer) => {
    const { client, asked } = await clientOf([answer])
    const error = await client.post('/v1/tx/broadcast', broadcast).catch((fault: unknown) => fault)
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ status: answer.status, requestId: 'abc' })
    expect(asked).toHaveLength(1)
  })

  test('the pause of Retry-After is waited, and the last failure is thrown', async () => {
    const { client, asked } = await clientOf([failed(503, 'service_unavailable', { 'retry-after': '1' })], {
      attempts: 2,
    })
    const began = performance.now()
    await expect(client.get('/v1/chains')).rejects.toMatchObject({ code: 'service_unavailable', retryAfterMs: 1_000 })
    expect(performance.now() - began).toBeGreaterThan(990)
    expect(asked).toHaveLength(2)
  })
})

describe('deadlines', () => {
  test('a request without a response ends after the time-out, with a request id', async () => {
    const { client } = await clientOf([undefined], { timeoutMs: 50, attempts: 1 })
    const error = await client.get('/v1/chains').catch((fault: unknown) => fault)
    expect(error).toBeInstanceOf(ConnectionError)
    expect(error).toMatchObject({ code: 'timeout', requestId: expect.stringMatching(/^[\w-]{36}$/) })
  })

  test('a request ends with its signal and is not repeated', async () => {
    const { client, asked } = await clientOf([undefined])
    const controller = new AbortController()
    const answer = client.get('/v1/chains', {}, { signal: controller.signal })
    await expect.poll(() => asked.length).toBe(1)
    controller.abort()
    await expect(answer).rejects.toMatchObject({ name: 'AbortError' })
    expect(asked).toHaveLength(1)
  })

  test('an address without a server is an error with a hint', async () => {
    const client = createClient({ baseUrl: 'http://127.0.0.1:9', attempts: 1 })
    await expect(client.get('/v1/chains')).rejects.toMatchObject({
      ...{ code: 'network_error', hint: expect.any(String), requestId: expect.any(String) },
    })
  })
})

describe('numeric options', () => {
  const notMs = [0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, '5' as never, null as never]

  test.each(notMs)('a time-out of %s is refused by the client and by each request', async (timeoutMs) => {
    const { client, asked } = await clientOf([success])
    const refusal = { code: 'invalid_options', message: expect.stringMatching(/^timeoutMs: .*from 1 to 2147483647/) }
    expect(() => createClient({ baseUrl: 'http://127.0.0.1:9', timeoutMs })).toThrow(expect.objectContaining(refusal))
    await expect(client.get('/v1/chains', {}, { timeoutMs })).rejects.toMatchObject(refusal)
    await expect(client.post('/v1/tx/broadcast', broadcast, { timeoutMs })).rejects.toMatchObject(refusal)
    expect(asked).toEqual([])
  })

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 1_001])(
    '%s attempts are refused by the client and by each request',
    async (attempts) => {
      const { client, asked } = await clientOf([success])
      const refusal = { code: 'invalid_options', message: expect.stringMatching(/^attempts: .*from 1 to 1000/) }
      expect(() => createClient({ baseUrl: 'http://127.0.0.1:9', attempts })).toThrow(expect.objectContaining(refusal))
      await expect(client.get('/v1/chains', {}, { attempts })).rejects.toMatchObject(refusal)
      expect(asked).toEqual([])
    },
  )

  test('the longest time-out, with a wait on top of it, does not end a request at once', async () => {
    const { client } = await clientOf([{ body: '{"data":{}}' }], { timeoutMs: 2 ** 31 - 1, attempts: 1 })
    const wait = { chainId: 1, hash: `0x${'11'.repeat(32)}`, waitMs: 30_000 } as const
    expect((await client.get('/v1/transactions/{chainId}/{hash}', wait)).data).toEqual({})
    // The service rejects a wait that is none.
    const nonsense = { ...wait, waitMs: Number.NaN }
    expect((await client.get('/v1/transactions/{chainId}/{hash}', nonsense)).data).toEqual({})
  })

  test.each(notMs)('a confirmation time of %s is refused before anything is read or sent', async (confirmationMs) => {
    const { client, asked } = await clientOf([success])
    const refusal = { code: 'invalid_options', message: expect.stringMatching(/^confirmationMs: /) }
    const hash = `0x${'11'.repeat(32)}`
    await expect(client.waitForTransaction(1, hash, { confirmationMs })).rejects.toMatchObject(refusal)
    const wallet = { request: () => expect.unreachable(), sendTransaction: () => expect.unreachable() }
    await expect(client.execute({} as never, wallet, { confirmationMs })).rejects.toMatchObject(refusal)
    expect(asked).toEqual([])
  })

  test('a hash that has another form is refused before it is waited for', async () => {
    const { client, asked } = await clientOf([success])
    await expect(client.waitForTransaction(1, '0x12')).rejects.toMatchObject({ code: 'invalid_options' })
    expect(asked).toEqual([])
  })
})

describe('headers', () => {
  /** What a client sends with a POST. */
  const sentWith = async (options: object, call: object) => {
    const seen: [string, string][][] = []
    const fetch = async (_: unknown, init?: RequestInit): Promise<Response> => {
      // As they go over the wire: names that differ in their case are joined.
      seen.push([...new Headers(init?.headers)])
      return Response.json({ data: {} })
    }
    const client = createClient({ baseUrl: 'http://127.0.0.1:9', fetch, ...options })
    await client.post('/v1/tx/broadcast', broadcast, call)
    return Object.fromEntries(seen[0] ?? [])
  }

  test('of one name in any letter case, the most specific one is sent', async () => {
    const headers = { 'Content-Type': 'application/json', 'X-Request-Id': 'of-client', Authorization: 'Bearer 1' }
    expect(await sentWith({ headers }, {})).toEqual({
      ...{ accept: 'application/json', 'content-type': 'application/json' },
      ...{ 'x-request-id': 'of-client', authorization: 'Bearer 1' },
    })
    const call = { headers: { 'x-REQUEST-id': 'of-call', AUTHORIZATION: 'Bearer 2' } }
    expect(await sentWith({ headers }, call)).toMatchObject({ 'x-request-id': 'of-call', authorization: 'Bearer 2' })
    expect(await sentWith({ headers: new Headers(headers) }, call)).toMatchObject({
      ...{ 'content-type': 'application/json', 'x-request-id': 'of-call', authorization: 'Bearer 2' },
    })
    expect(await sentWith({ headers: { ACCEPT: 'application/problem+json' } }, {})).toMatchObject({
      accept: 'application/problem+json',
    })
  })

  test('of one name that is given twice, the last one is sent, and none without a value', async () => {
    const headers = { authorization: 'Bearer 1', Authorization: 'Bearer 2', 'X-Extra': undefined }
    const sent = await sentWith({ headers }, {})
    expect([sent.authorization, sent['x-extra']]).toEqual(['Bearer 2', undefined])
  })

  test('an error has the request id that was sent', async () => {
    const client = createClient({ baseUrl: 'http://127.0.0.1:9', attempts: 1, headers: { 'X-Request-Id': 'mine' } })
    await expect(client.get('/v1/chains')).rejects.toMatchObject({ requestId: 'mine' })
    await expect(client.get('/v1/chains', {}, { headers: { 'x-request-ID': 'of-call' } })).rejects.toMatchObject({
      requestId: 'of-call',
    })
  })

  test('a stream is asked for as one, whatever the application accepts', async () => {
    const accepted: (string | null)[] = []
    const stop = new AbortController()
    const fetch = async (_: unknown, init?: RequestInit): Promise<Response> => {
      accepted.push(new Headers(init?.headers).get('accept'))
      stop.abort()
      throw new TypeError('fetch failed')
    }
    const client = createClient({ baseUrl: 'http://127.0.0.1:9', fetch, headers: { Accept: 'application/json' } })
    for await (const _ of client.settlements.follow({ signal: stop.signal })) expect.unreachable()
    expect(accepted).toEqual(['text/event-stream'])
  })
})

describe('requests', () => {
  test('a response with an ETag is returned again after a 304, unless the cache is off', async () => {
    const tagged = { headers: { etag: '"7"' }, body: '{"data":{"creationFee":"5"}}' }
    const cached = await clientOf([tagged, { status: 304, headers: { etag: '"7"' }, body: '' }], { cache: true })
    const first = await cached.client.get('/v1/hedge/fees', { chainId: 1 })
    const second = await cached.client.get('/v1/hedge/fees', { chainId: 1 })
    expect([first.data.creationFee, second.data]).toEqual([5n, first.data])
    expect(cached.seen).toEqual(['undefined', '"7"'])
    await server?.close()
    const plain = await clientOf([tagged])
    for (let times = 0; times < 2; times += 1) await plain.client.get('/v1/hedge/fees')
    expect(plain.seen).toEqual(['undefined', 'undefined'])
  })

  test('parameters fill the path and the query, and a list is sent with commas', async () => {
    const { client, asked } = await clientOf([{ body: '{"data":[],"meta":{}}' }])
    await client.get('/v1/hedge/events/{chainId}/{id}/positions', { chainId: 56, id: 7, limit: 2 })
    await client.get('/v1/hedge/positions', { wallet: ['0xA', '0xB'], chainId: [56, 8453] })
    expect(asked).toEqual([
      '/v1/hedge/events/56/7/positions?limit=2',
      '/v1/hedge/positions?wallet=0xA,0xB&chainId=56,8453',
    ])
  })

  test('the values of a parameter with fixed ones are a type, as one text or as a list', () => {
    type Include = NonNullable<NonNullable<Parameters<Client['positions']['list']>[0]>['include']>
    expectTypeOf<'payout' | 'event,stats' | ('event' | 'payout')[]>().toExtend<Include>()
    expectTypeOf<'payuot'>().not.toExtend<Include>()
    expectTypeOf<'evnt,stats'>().not.toExtend<Include>()
    expectTypeOf<'evnt'[]>().not.toExtend<Include>()
  })
})
