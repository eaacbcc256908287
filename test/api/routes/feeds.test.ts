import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { expect, onTestFinished, test, vi } from 'vitest'
import { changeRoutes } from '../../../src/api/routes/changes.ts'
import { settlementRoutes } from '../../../src/api/routes/settlements.ts'
import { changeStream } from '../../../src/api/streams/changes.ts'
import { settlementStream } from '../../../src/api/streams/settlements.ts'
import { createStreamCapacity, createStreams } from '../../../src/api/streams/shared.ts'
import { type FeedItem, type FeedPage, subjectTypes } from '../../../src/db/queries/feed.ts'
import type { FeedSettlement, SettlementFilter } from '../../../src/db/queries/settlements.ts'
import { createFakeChanges } from '../../support/fake-changes.ts'
import { eventually } from '../../support/process.ts'
import { fakeTurns, indexedQueries, openCache, openRoutes } from './route-app.ts'

const hash = `0x${'ab'.repeat(32)}` as const

const stored = (seq: number, change: Partial<FeedSettlement> = {}): FeedSettlement =>
  ({
    ...{ seq, type: 'settled', chainId: 8453, eventId: BigInt(seq), settledAt: 9n, triggered: true },
    ...{ settlementPrice: 5n, blockNumber: 7n, blockHash: hash, txHash: null, isFinal: false },
    ...change,
  }) as FeedSettlement

/** A feed of settlements, with what was requested of it. */
const fakeSettlements = (items: readonly FeedSettlement[]) => {
  const asked: (readonly [number, SettlementFilter, number])[] = []
  const settlements = {
    after: async (seq: number, filter: SettlementFilter, limit: number) => {
      asked.push([seq, filter, limit])
      return items.filter((item) => item.seq > seq).slice(0, limit)
    },
    position: async () => items.at(-1)?.seq ?? 0,
    isFuture: async (seq: number) => seq > 1_000,
  }
  return { asked, settlements: settlements as never }
}

test('a stream of settlements has the items of the feed, and knows whether there are more', async () => {
  const { asked, settlements } = fakeSettlements([stored(1), stored(2), stored(3, { type: 'reverted' })])
  const { changes } = createFakeChanges()
  const source = settlementStream(changes, settlements, false)
  const from = { epoch: '', seq: 1 }
  const page = await source.after(from, source.all, 3)
  expect([page.items.map(({ seq }) => seq), page.next.seq, page.hasMore]).toEqual([[2, 3], 3, false])
  expect(page.items[1]?.text).toMatch(/^id: 3\nevent: reverted\ndata: \{.*"seq":3.*\}\n\n$/)
  expect((await source.after(from, source.all, 2)).hasMore).toBe(true)
  const last = { epoch: '', seq: 3 }
  expect(await source.after(last, source.all, 2)).toEqual({ items: [], next: last, hasMore: false })
  expect(asked[0]).toEqual([1, { chainIds: [8453, 56], isFinal: false }, 3])
  expect(settlementStream(changes, settlements, true).all.isFinal).toBe(true)
  expect(source.idOf({ epoch: '', seq: 7 })).toBe('7')
})

test.each<[string, Partial<SettlementFilter>, boolean]>([
  ['its chain', { chainIds: [8453] }, true],
  ['another chain', { chainIds: [56] }, false],
  ['its event', { eventIds: [8n, 4n] }, true],
  ['another event', { eventIds: [8n] }, false],
  ['triggered ones', { triggered: true }, true],
  ['those that are not triggered', { triggered: false }, false],
])('a filter by %s has a settlement or not', (_, filter, isPassed) => {
  const { settlements } = fakeSettlements([])
  const source = settlementStream(createFakeChanges().changes, settlements, false)
  const item = { seq: 4, text: '', stored: stored(4) }
  expect(source.passes({ chainIds: [8453, 56], isFinal: false, ...filter }, item)).toBe(isPassed)
})

test('a stream of settlements is new when something of its feed changed', () => {
  const { changes, change } = createFakeChanges()
  const source = settlementStream(changes, fakeSettlements([]).settlements, false)
  change(5, { chainIds: [8453], keys: ['8453 unrelated'] })
  expect(source.newest()).toBe(0)
  change(6, { chainIds: [8453], keys: ['8453 *'] })
  expect(source.newest()).toBe(6)
})

/** A feed of changes with one page, and what was requested of it. */
const fakeChangeFeed = (page: Partial<FeedPage> = {}) => {
  const asked: unknown[] = []
  const index = createFakeChanges()
  index.change(40)
  const feed = {
    page: async (...args: readonly unknown[]): Promise<FeedPage> => {
      asked.push(args)
      return { items: [], resets: [], next: { epoch: 'e2', seq: 30 }, hasMore: false, ...page }
    },
  }
  return {
    asked,
    index,
    sources: { changes: index.changes, feed, queries: indexedQueries, chains: new Map() } as never,
  }
}

const filter = { chainIds: [8453, 56], types: subjectTypes } as never
const item = (seq: number): FeedItem => ({
  ...{ seq, chainId: 8453, key: '3', changed: ['events'], blockNumber: 7n, blockHash: hash },
  type: 'event',
})
const reset = (seq: number, chainId: number, reason = 'rebuilt') => ({ seq, chainId, reason }) as never

test('a stream of changes has items and resets in the order of their numbers, with cursors of their epoch', async () => {
  const { sources, asked } = fakeChangeFeed({ items: [item(12), item(14)], resets: [reset(13, 56)], hasMore: true })
  const source = changeStream(sources)
  const { items, next, hasMore } = await source.after({ epoch: 'e1', seq: 11 }, source.all, 5)
  expect([next, hasMore]).toEqual([{ epoch: 'e2', seq: 30 }, true])
  expect(items.map(({ text }) => text.split('\n').slice(0, 2))).toEqual([
    ['id: e2.12', 'event: change'],
    ['id: e2.13', 'event: reset'],
    ['id: e2.14', 'event: change'],
  ])
  expect(items[1]?.text).toBe('id: e2.13\nevent: reset\ndata: {"chainId":56,"reason":"rebuilt"}\n\n')
  expect(asked).toEqual([[{ epoch: 'e1', seq: 11 }, { chainIds: [8453, 56], types: subjectTypes }, 5, 40]])
  expect([source.idOf({ epoch: 'e2', seq: 9 }), source.newest()]).toEqual(['e2.9', 40])
})

test('a filter of changes has those of its chains and types, and every reset of its chains', () => {
  const source = changeStream(fakeChangeFeed().sources)
  const passes = (found: object, chainIds: readonly number[], types: readonly string[]) =>
    source.passes({ chainIds, types } as never, { seq: 1, text: '', found } as never)
  expect([passes(item(1), [8453], ['event']), passes(item(1), [56], ['event'])]).toEqual([true, false])
  expect(passes(item(1), [8453], ['wallet'])).toBe(false)
  expect([passes(reset(1, 56), [56], ['wallet']), passes(reset(1, 56), [8453], ['wallet'])]).toEqual([true, false])
})

test('a stream of changes begins at the beginning, now, or after its cursor', async () => {
  const { sources, asked } = fakeChangeFeed()
  const { resume } = changeStream(sources)
  // The positions of streams are of the newest epoch.
  expect(await resume(undefined, filter)).toEqual({ after: { epoch: 'e2', seq: 0 } })
  expect(await resume('now', filter)).toEqual({ after: { epoch: 'e2', seq: 30 } })
  expect(await resume({ epoch: 'e1', seq: 21 }, filter)).toEqual({ after: { epoch: 'e2', seq: 21 } })
  const expected = [null, 'now', { epoch: 'e1', seq: 21 }].map((from) => [from, filter, 0, 40])
  expect(asked).toEqual(expected)
})

test('a cursor of another history gets its resets first, and only the last of them ends the old history', async () => {
  const resets = [reset(30, 8453, 'other_history'), reset(30, 56, 'other_history')]
  const { resume } = changeStream(fakeChangeFeed({ resets }).sources)
  const { after, id, text = '' } = await resume({ epoch: 'e1', seq: 21 }, filter)
  expect([after, id]).toEqual([{ epoch: 'e2', seq: 30 }, 'e1.21'])
  expect(text).toBe(
    'id: e1.21\nevent: reset\ndata: {"chainId":8453,"reason":"other_history"}\n\n' +
      'id: e2.30\nevent: reset\ndata: {"chainId":56,"reason":"other_history"}\n\n',
  )
  const other = changeStream(fakeChangeFeed({ resets: [reset(30, 8453)] }).sources)
  expect(await other.resume({ epoch: 'e1', seq: 21 }, filter)).toEqual({ after: { epoch: 'e2', seq: 21 } })
})

const streamsOf = (source: ReturnType<typeof settlementStream> | ReturnType<typeof changeStream>, app: object) => {
  const { changes, change } = createFakeChanges()
  change(100)
  const capacity = createStreamCapacity(10, 10)
  return createStreams({ changes, capacity, source: source as never, log: Object(app).log })
}

const openChanges = async (page: Partial<FeedPage> = {}) => {
  const { sources, asked } = fakeChangeFeed(page)
  const { turns, taken } = fakeTurns()
  const source = changeStream(sources)
  const app = await openRoutes((it) =>
    it.register(changeRoutes, { sources, resume: source.resume, streams: streamsOf(source, it), turns }),
  )
  return { app, asked, taken }
}

test('a page of changes has the filter, the position and the limit of its query, in the turn of a page', async () => {
  const { app, asked, taken } = await openChanges({ items: [item(22)], hasMore: true })
  const { statusCode, headers, body } = await app.inject('/changes?since=e1.21&chainId=8453&types=event&limit=7')
  expect([statusCode, headers['cache-control']]).toEqual([200, 'no-store'])
  expect(JSON.parse(body)).toMatchObject({
    data: [{ seq: 22, type: 'event', eventId: 3, changed: ['events'] }],
    meta: { nextCursor: 'e2.30', hasMore: true, pollAfterMs: 0, reset: false, resets: [] },
  })
  expect(asked).toEqual([[{ epoch: 'e1', seq: 21 }, { chainIds: [8453], types: ['event'] }, 7, 40]])
  expect(taken).toEqual(['page 127.0.0.1'])
})

test('a page of changes of some wallets is read in the turn of long reads', async () => {
  const { app, asked, taken } = await openChanges()
  const wallet = `0x${'1'.repeat(40)}`
  const payload = { since: 'now', wallets: [wallet], limit: 3 }
  const { statusCode, headers } = await app.inject({ method: 'POST', url: '/changes', payload })
  expect([statusCode, headers['cache-control'], taken]).toEqual([200, 'no-store', ['long 127.0.0.1']])
  expect(asked).toEqual([['now', { chainIds: [8453, 56], types: ['wallet'], keys: [wallet] }, 3, 40]])
  const large = { ...payload, wallets: Array.from({ length: 1_500 }, () => wallet) }
  expect((await app.inject({ method: 'POST', url: '/changes', payload: large })).statusCode).toBe(413)
})

test('a page takes no lastEventId, which is of streams', async () => {
  const { app, asked } = await openChanges()
  const { statusCode, body, headers } = await app.inject('/changes?lastEventId=e1.2')
  expect([statusCode, JSON.parse(body).error.details[0].path]).toEqual([400, 'lastEventId'])
  expect([headers['cache-control'], asked]).toEqual(['no-store', []])
})

/** The first text of a stream, which then is left. */
const firstOf = async (origin: string, path: string, headers: Record<string, string> = {}) => {
  const sent = get(origin + path, { headers, agent: false }).on('error', () => {})
  const [response]: [IncomingMessage] = (await once(sent, 'response')) as never
  let text = ''
  response.on('data', (chunk) => {
    text += chunk
  })
  await eventually('the position', () => text.includes('\n\n'))
  sent.destroy()
  return { type: response.headers['content-type'], text }
}

test.each([
  ['by its own path', '/changes/stream?since=e1.5', {}, 'e2.5'],
  ['by the header Accept', '/changes?since=e1.5', { accept: 'text/event-stream' }, 'e2.5'],
  ['from lastEventId before since', '/changes/stream?since=e1.5&lastEventId=e1.6', {}, 'e2.6'],
  [
    'from Last-Event-ID before both',
    '/changes/stream?since=e1.5&lastEventId=e1.6',
    { 'last-event-id': 'e1.7' },
    'e2.7',
  ],
])('a stream of changes is opened %s', async (_, path, headers, id) => {
  const { app } = await openChanges()
  const { type, text } = await firstOf(await app.listen({ port: 0, host: '127.0.0.1' }), path, headers)
  expect(type).toBe('text/event-stream; charset=utf-8')
  expect(text).toMatch(new RegExp(`^retry: 1000\nid: ${id.replace('.', '\\.')}\nevent: position\n`))
})

const openSettlements = async (items: readonly FeedSettlement[]) => {
  const { asked, settlements } = fakeSettlements(items)
  const { turns, taken } = fakeTurns()
  let opened: Awaited<ReturnType<typeof openCache>> | undefined
  let streamsOfApp: Readonly<Record<'latest' | 'finalized', ReturnType<typeof streamsOf>>> | undefined
  const app = await openRoutes(async (it) => {
    opened = await openCache(it)
    const { index, cache } = opened
    const { changes } = index
    const streams = {
      latest: streamsOf(settlementStream(changes, settlements, false), it),
      finalized: streamsOf(settlementStream(changes, settlements, true), it),
    }
    // No chain is in reach, so the lag of the index is that of the clock.
    const sources = { changes, settlements, queries: indexedQueries, chains: new Map() } as never
    const waits = { during: () => expect.unreachable() } as never
    await it.register(settlementRoutes, { sources, lists: {} as never, waits, turns, cache, streams })
    streamsOfApp = streams
  })
  if (opened === undefined || streamsOfApp === undefined) throw new Error('the app has no cache')
  onTestFinished(() => app.close())
  return { app, asked, taken, streams: streamsOfApp, ...opened }
}

test('a page of settlements has a tag, by which it is not read again until its feed changes', async () => {
  const { app, asked, taken, index } = await openSettlements([stored(1), stored(2)])
  const read = await app.inject('/hedge/settlements?since=1&limit=5&chainId=8453&triggered=true')
  expect(read.statusCode).toBe(200)
  expect(read.headers).toMatchObject({ 'cache-control': 'public, no-cache', 'x-data-source': 'database' })
  expect(JSON.parse(read.body)).toMatchObject({ data: [{ seq: 2 }], meta: { nextCursor: '2', hasMore: false } })
  expect(asked).toMatchObject([[1, { chainIds: [8453], triggered: true, isFinal: false }, 6]])
  expect(taken).toEqual(['page 127.0.0.1'])
  const url = '/hedge/settlements?chainId=8453&since=1&limit=5&triggered=true'
  const headers = { 'if-none-match': String(read.headers.etag) }
  expect((await app.inject({ url, headers })).statusCode).toBe(304)
  expect(asked).toHaveLength(1)
  index.change(101, { chainIds: [8453], keys: ['8453 *'] })
  expect((await app.inject({ url, headers })).statusCode).toBe(200)
})

test('the cached body of a page of settlements is sent for a second, because it has the lag of the index', async () => {
  const { app, asked, clock } = await openSettlements([stored(1)])
  const url = '/hedge/settlements?since=0'
  for (const [ms, reads] of [
    [0, 1],
    [1_000, 1],
    [1_001, 2],
  ] as const) {
    clock.ms = ms
    expect((await app.inject(url)).statusCode).toBe(200)
    expect([ms, asked.length]).toEqual([ms, reads])
  }
})

test('the page from now has no tag, because its position moves without a settlement', async () => {
  const { app, asked } = await openSettlements([stored(1)])
  const { statusCode, headers } = await app.inject('/hedge/settlements?since=now')
  expect([statusCode, headers.etag, asked[0]?.[0]]).toEqual([200, undefined, 100])
  await app.inject('/hedge/settlements?since=now')
  expect(asked).toHaveLength(2)
  // The tag of another page of the same feed is of another position.
  const { headers: other } = await app.inject('/hedge/settlements?since=0')
  const again = await app.inject({
    url: '/hedge/settlements?since=now',
    headers: { 'if-none-match': String(other.etag) },
  })
  expect([other.etag, again.statusCode, asked.length]).toEqual([expect.stringMatching(/^W\//), 200, 4])
})

test('a page of settlements has one more item than its limit when there are more', async () => {
  const { app } = await openSettlements([stored(1), stored(2), stored(3)])
  const page = async (limit: number) => (await app.inject(`/hedge/settlements?limit=${limit}`)).json()
  expect(await page(2)).toMatchObject({ data: [{ seq: 1 }, { seq: 2 }], meta: { nextCursor: '2', hasMore: true } })
  expect(await page(3)).toMatchObject({ meta: { nextCursor: '3', hasMore: false } })
})

test.each([
  ['/hedge/settlements?lastEventId=1', {}, 'lastEventId'],
  [`/hedge/settlements?wallet=0x${'1'.repeat(40)}`, { accept: 'text/event-stream' }, 'wallet'],
  ['/hedge/settlements?eventIds=1', {}, 'chainId'],
  ['/hedge/settlements/stream', { 'last-event-id': 'x' }, 'Last-Event-ID'],
  ['/hedge/settlements/stream?lastEventId=2000', {}, 'lastEventId'],
  ['/hedge/settlements/stream?since=2000', {}, 'since'],
])('%s with %j is a 400 that names %s', async (url, headers, path) => {
  const { app } = await openSettlements([])
  const { statusCode, body } = await app.inject({ url, headers })
  expect([statusCode, JSON.parse(body).error.details[0].path]).toEqual([400, path])
})

test.each([
  ['by its own path', '/hedge/settlements/stream?since=1', {}, ['id: 1', 'id: 2', 'event: settled']],
  ['by the header Accept', '/hedge/settlements?since=1', { accept: 'text/event-stream' }, ['id: 1', 'id: 2']],
  [
    'from Last-Event-ID before since',
    '/hedge/settlements/stream?since=0',
    { 'last-event-id': '1' },
    ['id: 1', 'id: 2'],
  ],
])('a stream of settlements is opened %s', async (_, path, headers, lines) => {
  const { app } = await openSettlements([stored(1), stored(2)])
  const { type, text } = await firstOf(await app.listen({ port: 0, host: '127.0.0.1' }), path, headers)
  expect(type).toBe('text/event-stream; charset=utf-8')
  expect(text).toContain(`\n${lines[0]}\nevent: position\n`)
})

test.each([
  ['', 'latest', false],
  ['&finality=latest', 'latest', false],
  ['&finality=finalized', 'finalized', true],
] as const)('a stream with the query %j is one of the %s settlements', async (query, name, isFinal) => {
  const { app, asked, streams } = await openSettlements([stored(1), stored(2)])
  const opened = { latest: vi.spyOn(streams.latest, 'open'), finalized: vi.spyOn(streams.finalized, 'open') }
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  await firstOf(origin, `/hedge/settlements/stream?since=0${query}`)
  await eventually('it is read', () => asked.length > 0)
  expect(asked[0]?.[1].isFinal).toBe(isFinal)
  expect(Object.entries(opened).flatMap(([feed, { mock }]) => mock.calls.map(() => feed))).toEqual([name])
})
