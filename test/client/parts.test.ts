import { ApiError, ConnectionError, createClient, FxProtectionError, ReorgError } from 'fx-protection-client'
import { describe, expect, test } from 'vitest'
import { waitForTransaction } from '../../client/src/confirm.ts'
import { isErrorBody, isPassing, optionError } from '../../client/src/errors.ts'
import { planPaths } from '../../client/src/names.generated.ts'
import type { Requests } from '../../client/src/requests.ts'
import { blockAt, CHAIN, hashOf, transactionOf } from '../support/memory-chain.ts'

/* Errors of the client, and which request each of its functions makes. */

describe('an error', () => {
  test('has its class as name, its code, its hint and its cause', () => {
    const cause = new Error('why')
    const error = new ConnectionError('no answer', { code: 'timeout', hint: 'Again.', requestId: 'a', cause })
    expect(error).toMatchObject({ name: 'ConnectionError', code: 'timeout', hint: 'Again.', requestId: 'a', cause })
    expect([error.message, error instanceof FxProtectionError]).toEqual(['no answer', true])
    expect('cause' in new FxProtectionError('no answer', { code: 'x' })).toBe(false)
    expect(optionError('limit: wrong')).toMatchObject({
      ...{ name: 'FxProtectionError', code: 'invalid_options', message: 'limit: wrong' },
      hint: expect.stringMatching(/options/),
    })
  })

  const given = { status: 429, requestId: 'b', retryAfterMs: 5_000 }
  const details = [{ path: 'limit', message: 'too many' }]

  test('of the API has the fields of the response, and what to do about its code', () => {
    const error = new ApiError({ code: 'rate_limited', message: 'slowly', details }, given)
    expect(error).toMatchObject({ name: 'ApiError', code: 'rate_limited', details, ...given })
    expect([error.message, error.hint]).toEqual(['429 rate_limited: slowly', expect.stringMatching(/retryAfterMs/)])
    expect(new ApiError({ code: 'not_found', message: 'none' }, { ...given, status: 404 }).details).toEqual([])
  })

  test.each([
    [429, true],
    [428, false],
    [499, false],
    [500, true],
    [503, true],
  ])('of the API with the status %i may pass: %s', (status, passes) => {
    expect(isPassing(new ApiError({ code: 'internal_error', message: '' }, { ...given, status }))).toBe(passes)
  })

  test('of the connection may pass, and no other one', () => {
    expect(isPassing(new ConnectionError('', { code: 'network_error' }))).toBe(true)
    for (const other of [new FxProtectionError('', { code: 'reorg' }), new TypeError(''), undefined])
      expect(isPassing(other)).toBe(false)
  })

  test.each([
    [{ error: { code: 'conflict' } }, true],
    [{ error: { code: 7 } }, false],
    [{ error: {} }, false],
    [{ error: null }, false],
    [{}, false],
    [null, false],
    ['<html>', false],
  ])('%j is a body of the API: %s', (body, isBody) => expect(isErrorBody(body)).toBe(isBody))

  test('of a reorg names the block and the chain', () => {
    const reorg = { type: 'reorg', chainId: 56, blockNumber: 9, blockHash: '0x1', rowsBefore: 3 } as const
    const error = new ReorgError(reorg)
    expect(error).toMatchObject({ name: 'ReorgError', code: 'reorg', reorg })
    expect(error.message).toBe('a reorg of chain 56 removed blocks up to block 9, which the list is as of')
  })
})

/** A client, and the requests that it makes: method, path with query, and body. */
const recording = (answer: object = { data: [], meta: { nextCursor: null } }) => {
  const sent: unknown[][] = []
  const fetch = async (url: unknown, init?: RequestInit): Promise<Response> => {
    const { pathname, search } = new URL(String(url))
    const headers = new Headers(init?.headers)
    const body = init?.body == null ? [] : [JSON.parse(String(init.body))]
    sent.push([init?.method ?? 'GET', pathname + search, ...body, ...[headers.get('x-mine') ?? []].flat()])
    return Response.json(answer)
  }
  return { client: createClient({ baseUrl: 'http://127.0.0.1:9', fetch }), sent }
}

const call = { headers: { 'x-mine': 'own' } }

test.each([
  ['events', '/v1/hedge/events'],
  ['positions', '/v1/hedge/positions'],
  ['deposits', '/v1/hedge/deposits'],
  ['activity', '/v1/activity'],
] as const)('the list of %s is that of its path, with options', async (name, path) => {
  const { client, sent } = recording()
  for await (const _ of client[name].list({ chainId: 56 })) expect.unreachable()
  for await (const _ of client[name].list()) expect.unreachable()
  for await (const _ of client[name].list({}, call)) expect.unreachable()
  for await (const _ of client.list(path, { chainId: 8453 }, call)) expect.unreachable()
  expect(sent).toEqual([
    ['GET', `${path}?limit=200&chainId=56`],
    ['GET', `${path}?limit=200`],
    ['GET', `${path}?limit=200`, 'own'],
    ['GET', `${path}?limit=200&chainId=8453`, 'own'],
  ])
})

test('each plan is a POST of its request to its path, with the options of the call', async () => {
  const { client, sent } = recording({ data: { action: 'of the service' } })
  for (const [action, path] of Object.entries(planPaths)) {
    const plan = client.plans[action as keyof typeof planPaths] as (...given: unknown[]) => Promise<unknown>
    expect(await plan({ chainId: 1n }, call)).toEqual({ action: 'of the service' })
    expect(sent.pop()).toEqual(['POST', path, { chainId: '1' }, 'own'])
  }
})

test('a POST has its body, its query and its options apart', async () => {
  const { client, sent } = recording({ data: [] })
  const query = { include: ['balances'] as const }
  await client.post('/v1/wallets/portfolio', { wallets: ['0x1'] }, { query: query as never, ...call })
  await client.post('/v1/wallets/portfolio', { wallets: ['0x2'] })
  expect(sent).toEqual([
    ['POST', '/v1/wallets/portfolio?include=balances', { wallets: ['0x1'] }, 'own'],
    ['POST', '/v1/wallets/portfolio', { wallets: ['0x2'] }],
  ])
})

test('a POST and a DELETE have the parameters of their path, and an operation on webhooks is sent once', async () => {
  const { client, sent } = recording({ data: {} })
  const params = { id: 'we_0123456789ab' }
  await client.post('/v1/webhooks/{id}/rotate', undefined, { params, query: { endPrevious: true }, ...call })
  await client.delete('/v1/webhooks/{id}', params, call)
  await client.delete('/v1/webhooks/{id}', params)
  expect(sent).toEqual([
    ['POST', `/v1/webhooks/${params.id}/rotate?endPrevious=true`, 'own'],
    ['DELETE', `/v1/webhooks/${params.id}`, 'own'],
    ['DELETE', `/v1/webhooks/${params.id}`],
  ])
  let attempts = 0
  const fetch = async () => {
    attempts += 1
    return Response.json({ error: { code: 'service_unavailable', message: 'none' } }, { status: 503 })
  }
  const failing = createClient({ baseUrl: 'http://127.0.0.1:9', fetch })
  const attemptsOf = async (request: () => Promise<unknown>): Promise<number> => {
    attempts = 0
    await request().catch(() => {})
    return attempts
  }
  expect(await attemptsOf(() => failing.post('/v1/webhooks/{id}/ping', undefined, { params }))).toBe(1)
  expect(await attemptsOf(() => failing.delete('/v1/webhooks/{id}', params))).toBe(1)
  expect(await attemptsOf(() => failing.delete('/v1/webhooks/{id}', params, { attempts: 2 }))).toBe(2)
})

describe('the wait for a transaction', () => {
  const hash = hashOf(0xa1)
  const done = transactionOf(hash, { status: 'succeeded', indexed: true, block: blockAt(101) })
  const apiOf = () => {
    const asked: unknown[] = []
    const get = async (...request: unknown[]) => {
      asked.push(request)
      return { data: done }
    }
    return { api: { get } as unknown as Requests, asked }
  }

  test('is for the hash on its chain, with its time and its signal', async () => {
    const { api, asked } = apiOf()
    const { signal } = new AbortController()
    expect(await waitForTransaction(api, CHAIN, hash, { confirmationMs: 1_000, signal })).toBe(done)
    const params = { chainId: CHAIN, hash, waitMs: expect.any(Number) }
    expect(asked).toEqual([['/v1/transactions/{chainId}/{hash}', params, { attempts: 1, signal }]])
    const [[, { waitMs }]] = asked as [[string, { waitMs: number }]]
    expect(waitMs).toBeLessThanOrEqual(1_000)
  })

  test.each([
    ['0x12', {}, 'hash: expected 0x and 64 hexadecimal digits, not 0x12'],
    [`0x${'z'.repeat(200)}`, {}, `hash: expected 0x and 64 hexadecimal digits, not 0x${'z'.repeat(78)}`],
    [hash, { confirmationMs: 0 }, 'confirmationMs: expected milliseconds from 1 to 2147483647, not 0'],
  ])('is refused for %.10s with %j before a request', async (given, waiting, message) => {
    const { api, asked } = apiOf()
    await expect(waitForTransaction(api, CHAIN, given, waiting)).rejects.toMatchObject({
      ...{ code: 'invalid_options', message },
    })
    expect(asked).toEqual([])
  })
})
