import { numberToHex } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Database } from '../../../src/db/pool.ts'
import { createFeedQueries, type FeedCursor, type FeedFilter, subjectTypes } from '../../../src/db/queries/feed.ts'
import { feed, feedEpochs, feedFloors } from '../../../src/db/schema/feed.ts'
import { changeCounter } from '../../../src/db/schema/index-state.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { openDatabase } from '../../support/open-database.ts'

/* Pages of the feed over rows that are written by hand, so that every number is known. */

type Row = typeof feed.$inferInsert

const hash = numberToHex(5, { size: 32 })
const row = (type: Row['type'], key: string, own: Partial<Row>): Row => ({
  ...{ type, key, chainId: 8453, events: 0, deposits: 0, positions: 0, claimables: 0 },
  ...{ seq: Math.max(...[own.events, own.deposits, own.positions, own.claimables, own.seq].map((it) => it ?? 0)) },
  ...{ blockNumber: 9n, blockHash: hash },
  ...own,
})

const rows: readonly Row[] = [
  row('wallet', '0xaa', { positions: 100, claimables: 100, deposits: 140 }),
  row('wallet', '0xbb', { events: 110, deposits: 120 }),
  row('wallet', '0xaa', { chainId: 56, events: 130, positions: 170 }),
  row('event', '7', { events: 105, claimables: 150 }),
  row('event', '8', { deposits: 160 }),
  row('protocol', '', { seq: 145 }),
  // At the floor of its chain, of a chain whose feed has not begun, and after the end of this copy.
  row('event', '9', { chainId: 56, events: 125 }),
  row('event', '9', { chainId: 137, events: 126 }),
  row('event', '10', { events: 250 }),
  // Of another chain: each column of its numbers has more rows than a short page.
  ...[101, 102, 103, 104, 105, 106].map((events) => row('wallet', `0xc${events}`, { chainId: 1, events })),
]

/** Every item by its number. */
const items = [
  [100, '8453 wallet 0xaa positions+claimables'],
  [105, '8453 event 7 events'],
  [110, '8453 wallet 0xbb events'],
  [120, '8453 wallet 0xbb deposits'],
  [130, '56 wallet 0xaa events'],
  [140, '8453 wallet 0xaa deposits'],
  [145, '8453 protocol'],
  [150, '8453 event 7 claimables'],
  [160, '8453 event 8 deposits'],
  [170, '56 wallet 0xaa positions'],
] as const

let store: TestDatabase
let database: Database
beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url)
  await database.run(async (handle) => {
    await handle.insert(feed).values([...rows])
    await handle.insert(changeCounter).values({ one: 1, last: 200, before: 170, fed: 200, epoch: 'abc' })
    await handle.insert(feedFloors).values([
      { chainId: 8453, seq: 50, reason: 'backfill' },
      { chainId: 56, seq: 125, reason: 'rebuilt' },
      { chainId: 137, seq: null, reason: 'operator' },
      { chainId: 1, seq: 50, reason: 'backfill' },
    ])
    await handle.insert(feedEpochs).values({ epoch: 'old', last: 110 })
  })
})
afterAll(async () => {
  await database?.close()
  await store?.close()
})

const ALL: FeedFilter = { chainIds: [8453, 56, 137], types: subjectTypes }
const END = Number.MAX_SAFE_INTEGER

const read = async (since: FeedCursor | 'now' | null, own: Partial<FeedFilter> = {}, limit = 100, upTo = END) => {
  const page = await createFeedQueries(database).page(since, { ...ALL, ...own }, limit, upTo)
  return {
    ...page,
    items: page.items.map((it) => [
      it.seq,
      [it.chainId, it.type, it.key, it.changed.join('+')].filter(Boolean).join(' '),
    ]),
    resets: page.resets.map((it) => `${it.seq} ${it.chainId} ${it.reason}`),
  }
}

const at = (seq: number, epoch = 'abc'): FeedCursor => ({ epoch, seq })
const after = (seq: number) => items.filter(([number]) => number > seq)

test('the items after a number are in the order of their numbers, on each chain from its floor on', async () => {
  const found = await read(at(55))
  expect(found.items).toEqual(after(55))
  expect(found).toMatchObject({ resets: ['125 56 rebuilt'], next: at(200), hasMore: false })
})

test.each([104, 105, 106, 139, 140, 170])('the items after %i do not have it', async (seq) => {
  const found = await read(at(seq))
  expect(found.items.map(([number]) => number)).toEqual(after(seq).map(([number]) => number))
})

test.each([1, 2, 3, 5, 9, 10, 11])(
  'pages of %i items have each item once, and end without another page',
  async (limit) => {
    const seen: unknown[] = []
    let pages = 0
    let cursor = at(60)
    for (let hasMore = true; hasMore; pages += 1) {
      const page = await read(cursor, {}, limit)
      expect(page.items.length).toBeLessThanOrEqual(limit)
      seen.push(...page.items.map(([number]) => number))
      expect(pages).toBeLessThan(items.length)
      ;({ next: cursor, hasMore } = page)
    }
    expect(seen).toEqual(items.map(([number]) => number))
    // A full last page has no further one.
    expect(pages).toBe(Math.ceil(items.length / limit))
    expect(cursor).toEqual(at(200))
  },
)

test.each<[string, Partial<FeedFilter>, readonly number[]]>([
  ['of a chain', { chainIds: [56] }, [130, 170]],
  ['of wallets', { types: ['wallet'] }, [100, 110, 120, 130, 140, 170]],
  ['of events and the protocol', { types: ['event', 'protocol'] }, [105, 145, 150, 160]],
  ['of named wallets', { types: ['wallet'], keys: ['0xaa'] }, [100, 130, 140, 170]],
  [
    'of named wallets on a chain',
    { types: ['wallet'], keys: ['0xaa', '0xbb'], chainIds: [8453] },
    [100, 110, 120, 140],
  ],
  ['of named events', { types: ['event'], keys: ['7', '0xaa'] }, [105, 150]],
  ['of unknown names', { types: ['event'], keys: ['11'] }, []],
  ['of many wallets', { types: ['wallet'], chainIds: [1] }, [101, 102, 103, 104, 105, 106]],
])('a page %s has only these', async (_, filter, expected) => {
  expect((await read(at(60), filter)).items.map(([seq]) => seq)).toEqual(expected)
  // In pages of one item.
  const seen: unknown[] = []
  for (let page = await read(at(60), filter, 1); ; page = await read(page.next, filter, 1)) {
    seen.push(...page.items.map(([seq]) => seq))
    expect(seen.length).toBeLessThanOrEqual(expected.length)
    if (!page.hasMore) break
  }
  expect(seen).toEqual(expected)
})

describe('a bound', () => {
  test.each([
    [139, 130],
    [140, 140],
    [141, 140],
  ])('of %i leaves out later items, and ends the page', async (upTo, last) => {
    const found = await read(at(60), {}, 100, upTo)
    expect(found.items.at(-1)?.[0]).toBe(last)
    expect(found).toMatchObject({ next: at(upTo), hasMore: false })
  })

  test('before the cursor leaves the cursor where it is', async () => {
    for (const cursor of [at(150), at(110, 'old')])
      expect(await read(cursor, {}, 100, 100)).toMatchObject({ items: [], resets: [], next: cursor, hasMore: false })
  })
})

test('`now` is the end, and the beginning has every item and the resets of all chains whose feed began', async () => {
  expect(await read('now')).toMatchObject({ items: [], resets: [], next: at(200), hasMore: false })
  expect(await read('now', {}, 100, 160)).toMatchObject({ items: [], next: at(160) })
  const found = await read(null)
  expect(found.items.map(([seq]) => seq)).toEqual(items.map(([seq]) => seq))
  expect(found.resets.toSorted()).toEqual(['125 56 rebuilt', '50 8453 backfill'])
})

test.each([
  [124, 100, ['125 56 rebuilt']],
  [125, 100, []],
  // The page ends at item 120, before the reset; the next one has it.
  [105, 2, []],
  [120, 1, ['125 56 rebuilt']],
])('a reset is on the page that contains its number: after %i with %i items', async (seq, limit, expected) => {
  expect((await read(at(seq), {}, limit)).resets).toEqual(expected)
})

describe('a cursor', () => {
  const reset = ['200 8453 other_history', '200 56 other_history', '200 137 other_history']

  test.each([
    ['of this history', at(110), ['125 56 rebuilt']],
    ['of an earlier history, up to its end', at(110, 'old'), ['125 56 rebuilt']],
    ['of an earlier history, after its end', at(111, 'old'), reset],
    ['of another history', at(110, 'def'), reset],
    ['of the future', at(9_000_000_000_000_000), reset],
  ])('%s', async (_, cursor, expected) => {
    const found = await read(cursor)
    expect(found.resets).toEqual(expected)
    expect(found.next).toEqual(at(200))
    if (expected === reset) expect(found.items).toEqual([])
  })

  test('after the end of this copy of the database continues in its own history', async () => {
    expect(await read(at(300))).toMatchObject({ items: [], resets: [], next: at(300), hasMore: false })
  })
})

test('a database without changes has no items', async () => {
  await database.run((handle) => handle.delete(changeCounter))
  expect(await read(null)).toEqual({ items: [], resets: [], next: at(0, ''), hasMore: false })
})
