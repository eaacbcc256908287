import { describe, expect, test } from 'vitest'
import type { ListingRows, ListQuery } from '../../../src/db/queries/listings.ts'
import type { StoredBlock } from '../../../src/db/stored.ts'
import { ServiceError } from '../../../src/lib/errors.ts'
import type { Kind } from '../../../src/protocol/entities.ts'
import { listings, pageFor } from '../../../src/reads/lists/listings.ts'
import type { ListingQuery } from '../../../src/reads/lists/query.ts'
import { listRow, listSources, tipOf } from '../../support/list-sources.ts'
import { blockOf, walletOf } from '../../support/seed-index.ts'

const listOf = (kind: string) => {
  const listing = listings.find((it) => it.kind === kind)
  if (listing === undefined) throw new Error(`no list of ${kind}`)
  return listing
}
const [events, positions] = [listOf('event'), listOf('position')]

/** Ids of the rows on each chain. A row of a greater id is newer, on either chain. */
const ROWS: Readonly<Record<number, number>> = { 8453: 23, 56: 9 }

/** A page of a list of rows by their ids, as the database makes it. */
const pageOf = ({
  kind,
  queries,
  limit,
  order,
}: {
  kind: Kind
  queries: readonly ListQuery[]
  limit: number
  order: string
}): ListingRows => {
  const sign = order === 'asc' ? 1 : -1
  const rows = queries.flatMap(({ chainId, after }) =>
    Array.from({ length: ROWS[chainId] ?? 0 }, (_, at) => ({ chainId, id: at + 1 })).filter(
      ({ id }) => after === null || sign * (id - Number(after.id)) > 0,
    ),
  )
  const sorted = rows.sort((a, b) => sign * (a.id - b.id) || a.chainId - b.chainId).slice(0, limit)
  return {
    tips: queries.map(({ chainId }) => tipOf(chainId)),
    rows: sorted.map(({ chainId, id }) => listRow(kind, chainId, id)),
    total: null,
  }
}

const sourcesWith = (own: Partial<Parameters<typeof listSources>[0]> = {}) => listSources({ page: pageOf, ...own })

const namesOf = (rows: readonly { readonly chainId: number; readonly id: string | number }[]): string[] =>
  rows.map(({ chainId, id }) => `${chainId}/${id}`)

const refusalOf = async (page: Promise<unknown>) => {
  const error = await page.then(
    () => null,
    (reason: unknown) => reason,
  )
  if (!(error instanceof ServiceError)) throw new Error(`expected a refusal, got ${error}`)
  return [error.code, error.details?.[0]?.path ?? error.message]
}

describe.each(['asc', 'desc'] as const)('pages in the order %s', (order) => {
  test.each([[[8453, 56]], [[8453]], [[56]]])(
    'have each row of chains %j once, whatever their size',
    async (chainId) => {
      const all = pageOf({
        queries: chainId.map((id) => ({ chainId: id, after: null }) as ListQuery),
        ...{ kind: 'position', limit: 1_000, order },
      }).rows
      for (const limit of [1, 2, 8, 9, 10, 22, 23, 24, 31, 32, 33]) {
        const { sources, pages } = sourcesWith()
        const seen: string[] = []
        let cursor: string | null | undefined
        do {
          const { rows, meta } = await pageFor(
            sources,
            positions,
            { chainId, order, limit, ...(cursor && { cursor }) },
            null,
          )
          expect(rows.length).toBeLessThanOrEqual(limit)
          expect(meta).toMatchObject({ limit, hasMore: meta.nextCursor !== null })
          seen.push(...namesOf(rows))
          expect(seen.length).toBeLessThanOrEqual(all.length)
          cursor = meta.nextCursor
        } while (cursor !== null)
        expect(seen).toEqual(namesOf(all))
        // A full last page has no further one.
        expect(pages).toHaveLength(Math.ceil(all.length / limit))
        expect(new Set(pages.map((query) => query.limit))).toEqual(new Set([limit + 1]))
      }
    },
  )
})

test('the first page is bounded by the newest blocks, and the next ones keep its bounds and its time', async () => {
  let tip = blockOf(100n)
  let rollback = 4n
  const { sources, pages } = sourcesWith({
    page: (query) => ({
      ...pageOf(query),
      tips: query.queries.map((it) => tipOf(it.chainId, { block: tip, rollback })),
    }),
  })
  const first = await pageFor(sources, positions, { limit: 3 }, null)
  expect(pages[0]?.queries).toEqual(
    [8453, 56].map((chainId) => ({ chainId, after: null, upTo: null, now: null, rollback: null })),
  )
  expect(first.meta.asOf.map((it) => [it.chainId, it.blockNumber, it.blockTimestamp])).toEqual(
    [8453, 56].map((chainId) => [chainId, 100, Number(blockOf(100n).timestamp)]),
  )
  tip = blockOf(120n)
  rollback = 5n
  const second = await pageFor(sources, positions, { limit: 3, cursor: first.meta.nextCursor ?? '' }, null)
  expect(second.meta.asOf.map(({ blockNumber }) => blockNumber)).toEqual([100, 100])
  expect(pages[1]?.queries).toEqual([
    // All three rows of the first page are of the first chain.
    {
      chainId: 8453,
      after: { id: 21n, key: '' },
      upTo: 100n,
      now: blockOf(100n).timestamp,
      rollback: 4n,
    },
    { chainId: 56, after: null, upTo: 100n, now: blockOf(100n).timestamp, rollback: 4n },
  ])
  await pageFor(sources, positions, { limit: 3, cursor: second.meta.nextCursor ?? '' }, null)
  const { timestamp } = blockOf(100n)
  expect(pages[2]?.queries.map(({ upTo, now, rollback: since }) => [upTo, now, since])).toEqual([
    [100n, timestamp, 4n],
    [100n, timestamp, 4n],
  ])
})

test('a position is that of the last row of its chain, and not of a chain whose id begins with the same digits', async () => {
  const { sources, pages } = sourcesWith({
    page: ({ queries }) => ({
      tips: queries.map(({ chainId }) => tipOf(chainId)),
      rows: [listRow('event', 8453, 9), listRow('event', 56, 8), ...[4, 3].map((id) => listRow('event', 84532, id))],
      total: null,
    }),
  })
  const { meta } = await pageFor(sources, events, { limit: 3 }, null)
  await pageFor(sources, events, { limit: 3, cursor: meta.nextCursor ?? '' }, null)
  expect(pages[1]?.queries.map(({ chainId, after }) => [chainId, after?.id])).toEqual([
    [8453, 9n],
    [56, 8n],
  ])
})

test('a position keeps the expiry of the last row of its chain', async () => {
  const rowOf = (chainId: number, id: number, expiryDate: string) => listRow('event', chainId, id, { expiryDate })
  const { sources, pages } = sourcesWith({
    page: ({ queries }) => ({
      tips: queries.map(({ chainId }) => tipOf(chainId)),
      rows: [rowOf(8453, 9, '700'), rowOf(56, 4, '701'), rowOf(8453, 2, '702'), rowOf(8453, 3, '703')],
      total: null,
    }),
  })
  const { meta } = await pageFor(sources, events, { sort: 'expiry', order: 'asc', limit: 3 }, null)
  await pageFor(sources, events, { sort: 'expiry', order: 'asc', limit: 3, cursor: meta.nextCursor ?? '' }, null)
  expect(pages[1]?.queries.map(({ after }) => after)).toEqual([
    { id: 2n, key: '702' },
    { id: 4n, key: '701' },
  ])
})

describe('finality', () => {
  const final = blockOf(90n)
  const page = async (finalBlock: StoredBlock | null) => {
    const asked: string[] = []
    const { sources, pages } = sourcesWith({
      finalBlock: (chainId, finality) => {
        asked.push(`${chainId} ${finality}`)
        return chainId === 56 ? finalBlock : null
      },
    })
    const query = { finality: 'finalized', limit: 2 } as const
    const { meta } = await pageFor(sources, positions, query, null)
    const next = await pageFor(sources, positions, { ...query, cursor: meta.nextCursor ?? '' }, null)
    return { asked, pages, meta, next }
  }

  test('bounds the rows of each chain by its final block, whose time judges expiry', async () => {
    const { asked, pages, meta, next } = await page(final)
    // Only the first page asks for the final blocks.
    expect(asked).toEqual(['8453 finalized', '56 finalized'])
    expect(pages[0]?.queries.map(({ upTo, now }) => [upTo, now])).toEqual([
      [null, null],
      [90n, final.timestamp],
    ])
    expect(meta.asOf.map(({ blockNumber }) => blockNumber)).toEqual([100, 90])
    expect(next.meta.asOf.map(({ blockNumber }) => blockNumber)).toEqual([100, 90])
    expect(pages[1]?.queries.map(({ upTo }) => upTo)).toEqual([100n, 90n])
  })

  test.each([
    [99n, 99],
    [100n, 100],
    [101n, 100],
  ])('of block %i has the index as a bound too', async (number, expected) => {
    expect((await page(blockOf(number))).meta.asOf[1]?.blockNumber).toBe(expected)
  })
})

describe('a cursor', () => {
  const base: ListingQuery = { chainId: [8453, 56], limit: 2, wallet: [walletOf(1)], claimed: true }
  const first = async (query: ListingQuery = base, list = positions) =>
    (await pageFor(sourcesWith().sources, list, query, null)).meta.nextCursor ?? ''

  test.each<[string, ListingQuery]>([
    ['another order', { ...base, order: 'asc' }],
    ['another sort', { ...base, sort: 'expiry' }],
    ['fewer chains', { ...base, chainId: [8453] }],
    ['another finality', { ...base, finality: 'safe' }],
    ['another wallet', { ...base, wallet: [walletOf(2)] }],
    ['more wallets', { ...base, wallet: [walletOf(1), walletOf(2)] }],
    ['another value of a filter', { ...base, claimed: false }],
    ['one filter more', { ...base, claimable: true }],
    ['one filter less', { chainId: [8453, 56], limit: 2, wallet: [walletOf(1)] }],
    ['an event', { ...base, eventId: 0 }],
    ['an expiry from', { ...base, expiryFrom: 1 }],
    ['an expiry to', { ...base, expiryTo: 1 }],
    ['a state', { ...base, state: 'open' }],
    ['a pair', { ...base, underlying: 'USD/GHS' }],
    ['a symbol', { ...base, symbol: 'USDC' }],
    ['a capacity', { ...base, capacityFrom: 1n }],
    ['an open pool', { ...base, poolOpen: false }],
    ['a direction', { ...base, strikeAbove: false }],
    ['withdrawn ones', { ...base, withdrawn: false }],
    ['a token', { ...base, paymentToken: walletOf(5) }],
  ])('of a list is rejected by the list with %s, and reads nothing', async (_, query) => {
    const { sources, pages } = sourcesWith()
    const refused = pageFor(sources, positions, { ...query, cursor: await first() }, null)
    expect(await refusalOf(refused)).toEqual(['validation_error', 'cursor'])
    expect(pages).toEqual([])
  })

  test('of another kind of list is rejected', async () => {
    const { sources } = sourcesWith()
    expect(await refusalOf(pageFor(sources, events, { ...base, cursor: await first() }, null))).toEqual([
      ...['validation_error', 'cursor'],
    ])
  })

  test.each<[string, ListingQuery]>([
    ['another size of the page', { ...base, limit: 9 }],
    ['the chains in another order', { ...base, chainId: [56, 8453] }],
    ['what it includes', { ...base, include: [] }],
    ['a count', { ...base, count: true }],
    ['the default order', { ...base, order: 'desc', sort: 'created', finality: 'latest' }],
    ['a capacity of 0', { ...base, capacityFrom: 0n }],
  ])('continues the list with %s', async (_, query) => {
    const { sources } = sourcesWith()
    expect((await pageFor(sources, positions, { ...query, cursor: await first() }, null)).rows.length).toBeGreaterThan(
      1,
    )
  })

  test('continues a list whose texts are spelled in another case of the letters A to Z, and no other letters', async () => {
    const cursor = await first({ underlying: 'USD/ÉZ', symbol: 'aZ', limit: 2 }, events)
    const page = (underlying: string) =>
      pageFor(sourcesWith().sources, events, { underlying, symbol: 'Az', limit: 2, cursor }, null)
    expect((await page('usd/Éz')).rows).toHaveLength(2)
    expect(await refusalOf(page('usd/éz'))).toEqual(['validation_error', 'cursor'])
  })
})

test('the filters of the database are those of the request', async () => {
  const { sources, pages } = sourcesWith()
  const query: ListingQuery = {
    ...{ wallet: [walletOf(1)], eventId: 0, claimable: false, claimed: true, withdrawn: false, underlying: 'AbZ' },
    ...{ symbol: 'Zb', paymentToken: walletOf(5), strikeAbove: false, poolOpen: true, capacityFrom: 7n, state: 'open' },
    ...{ expiryFrom: 0, expiryTo: 9, include: ['stats'], count: true },
  }
  await pageFor(sources, positions, query, null)
  await pageFor(sources, events, { creator: [walletOf(2)] }, null)
  expect(pages[0]).toMatchObject({
    kind: 'position',
    include: ['stats'],
    count: true,
    limit: 51,
    sort: 'created',
    order: 'desc',
  })
  expect(pages[0]?.filters).toEqual({
    ...{ owners: [walletOf(1)], eventId: 0n, claimable: false, claimed: true, withdrawn: false, underlying: 'abz' },
    ...{ symbol: 'zb', paymentToken: walletOf(5), strikeAbove: false, poolOpen: true, capacityFrom: 7n, state: 'open' },
    ...{ expiryFrom: 0n, expiryTo: 9n },
  })
  expect(pages[0]?.deployments.map(({ chainId, profile }) => [chainId, profile])).toEqual([
    [8453, 'reference'],
    [56, 'deployed'],
  ])
  expect(pages[1]).toMatchObject({ kind: 'event', filters: { owners: [walletOf(2)] }, count: false })
  expect(pages[1]?.filters).not.toHaveProperty('capacityFrom')
})

describe('a page reports', () => {
  const withTips = (
    own: Parameters<typeof tipOf>[1],
    other: Parameters<typeof tipOf>[1] = {},
    total: number | null = null,
  ) =>
    sourcesWith({
      page: (query) => ({ ...pageOf(query), tips: [tipOf(8453, own), tipOf(56, other)], total }),
    }).sources
  const head = (seconds: bigint, ageSeconds = 1) => ({
    timestamp: blockOf(100n).timestamp + seconds,
    isQuiet: false,
    ageSeconds,
  })

  test.each([
    [60n, false],
    [61n, true],
  ])('a lag of %i s, and whether it is stale by it', async (seconds, stale) => {
    const { meta, freshness } = await pageFor(withTips({ head: head(2n) }, { head: head(seconds) }), events, {}, null)
    expect(meta.asOf.map(({ lagSeconds }) => lagSeconds)).toEqual([2, Number(seconds)])
    expect(freshness).toEqual({ source: 'database', stale, lagSeconds: Number(seconds) })
  })

  test('no lag and a stale answer before the first heartbeat of one chain', async () => {
    const { meta, freshness } = await pageFor(withTips({ head: null }), events, {}, null)
    expect(meta.asOf.map(({ lagSeconds }) => lagSeconds)).toEqual([null, 0])
    expect(freshness).toEqual({ source: 'database', stale: true })
  })

  test('a reorg of its own chain, and the total if it is counted', async () => {
    const { meta } = await pageFor(withTips({ reorged: true }, {}, 0), events, {}, null)
    expect(meta.asOf.map(({ reorgedSince }) => reorgedSince)).toEqual([true, false])
    expect(meta.total).toBe(0)
    expect((await pageFor(withTips({}), events, {}, null)).meta).not.toHaveProperty('total')
  })

  test('refreshing chains only where a filter depends on observations', async () => {
    const sources = withTips({}, { isRefreshing: true })
    expect((await pageFor(sources, events, { state: 'open' }, null)).refreshing).toEqual([56])
    expect((await pageFor(sources, events, { expiryFrom: 1 }, null)).refreshing).toEqual([])
  })

  test('its one block, which has to be as new as the request requires', async () => {
    const page = (atLeast: bigint, query: ListingQuery = {}) =>
      pageFor(sourcesWith().sources, events, { chainId: [56], limit: 2, ...query }, atLeast)
    const { freshness, meta } = await page(100n)
    expect(freshness.block).toEqual(blockOf(100n))
    expect(await refusalOf(page(101n))).toEqual([
      'service_unavailable',
      expect.stringContaining('block 101 of chain 56'),
    ])
    const cursor = meta.nextCursor ?? ''
    expect((await page(100n, { cursor })).rows).toHaveLength(2)
    expect(await refusalOf(page(101n, { cursor }))).toEqual(['validation_error', 'cursor'])
  })

  test('that a chain is not indexed yet', async () => {
    const { sources } = sourcesWith({ page: (query) => ({ ...pageOf(query), tips: [tipOf(8453)] }) })
    expect(await refusalOf(pageFor(sources, events, {}, null))).toEqual([
      ...['service_unavailable', 'chain 56 is not indexed yet'],
    ])
  })
})

describe('rows by their ids', () => {
  const byIds = (query: ListingQuery, finalBlock?: StoredBlock) => {
    const fake = sourcesWith({
      byIds: ({ kind, ids, query: { chainId } }) => ({
        tips: [tipOf(chainId)],
        rows: ids.filter((id) => id < 10n).map((id) => listRow(kind, chainId, Number(id))),
        total: null,
      }),
      ...(finalBlock && { finalBlock: () => finalBlock }),
    })
    return { ...fake, page: pageFor(fake.sources, positions, query, null) }
  }

  test('are in their order, and those that do not exist are named', async () => {
    const { page, byIds: queries } = byIds({ chainId: [56], ids: [7, 12, 3, 99] })
    const { rows, meta } = await page
    expect(namesOf(rows)).toEqual(['56/7', '56/3'])
    expect(meta).toMatchObject({ limit: 4, hasMore: false, nextCursor: null, missing: [12, 99] })
    expect(queries).toMatchObject([
      {
        kind: 'position',
        ids: [7n, 12n, 3n, 99n],
        include: [],
        query: { chainId: 56, upTo: null, after: null },
      },
    ])
  })

  test('can be limited to final blocks', async () => {
    const { page, byIds: queries } = byIds({ chainId: [56], ids: [7], finality: 'safe' }, blockOf(90n))
    expect((await page).meta.asOf).toMatchObject([{ chainId: 56, blockNumber: 90 }])
    expect(queries[0]?.query).toMatchObject({ upTo: 90n, now: blockOf(90n).timestamp })
  })

  test.each<[string, ListingQuery]>([
    ['chainId', {}],
    ['chainId', { chainId: [8453, 56] }],
    ['limit', { chainId: [56], limit: 1 }],
    ['cursor', { chainId: [56], cursor: '' }],
    ['order', { chainId: [56], order: 'asc' }],
    ['claimed', { chainId: [56], claimed: false }],
    ['count', { chainId: [56], count: true }],
  ])('require one chain and nothing else: %s is refused with %j', async (path, query) => {
    const { page, byIds: queries } = byIds({ ids: [1], ...query })
    expect(await refusalOf(page)).toEqual(['validation_error', path])
    expect(queries).toEqual([])
  })

  test('can require a block', async () => {
    const { page } = byIds({ chainId: [56], ids: [1], minBlock: 5, waitMs: 1 })
    expect((await page).rows).toHaveLength(1)
  })
})
