import { ApiError, ConnectionError, createTransport, type TransportOptions } from 'fx-protection-client'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { useFastClock } from '../support/fast-clock.ts'

/* Requests of the client over a `fetch` of the test: attempts, deadlines, tags and what they leave behind. */

beforeAll(useFastClock)
afterAll(() => void vi.useRealTimers())

type Sent = { readonly url: string; readonly headers: Headers; readonly at: number; readonly init: RequestInit }
type Answer = (sent: Sent, nth: number) => Response | Promise<Response>

const transportOf = (answer: Answer, options: Partial<TransportOptions> = {}) => {
  const sent: Sent[] = []
  const began = Date.now()
  const fetch = async (url: unknown, init: RequestInit = {}): Promise<Response> => {
    const each = { url: String(url), headers: new Headers(init.headers), at: Date.now() - began, init }
    sent.push(each)
    return answer(each, sent.length)
  }
  const transport = createTransport({
    baseUrl: 'http://api.example',
    fetch: fetch as typeof globalThis.fetch,
    ...options,
  })
  return { ...transport, sent, tookMs: () => Date.now() - began }
}

const ok = (body: object = { data: [] }, headers = {}) => Response.json(body, { headers })
const refused = (status: number, headers = {}) =>
  Response.json({ error: { code: 'service_unavailable', message: 'why' } }, { status, headers })
const never = ({ init }: Sent) =>
  new Promise<Response>((_, reject) => init.signal?.addEventListener('abort', () => reject(new Error('aborted'))))
const failure = (request: Promise<unknown>) => request.catch((error: unknown) => error)
const path = '/v1/chains'

describe('attempts', () => {
  test('are five unless the client or the request has another number', async () => {
    for (const [options, call, count] of [
      [{}, {}, 5],
      [{ attempts: 2 }, {}, 2],
      [{ attempts: 2 }, { attempts: 1 }, 1],
      [{ attempts: 1 }, { attempts: 3 }, 3],
    ] as const) {
      const { send, sent } = transportOf(() => refused(503), options)
      expect(await failure(send({ path }, call))).toBeInstanceOf(ApiError)
      expect(sent).toHaveLength(count)
    }
  })

  test('are apart by growing pauses and the pause of the service', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(1)
    const { send, sent } = transportOf((_, nth) => (nth === 2 ? refused(503, { 'retry-after': '7' }) : refused(503)))
    await failure(send({ path }))
    vi.restoreAllMocks()
    expect(sent.map(({ at }) => at)).toEqual([0, 500, 8_500, 10_500, 14_500])
  })

  test.each([
    ['30', 2],
    ['31', 1],
  ])('a pause of %s seconds: %i attempts', async (seconds, count) => {
    const { send, sent } = transportOf(() => refused(503, { 'retry-after': seconds }), { attempts: 2 })
    expect(await failure(send({ path }))).toMatchObject({ retryAfterMs: Number(seconds) * 1_000 })
    expect(sent).toHaveLength(count)
  })

  test('have the same id and body, and the one of a network failure too', async () => {
    const { send, sent } = transportOf((_, nth) => {
      if (nth === 1) throw new TypeError('fetch failed')
      return nth === 2 ? refused(503) : ok()
    })
    await send({ path, body: { amount: 5n } })
    expect(new Set(sent.map(({ headers }) => headers.get('x-request-id'))).size).toBe(1)
    expect(sent.map(({ init }) => [init.method, init.body])).toEqual(
      Array.from({ length: 3 }, () => ['POST', '{"amount":"5"}']),
    )
  })

  test('end with the signal: before the first, during one, and in the pause between two', async () => {
    const reason = new Error('stopped')
    const aborted = transportOf(() => ok())
    expect(await failure(aborted.send({ path }, { signal: AbortSignal.abort(reason) }))).toBe(reason)
    expect(aborted.sent).toEqual([])
    for (const [answer, at] of [
      [never, 100],
      [() => refused(503, { 'retry-after': '9' }), 1_000],
    ] as const) {
      const stop = new AbortController()
      const { send, sent, tookMs } = transportOf(answer)
      setTimeout(() => stop.abort(reason), at)
      expect(await failure(send({ path }, { signal: stop.signal }))).toBe(reason)
      expect([sent.length, tookMs()]).toEqual([1, at])
    }
  })

  test('leave no timer, and no listener at the signal', async () => {
    const { signal } = new AbortController()
    const added = vi.spyOn(signal, 'addEventListener')
    const removed = vi.spyOn(signal, 'removeEventListener')
    const { send } = transportOf((_, nth) => (nth < 3 ? refused(503) : ok()))
    await send({ path }, { signal })
    expect(removed).toHaveBeenCalledTimes(added.mock.calls.length)
    expect(added.mock.calls.length).toBeGreaterThan(2)
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('the deadline of an attempt', () => {
  test.each([
    [{}, {}, undefined, 15_000],
    [{ timeoutMs: 700 }, {}, undefined, 700],
    [{ timeoutMs: 700 }, { timeoutMs: 900 }, undefined, 900],
    [{ timeoutMs: 700 }, {}, 5_000, 5_700],
    [{ timeoutMs: 700 }, {}, -5_000, 700],
    [{ timeoutMs: 2_147_483_647 }, {}, 5_000, 2_147_483_647],
  ])('of %j and %j with a wait of %s is %i ms', async (options, call, waitMs, limit) => {
    const { send, tookMs } = transportOf(never, { attempts: 1, ...options })
    const error = await failure(send({ path, params: { waitMs } }, call))
    expect(error).toMatchObject({ code: 'timeout', message: expect.stringContaining(`within ${limit} ms`) })
    expect([error instanceof ConnectionError, tookMs()]).toEqual([true, limit])
  })

  test('covers the body of the response, and a time-out is repeated', async () => {
    const { send, sent } = transportOf(({ init }, nth) => {
      if (nth === 2) return ok()
      const body = new ReadableStream({
        start: (controller) => init.signal?.addEventListener('abort', () => controller.error(new Error('aborted'))),
      })
      return new Response(body)
    })
    await send({ path })
    expect(sent).toHaveLength(2)
    expect(sent[1]?.at).toBeGreaterThan(15_000)
  })

  test('ends with the head of a stream, and the stream with its signal', async () => {
    const stop = new AbortController()
    const { open, sent } = transportOf(() => new Response('x'))
    await open({ path, accept: 'text/event-stream' }, { signal: stop.signal, timeoutMs: 100 })
    expect([vi.getTimerCount(), sent[0]?.init.signal?.aborted]).toEqual([0, false])
    stop.abort()
    expect(sent[0]?.init.signal?.aborted).toBe(true)
  })
})

describe('a response', () => {
  test('that is not JSON is an error and not repeated', async () => {
    const { send, sent } = transportOf(() => new Response('<html>'))
    expect(await failure(send({ path }))).toMatchObject({ code: 'invalid_response', requestId: expect.any(String) })
    expect(sent).toHaveLength(1)
  })

  test('with an error has its fields and the id of the service, else that of the request', async () => {
    const details = [{ path: 'id', message: 'too small' }]
    const error = { code: 'validation_error', message: 'why', details }
    const { send } = transportOf((_, nth) =>
      Response.json({ error }, { status: 400, ...(nth === 1 && { headers: { 'x-request-id': 'theirs' } }) }),
    )
    const first = await failure(send({ path }))
    expect(first).toMatchObject({ code: 'validation_error', status: 400, details, requestId: 'theirs' })
    expect(first).toMatchObject({ message: '400 validation_error: why', retryAfterMs: undefined })
    expect(await failure(send({ path }, { headers: { 'x-request-id': 'mine' } }))).toMatchObject({ requestId: 'mine' })
  })

  test('of another server than the API names the address as the cause', async () => {
    const { send, sent } = transportOf(() => new Response('gone', { status: 404 }))
    const error = await failure(send({ path }))
    expect(error).toMatchObject({ code: 'invalid_response', hint: expect.stringContaining('baseUrl') })
    expect(sent).toHaveLength(1)
  })

  test('has its headers, and amounts as bigint', async () => {
    const { send } = transportOf(() => ok({ data: { amount: '5', args: { amount: '5' } } }, { etag: '"1"' }))
    const body = Object(await send({ path }))
    expect(body.data).toEqual({ amount: 5n, args: { amount: '5' } })
    expect(body.headers.get('etag')).toBe('"1"')
  })
})

describe('the cache', () => {
  const tagged = (sent: Sent, nth: number) =>
    sent.headers.get('if-none-match') === null
      ? ok({ data: nth }, { etag: `"${sent.url}"` })
      : new Response(null, { status: 304, headers: { etag: `"${sent.url}"` } })
  const asked = (sent: readonly Sent[]) => sent.map(({ headers }) => headers.get('if-none-match'))

  test('is of a URL with its query, and only of reads', async () => {
    const { send, sent } = transportOf(tagged, { cache: true })
    const read = async (params: Record<string, unknown>) => Object(await send({ path, params })).data
    expect([await read({ a: 1 }), await read({ a: 2 }), await read({ a: 1 })]).toEqual([1, 2, 1])
    await send({ path, params: { a: 1 }, body: {} })
    expect(asked(sent)).toEqual([null, null, '"http://api.example/v1/chains?a=1"', null])
  })

  test('does not hold what a POST or a stream returned', async () => {
    const { send, open, sent } = transportOf(tagged, { cache: true })
    await send({ path, body: {} })
    await send({ path })
    await open({ path, accept: 'text/event-stream' }, {})
    expect(asked(sent)).toEqual([null, null, null])
  })

  test('keeps its entry after a 304, and drops it with a response without a tag', async () => {
    const { send, sent } = transportOf((each, nth) => (nth === 4 ? ok({ data: 'new' }) : tagged(each, nth)), {
      cache: true,
    })
    const found: unknown[] = []
    for (let times = 0; times < 5; times += 1) found.push(Object(await send({ path })).data)
    expect(found).toEqual([1, 1, 1, 'new', 5])
    expect(asked(sent).map((tag) => tag !== null)).toEqual([false, true, true, true, false])
  })

  test('is not there unless it is asked for, and a 304 without an entry is an error', async () => {
    const { send, sent } = transportOf(tagged)
    await send({ path })
    await send({ path })
    expect(asked(sent)).toEqual([null, null])
    const bare = transportOf(() => new Response(null, { status: 304 }), { cache: true })
    expect(await failure(bare.send({ path }))).toMatchObject({ code: 'invalid_response' })
  })
})

test('an id is sent outside browsers, or when it is asked for', async () => {
  const idOf = async (options: Partial<TransportOptions>) => {
    const { send, sent } = transportOf(() => ok(), options)
    await send({ path })
    return sent[0]?.headers.get('x-request-id') ?? null
  }
  expect([await idOf({ sendRequestId: false }), await idOf({})]).toEqual([null, expect.stringMatching(/^[\w-]{36}$/)])
  vi.stubGlobal('document', {})
  try {
    expect(await idOf({})).toBeNull()
    expect(await idOf({ sendRequestId: true })).toEqual(expect.any(String))
  } finally {
    vi.unstubAllGlobals()
  }
})
