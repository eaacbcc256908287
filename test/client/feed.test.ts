import { ApiError, ConnectionError } from 'fx-protection-client'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type Entry, type Feed, type FeedOptions, followFeed } from '../../client/src/feed.ts'
import type { Transport } from '../../client/src/transport.ts'
import { createEventStream } from '../support/event-stream.ts'
import { useFastClock } from '../support/fast-clock.ts'

/* How the client follows a feed: over its stream, and in pages from the same position. */

beforeAll(useFastClock)
afterAll(() => void vi.useRealTimers())

const down = () => new ConnectionError('down', { code: 'network_error' })
const denied = () =>
  new ApiError(
    { code: 'validation_error', message: 'why' },
    { status: 400, requestId: undefined, retryAfterMs: undefined },
  )

type Opened = { readonly at: number; readonly params: object; readonly call: { readonly signal: AbortSignal } }
type Page = Awaited<ReturnType<Feed<string>['page']>>

/** A feed whose streams and pages a test answers, with a log of what was asked at which time. */
const feedOf = (answers: {
  readonly stream?: ((nth: number) => Response | Promise<Response>) | null
  readonly page?: (cursor: string, nth: number) => Page | Promise<Page>
}) => {
  const began = Date.now()
  const opened: Opened[] = []
  const pages: { readonly at: number; readonly cursor: string; readonly call: object }[] = []
  const log: string[] = []
  const stop = new AbortController()
  const open = async ({ params = {} }: { params?: object }, call: Opened['call']): Promise<Response> => {
    opened.push({ at: Date.now() - began, params, call })
    if (opened.length > 40) stop.abort()
    const response = await answers.stream?.(opened.length)
    if (response === undefined) throw down()
    return response
  }
  const feed: Feed<string> = {
    stream: answers.stream === null ? null : { path: '/feed', params: { filter: 1 } },
    entryOf: ({ id, data }) =>
      id === undefined ? undefined : { cursor: id, ...(data !== undefined && { item: data }) },
    page: async (cursor, call) => {
      pages.push({ at: Date.now() - began, cursor, call })
      const page = await answers.page?.(cursor, pages.length)
      if (page === undefined) throw down()
      return page
    },
  }
  const transport = { open } as unknown as Transport
  const options: FeedOptions = {
    signal: stop.signal,
    onMode: (mode) => log.push(mode),
    onFailure: (error) => log.push(Object(error).code),
  }
  /** Reads items until there are so many, or the feed ends. */
  const take = async (count: number, since = 'now'): Promise<string[]> => {
    const items: string[] = []
    for await (const { item } of followFeed(transport, feed, since, options)) if (items.push(item) === count) break
    return items
  }
  return { opened, pages, log, stop, take, tookMs: () => Date.now() - began }
}

/** A response that has these texts at once, and then stays open or ends. */
const streamOf = (texts: string, isOpen = false): Response => {
  const stream = createEventStream()
  stream.write(texts)
  if (!isOpen) stream.end()
  return stream.response()
}

describe('a stream', () => {
  test('that ends is opened again from the position of its last message, and not from one of an earlier', async () => {
    const { take, opened, log } = feedOf({
      stream: (nth) => streamOf(nth === 1 ? 'id: 4\n\nid: 5\ndata: a\n\nid: 9\n\n' : 'id: 10\ndata: b\n\n', nth > 1),
    })
    expect(await take(2)).toEqual(['a', 'b'])
    expect(opened.map(({ params }) => params)).toEqual([
      { filter: 1, since: 'now' },
      { filter: 1, since: '9' },
    ])
    expect(log).toEqual(['stream', 'stream'])
  })

  test('begins without a position when there is none', async () => {
    const { take, opened } = feedOf({ stream: () => streamOf('id: 1\ndata: a\n\n') })
    await take(1, '')
    expect(opened[0]?.params).toEqual({ filter: 1 })
  })

  test('that breaks after a message is reported, and opened again at once after a short pause', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(1)
    const { take, opened, log, pages } = feedOf({
      stream: (nth) => {
        if (nth === 3) return streamOf('id: 2\ndata: b\n\n')
        const stream = createEventStream()
        stream.write(`id: ${nth}\ndata: a${nth}\n\n`)
        setTimeout(() => stream.fail(new Error('reset')), 100)
        return stream.response()
      },
    })
    expect(await take(3)).toEqual(['a1', 'a2', 'b'])
    vi.restoreAllMocks()
    expect(opened.map(({ at }) => at)).toEqual([0, 600, 1_200])
    expect(log).toEqual(['stream', 'network_error', 'stream', 'network_error', 'stream'])
    expect(pages).toEqual([])
  })

  test.each([
    ['end', 'retry: 700', 700],
    ['dropped', 'retry: 700', 700],
    ['end', 'retry: 90000', 60_000],
    ['end', 'retry: -5', 0],
    ['end', 'id: 3', 0],
  ])('that the service ends (%s, %s) is opened again after %i ms', async (event, field, ms) => {
    vi.spyOn(Math, 'random').mockReturnValue(1)
    const { take, opened } = feedOf({
      stream: (nth) =>
        streamOf(nth === 1 ? `event: ${event}\n${field}\n\nid: 9\ndata: lost\n\n` : 'id: 1\ndata: a\n\n', true),
    })
    expect(await take(1)).toEqual(['a'])
    vi.restoreAllMocks()
    // Half of the first pause between two attempts is added.
    expect(opened[1]?.at).toBe(ms + 250)
    expect(opened[0]?.call.signal.aborted).toBe(true)
  })

  test('has ten seconds for its first message, and forty between two', async () => {
    for (const [texts, ms] of [
      ['', 10_000],
      ['id: 1\n\n', 40_000],
    ] as const) {
      const { take, log, tookMs } = feedOf({
        stream: (nth) => (nth === 1 ? streamOf(texts, true) : streamOf('id: 2\ndata: b\n\n')),
        page: () => ({ entries: [{ cursor: '2', item: 'b' }], pollAfterMs: 1 }),
      })
      expect(await take(1)).toEqual(['b'])
      expect(log).toContain('timeout')
      expect(tookMs()).toBeGreaterThanOrEqual(ms)
      expect(tookMs()).toBeLessThan(ms + 1_500)
    }
  })

  test('that is no stream is a failure, and its request is ended', async () => {
    const { take, log, opened } = feedOf({
      stream: () => new Response('<html>', { headers: { 'content-type': 'text/html' } }),
      page: () => ({ entries: [{ cursor: '1', item: 'a' }], pollAfterMs: 1 }),
    })
    expect(await take(1)).toEqual(['a'])
    expect(log).toEqual(['invalid_response', 'poll'])
    expect(opened.map(({ call }) => call.signal.aborted)).toEqual([true])
  })

  test('is asked for once, with its deadline for the head', async () => {
    const { take, opened } = feedOf({ stream: () => streamOf('id: 1\ndata: a\n\n') })
    await take(1)
    expect(opened[0]?.call).toMatchObject({ attempts: 1, timeoutMs: 10_000 })
    expect(opened[0]?.call.signal.aborted).toBe(true)
  })
})

describe('a stream that cannot be opened', () => {
  const page = (cursor: string) => ({ entries: [{ cursor: `${cursor}+`, item: cursor }], pollAfterMs: 400 })

  test('is tried again after a second, and after twice as long each time, up to a minute', async () => {
    const { take, opened, pages, log, stop } = feedOf({ stream: () => Promise.reject(down()), page })
    setTimeout(() => stop.abort(), 300_000)
    await take(Number.POSITIVE_INFINITY)
    const pauses = opened.map(({ at }, nth) => at - (opened[nth - 1]?.at ?? 0)).slice(1, 9)
    for (const [at, pause] of pauses.entries()) {
      const least = Math.min(60_000, 1_000 * 2 ** at)
      expect(pause).toBeGreaterThanOrEqual(least)
      expect(pause).toBeLessThanOrEqual(least + 400)
    }
    expect(pages.slice(0, 3).map(({ cursor, at }) => [cursor, at])).toEqual([
      ['now', 0],
      ['now+', 400],
      ['now++', 800],
    ])
    expect(log.slice(0, 4)).toEqual(['network_error', 'poll', 'network_error', 'poll'])
  })

  test('is tried from the beginning once it was opened', async () => {
    const { take, opened, pages } = feedOf({
      stream: (nth) => (nth === 3 ? streamOf('id: 5\ndata: a\n\n') : Promise.reject(down())),
      page: (cursor, nth) => (nth > 9 ? { entries: [{ cursor: '6', item: 'b' }], pollAfterMs: 1 } : page(cursor)),
    })
    await take(12)
    const pauses = opened.map(({ at }, nth) => at - (opened[nth - 1]?.at ?? 0))
    // The fourth attempt is the first one in a row that fails, so pages are read for a second.
    expect(pauses[3]).toBeLessThan(1_000)
    expect(pages.some(({ cursor }) => cursor === '5')).toBe(true)
  })

  test('is tried again at once when pages cannot be read either', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(1)
    const { take, opened, pages, log } = feedOf({
      stream: (nth) => (nth === 4 ? streamOf('id: 5\ndata: a\n\n') : Promise.reject(down())),
    })
    expect(await take(1)).toEqual(['a'])
    vi.restoreAllMocks()
    // A failure of both each, with pauses that grow to four seconds.
    expect(opened.map(({ at }) => at)).toEqual([0, 1_000, 5_000, 9_000])
    expect(pages).toHaveLength(3)
    expect(log).toEqual([...Array.from({ length: 6 }, () => 'network_error'), 'stream'])
  })

  test('is tried again soon when pages fail after some that were read', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(1)
    const { take, opened } = feedOf({
      stream: (nth) => (nth === 1 ? Promise.reject(down()) : streamOf('id: 5\ndata: a\n\n')),
      page: (cursor, nth) => (nth === 2 ? Promise.reject(down()) : { entries: [{ cursor }], pollAfterMs: 400 }),
    })
    expect(await take(1)).toEqual(['a'])
    vi.restoreAllMocks()
    // The first failure in a row: half a second after the second page.
    expect(opened.map(({ at }) => at)).toEqual([0, 900])
  })

  test('is an error of the iteration when no repetition can help', async () => {
    const refused = feedOf({ stream: () => Promise.reject(denied()) })
    await expect(refused.take(1)).rejects.toMatchObject({ code: 'validation_error' })
    expect([refused.log, refused.opened.length]).toEqual([[], 1])
    const ofPage = feedOf({ stream: null, page: () => Promise.reject(denied()) })
    await expect(ofPage.take(1)).rejects.toMatchObject({ code: 'validation_error' })
  })
})

describe('pages', () => {
  const pagesOf = (pollAfterMs: number) =>
    feedOf({
      stream: null,
      page: (cursor, nth) => ({
        entries: [...(nth > 2 ? [{ cursor: '7', item: 'a' }] : []), { cursor: `${cursor}.` }],
        pollAfterMs,
      }),
    })

  test.each([
    [900, 900],
    [60_000, 60_000],
    [3_600_000, 60_000],
    [-1, 0],
    [Number.NaN, 0],
  ])('are read again after the pause of the service, %s ms: %i ms', async (pollAfterMs, ms) => {
    const { take, pages, opened, log } = pagesOf(pollAfterMs)
    expect(await take(1, '3')).toEqual(['a'])
    expect(pages.map(({ at, cursor }) => [at, cursor])).toEqual([
      [0, '3'],
      [ms, '3.'],
      [2 * ms, '3..'],
    ])
    expect([opened, log]).toEqual([[], ['poll']])
    expect(pages[0]?.call).toMatchObject({ attempts: 1 })
  })
})

describe('an abort', () => {
  test('ends the iteration without an error, wherever it is', async () => {
    const open = createEventStream()
    const feeds = {
      'before it begins': feedOf({ stream: () => streamOf('id: 1\n\n') }),
      'while the stream is silent': feedOf({ stream: () => open.response() }),
      'in the pause between pages': feedOf({ stream: null, page: () => ({ entries: [], pollAfterMs: 9_000 }) }),
      'in the pause after failures': feedOf({ stream: null }),
    }
    for (const [when, { take, stop, tookMs }] of Object.entries(feeds)) {
      const before = Date.now()
      if (when === 'before it begins') stop.abort()
      else
        setTimeout(() => {
          stop.abort()
          // As the body of a request that is aborted.
          open.fail(new Error('aborted'))
        }, 300)
      expect([when, await take(1)]).toEqual([when, []])
      expect(Date.now() - before).toBeLessThanOrEqual(300)
      expect(tookMs()).toBeGreaterThanOrEqual(0)
    }
  })

  test('leaves no listener of a stream at the signal', async () => {
    const { take, stop } = feedOf({ stream: (nth) => streamOf(`id: ${nth}\ndata: ${nth}\n\n`) })
    const added = vi.spyOn(stop.signal, 'addEventListener')
    const removed = vi.spyOn(stop.signal, 'removeEventListener')
    await take(4)
    expect(added.mock.calls.length).toBeGreaterThan(3)
    expect(removed).toHaveBeenCalledTimes(added.mock.calls.length)
  })
})

test('an item is the position of the next attempt only once it was taken', async () => {
  const entries: Entry<string>[] = [{ cursor: '1', item: 'a' }, { cursor: '2' }, { cursor: '3', item: 'b' }]
  let isFailing = false
  const { take, pages } = feedOf({
    stream: null,
    page: (_, nth) => {
      if (nth === 2) isFailing = true
      return nth === 2 ? Promise.reject(down()) : { entries, pollAfterMs: 1 }
    },
  })
  expect(await take(3)).toEqual(['a', 'b', 'a'])
  expect([isFailing, pages.map(({ cursor }) => cursor)]).toEqual([true, ['now', '3', '3']])
})
