import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Database } from '../../../src/db/pool.ts'
import type { Filters } from '../../../src/db/queries/filters.ts'
import { createListings, type ListQuery } from '../../../src/db/queries/listings.ts'
import type { ListRow } from '../../../src/db/queries/rows.ts'
import { type Kind, kinds } from '../../../src/protocol/entities.ts'
import { entityRecord } from '../../../src/protocol/records.ts'
import { eventFields } from '../../../src/protocol/rows.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { openDatabase } from '../../support/open-database.ts'
import {
  type SeededDeposit,
  type SeededEvent,
  type SeededPosition,
  seedDeployment,
  seedToken,
} from '../../support/seed-index.ts'
import { furtherToken, ownerOf, owners, states, statesTip, unseen, writeStates } from '../../support/seed-states.ts'

/* The pages of lists as the database returns them, compared with a calculation over the rows. */

let store: TestDatabase
let database: Database
beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url)
  await writeStates(database)
})
afterAll(async () => {
  await database?.close()
  await store?.close()
})

type Chain = 8453 | 56
type Seeded = SeededEvent | SeededDeposit | SeededPosition
type Row = { readonly chainId: Chain; readonly fact: Seeded['fact']; readonly seen: Seeded['seen'] | null }
type Query = Parameters<ReturnType<typeof createListings>['page']>[0]

const deployments = [8453, 56].map(seedDeployment)

const queryOf = (chainId: number): ListQuery => ({
  ...{ chainId, after: null, upTo: null, now: null, rollback: null },
})

const page = (query: Pick<Query, 'kind'> & Partial<Query>) =>
  createListings(database).page({
    queries: [8453, 56].map(queryOf),
    ...{ filters: {}, deployments, sort: 'created', order: 'asc', include: [], limit: 201, count: false },
    ...query,
  })

const namesOf = (rows: readonly ListRow[]): string[] => rows.map(({ chainId, id }) => `${chainId}/${id}`)

/** All rows in pages of a size, each continued after the last row of each chain. */
const readPages = async (query: Pick<Query, 'kind'> & Partial<Query>, limit: number): Promise<string[]> => {
  const rows: ListRow[] = []
  let queries = query.queries ?? [8453, 56].map(queryOf)
  for (;;) {
    const found = await page({ ...query, queries, limit })
    expect(found.rows.length).toBeLessThanOrEqual(limit)
    rows.push(...found.rows)
    expect(rows.length).toBeLessThan(200)
    if (found.rows.length === 0) return namesOf(rows)
    queries = queries.map((it) => {
      const last = found.rows.findLast(({ chainId }) => chainId === it.chainId)
      const key = query.sort === 'expiry' ? (last?.expiryDate ?? '') : ''
      return last === undefined ? it : { ...it, rollback: 0n, after: { id: BigInt(last.id), key } }
    })
  }
}

const allOf = (kind: Kind): Row[] =>
  ([8453, 56] as const).flatMap((chainId) => [
    ...states[chainId][`${kind}s`].map((row: Seeded) => ({ chainId, ...row })),
    ...(chainId === 8453 ? [{ chainId, fact: unseen[kind], seen: null }] : []),
  ])

/** The rows by the time of their blocks, then by chain, then by id. */
const inOrder = (rows: readonly Row[], order: 'asc' | 'desc'): string[] => {
  const sign = order === 'asc' ? 1 : -1
  return rows
    .toSorted(
      (a, b) =>
        sign * Number(a.fact.blockNumber - b.fact.blockNumber) ||
        a.chainId - b.chainId ||
        sign * Number(a.fact.id - b.fact.id),
    )
    .map(({ chainId, fact }) => `${chainId}/${fact.id}`)
}

/** The observation of a row's event. */
const eventOf = ({ chainId, fact }: Row) => {
  const id = 'eventId' in fact ? fact.eventId : fact.id
  return states[chainId].events.find((event) => event.fact.id === id)?.seen
}

const isSettled = (row: Row): boolean => (eventOf(row)?.stats.settledAt ?? 0n) > 0n
const earns = (row: Row): boolean => (eventOf(row)?.stats.creatorEarnings ?? 0n) > 0n
const depositOf = ({ seen }: Row) => (seen !== null && 'deposit' in seen ? seen : null)
const positionOf = ({ seen }: Row) => (seen !== null && 'position' in seen ? seen.position : null)
const isDepositClaimable = (row: Row): boolean =>
  (depositOf(row)?.pending ?? 0n) > 0n || (isSettled(row) && depositOf(row)?.deposit.withdrawn === false)
const isPositionClaimable = (row: Row): boolean => {
  const { claimed = true, payoutAmount = 0n, status = 0 } = positionOf(row) ?? {}
  return !claimed && payoutAmount > 0n && status !== 0 && isSettled(row) && eventOf(row)?.stats.triggered === true
}
const expiryOf = ({ fact }: Row): bigint => ('expiryDate' in fact ? fact.expiryDate : 0n)
const now = statesTip.timestamp

const byOwner = (...wallets: readonly (string | undefined)[]) => {
  return ({ fact }: Row): boolean => wallets.includes(ownerOf(fact))
}

const cases: readonly (readonly [Kind, Filters, (row: Row) => boolean])[] = [
  ['event', {}, () => true],
  ['event', { owners: owners.slice(0, 1) }, byOwner(owners[0])],
  ['event', { owners: [...owners.slice(1), ...owners.slice(1)] }, byOwner(owners[1], owners[2])],
  ['event', { underlying: 'usd/ngn' }, ({ fact }) => 'underlying' in fact && fact.underlying === 'USD/NGN'],
  ['event', { claimable: true }, earns],
  ['event', { paymentToken: furtherToken }, (row) => eventOf(row)?.paymentToken === furtherToken],
  ['event', { strikeAbove: true }, (row) => eventOf(row)?.core.strikeAbove === true],
  ['event', { strikeAbove: false }, (row) => eventOf(row)?.core.strikeAbove === false],
  ['event', { poolOpen: true }, (row) => eventOf(row)?.core.poolOpen === true && !isSettled(row)],
  [
    'event',
    { poolOpen: false },
    (row) => eventOf(row) !== undefined && (eventOf(row)?.core.poolOpen === false || isSettled(row)),
  ],
  ['event', { state: 'open' }, (row) => !isSettled(row) && expiryOf(row) > now],
  ['event', { state: 'expired' }, (row) => !isSettled(row) && expiryOf(row) <= now],
  ['event', { state: 'settled' }, isSettled],
  ['event', { state: 'triggered' }, (row) => isSettled(row) && eventOf(row)?.stats.triggered === true],
  ['event', { expiryFrom: now }, (row) => expiryOf(row) >= now],
  ['event', { expiryTo: now }, (row) => expiryOf(row) <= now],
  ['event', { expiryFrom: now, expiryTo: now }, (row) => expiryOf(row) === now],
  [
    'event',
    { owners: owners.slice(0, 2), state: 'settled', paymentToken: furtherToken, expiryFrom: now - 1n },
    (row) => byOwner(...owners.slice(0, 2))(row) && isSettled(row) && eventOf(row)?.paymentToken === furtherToken,
  ],
  ['deposit', {}, () => true],
  ['deposit', { owners: owners.slice(2) }, byOwner(owners[2])],
  ['deposit', { eventId: 3n }, ({ fact }) => 'eventId' in fact && fact.eventId === 3n],
  ['deposit', { withdrawn: true }, (row) => depositOf(row)?.deposit.withdrawn === true],
  ['deposit', { withdrawn: false }, (row) => depositOf(row)?.deposit.withdrawn !== true],
  ['deposit', { claimable: true }, isDepositClaimable],
  ['deposit', { claimable: false }, (row) => !isDepositClaimable(row)],
  [
    'deposit',
    { withdrawn: true, claimable: true },
    (row) => depositOf(row)?.deposit.withdrawn === true && isDepositClaimable(row),
  ],
  ['position', {}, () => true],
  ['position', { owners: owners.slice(0, 2) }, byOwner(...owners.slice(0, 2))],
  ['position', { eventId: 4n }, ({ fact }) => 'eventId' in fact && fact.eventId === 4n],
  ['position', { claimed: true }, (row) => positionOf(row)?.claimed === true],
  ['position', { claimed: false }, (row) => positionOf(row)?.claimed !== true],
  ['position', { claimable: true }, isPositionClaimable],
  ['position', { claimable: false }, (row) => !isPositionClaimable(row)],
  [
    'position',
    { owners: owners.slice(0, 2), claimable: true, claimed: false },
    (row) => byOwner(...owners.slice(0, 2))(row) && isPositionClaimable(row),
  ],
]

const titled = cases.map(([kind, filters, keep]) => {
  const text = JSON.stringify(filters, (_, value) => (typeof value === 'bigint' ? String(value) : value))
  return { kind, filters, keep, text: text.slice(0, 60) }
})

describe.each(['asc', 'desc'] as const)('in the order %s', (order) => {
  test.each(titled)('pages of $kind rows with $text have each row once and count all', async (given) => {
    const { kind, filters, keep } = given
    const expected = inOrder(allOf(kind).filter(keep), order)
    expect(expected.length).toBeGreaterThan(0)
    const whole = await page({ kind, filters, order, count: true })
    expect(namesOf(whole.rows)).toEqual(expected)
    expect(whole.total).toBe(expected.length)
    expect(await readPages({ kind, filters, order }, 7)).toEqual(expected)
    // On one chain alone.
    const alone = await page({ kind, filters, order, count: true, queries: [queryOf(56)] })
    const own = expected.filter((name) => name.startsWith('56/'))
    expect([namesOf(alone.rows), alone.total]).toEqual([own, own.length])
  })

  test.each([{}, { owners: owners.slice(0, 2) }, { paymentToken: furtherToken }, { state: 'settled' }] as Filters[])(
    'pages by expiry have rows of equal expiry once, by chain and id, with %o',
    async (filters) => {
      const sign = order === 'asc' ? 1 : -1
      const keep = (row: Row): boolean =>
        (filters.owners === undefined || byOwner(...filters.owners)(row)) &&
        (filters.paymentToken === undefined || eventOf(row)?.paymentToken === furtherToken) &&
        (filters.state === undefined || isSettled(row))
      const expected = allOf('event')
        .filter(keep)
        .sort(
          (a, b) =>
            sign * Number(expiryOf(a) - expiryOf(b)) || a.chainId - b.chainId || sign * Number(a.fact.id - b.fact.id),
        )
        .map(({ chainId, fact }) => `${chainId}/${fact.id}`)
      expect(new Set(allOf('event').map(expiryOf)).size).toBeLessThan(6)
      for (const limit of [1, 3, 200])
        expect(await readPages({ kind: 'event', filters, order, sort: 'expiry' }, limit)).toEqual(expected)
    },
  )

  test('later blocks with earlier times leave the rows of a chain in the order of their ids', async () => {
    await database.run((handle) =>
      handle.execute(`UPDATE events SET block_timestamp = block_timestamp - 50 WHERE chain_id = 56 AND id = 4`),
    )
    try {
      const names = await readPages({ kind: 'event', order }, 2)
      const ids = [1, 2, 3, 4, 5, 6, 7, 8].map((id) => `56/${id}`)
      expect(names.filter((name) => name.startsWith('56/'))).toEqual(order === 'asc' ? ids : ids.toReversed())
      expect(names).toHaveLength(17)
    } finally {
      await database.run((handle) =>
        handle.execute(`UPDATE events SET block_timestamp = block_timestamp + 50 WHERE chain_id = 56 AND id = 4`),
      )
    }
  })
})

test.each(kinds)('the rows of %s end with the block that bounds the list, on each chain by its own', async (kind) => {
  for (const upTo of [1n, 2n, 3n]) {
    const queries = [{ ...queryOf(8453), upTo }, queryOf(56)]
    const expected = allOf(kind).filter((row) => row.chainId === 56 || row.fact.blockNumber <= upTo)
    const found = await page({ kind, queries, count: true })
    expect([namesOf(found.rows), found.total]).toEqual([inOrder(expected, 'asc'), expected.length])
  }
})

test('rows after the newest indexed block are left out, whatever block bounds the list', async () => {
  const setTip = (number: bigint) =>
    database.run((handle) => handle.execute(sql`UPDATE cursors SET block_number = ${number} WHERE chain_id = 56`))
  await setTip(1n)
  try {
    for (const upTo of [null, 1n, 2n, 99n]) {
      const found = await page({ kind: 'event', queries: [{ ...queryOf(56), upTo }] })
      expect(namesOf(found.rows)).toEqual(['56/1', '56/2', '56/3', '56/4', '56/5'])
    }
  } finally {
    await setTip(statesTip.number)
  }
})

test('the time of the first page decides about expiry, not that of the newest block', async () => {
  const queries = [{ ...queryOf(8453), now: now - 1n }]
  const open = await page({ kind: 'event', queries, filters: { state: 'open' } })
  expect(namesOf(open.rows)).toEqual(
    inOrder(
      allOf('event').filter((row) => row.chainId === 8453 && !isSettled(row) && expiryOf(row) > now - 1n),
      'asc',
    ),
  )
})

test('a chain that is not indexed has no rows and no tip', async () => {
  const found = await page({ kind: 'event', queries: [queryOf(8453), { ...queryOf(56), chainId: 137 }] })
  expect(found.tips.map(({ chainId }) => chainId)).toEqual([8453])
  expect(new Set(found.rows.map(({ chainId }) => chainId))).toEqual(new Set([8453]))
})

test.each(kinds)('rows of %s by their ids are in the order of the ids, of one chain, up to its bound', async (kind) => {
  const byIds = (ids: readonly bigint[], query = queryOf(56)) =>
    createListings(database).byIds({ kind, include: [], query, ids })
  const found = await byIds([5n, 2n, 999n, 7n])
  expect(namesOf(found.rows)).toEqual(['56/5', '56/2', '56/7'])
  expect(found.tips).toMatchObject([{ chainId: 56, block: statesTip, reorged: false, isRefreshing: false }])
  expect(found.total).toBeNull()
  // Rows 1 to 5 are of block 1, the others of later blocks.
  expect(namesOf((await byIds([6n, 5n], { ...queryOf(56), upTo: 1n })).rows)).toEqual(['56/5'])
  expect((await byIds([999n])).rows).toEqual([])
})

test.each(kinds)(
  'rows of %s have the columns of their record, their creation, and the token of their event',
  async (kind) => {
    const { rows } = await page({ kind })
    expect(rows.length).toBeGreaterThan(10)
    for (const row of rows) {
      const given = allOf(kind).find(({ chainId, fact }) => chainId === row.chainId && String(fact.id) === row.id)
      const token = given === undefined || given.seen === null ? null : eventOf(given)?.paymentToken
      expect(row).toMatchObject({
        ...{
          token,
          blockNumber: String(given?.fact.blockNumber),
          txHash: given?.fact.txHash,
          feeRate: 'rates_unknown',
        },
        ...(row.token === furtherToken && { symbol: null, decimals: null }),
      })
      expect(row.event()).toBeNull()
      expect(row.views && entityRecord[kind](row.views as never)).toEqual(
        given?.seen ? entityRecord[kind](given.seen as never) : null,
      )
    }
  },
)

test.each(kinds)('rows of %s that show their event have its columns and the time of its observation', async (kind) => {
  const { rows } = await page({ kind, include: ['stats'] })
  const observed = rows.filter(({ id }) => id !== '100')
  expect(observed.length).toBeGreaterThan(10)
  for (const row of observed) {
    const event = states[row.chainId as Chain].events[Number(row.eventId) - 1]?.seen
    const found = row.event()
    if (event === undefined || found === null) throw new Error(`no event ${row.eventId}`)
    const { profile } = seedDeployment(row.chainId)
    // The index has the side of the strike once.
    const range = { ...event.range, strikeAbove: event.core.strikeAbove }
    const fields = ['stats', 'utilization', 'range', 'event'] as const
    expect(eventFields(found, profile, fields)).toEqual(
      eventFields({ ...event, range, time: statesTip.timestamp }, profile, fields),
    )
  }
  expect(rows.filter(({ id }) => id === '100').map((row) => row.event())).toEqual([null])
})

test('a row keeps the token of its event while a rollback has deleted the observation of the event', async () => {
  const tokens = async () =>
    (await page({ kind: 'deposit', queries: [queryOf(56)], filters: { eventId: 2n } })).rows.map(({ token }) => token)
  const before = await tokens()
  expect(new Set(before)).toEqual(new Set([seedToken]))
  const run = (statement: string) => database.run((handle) => handle.execute(statement))
  await run('CREATE TABLE kept AS SELECT * FROM event_observations WHERE chain_id = 56 AND id = 2')
  await run('DELETE FROM event_observations WHERE chain_id = 56 AND id = 2')
  try {
    expect(await tokens()).toEqual(before)
  } finally {
    await run('INSERT INTO event_observations SELECT * FROM kept')
  }
})
