import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  completeRefreshRequests,
  idRangesOf,
  nextRefreshRequests,
  type RefreshSubject,
  refreshLag,
  requestEventRefresh,
  requestFollowUps,
  requestFullRefresh,
  requestMemberRefresh,
  requestRefresh,
  requestSettlementRefresh,
  subjectsIn,
} from '../../src/db/index/work/refresh-queue.ts'
import type { Database, Handle } from '../../src/db/pool.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
import { blockOf, type Plan, seedRows, seedToken, writeSeeded } from '../support/seed-index.ts'

const [chainId, other] = [8453, 56]
const plan: Plan = { token: seedToken, rowsABlock: 10, wallets: 7, events: 3 }

let store: TestDatabase
let database: Database

/** Two chains with the same ids. Deposits and positions 1, 4 and 7 belong to event 2. */
beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url, { maxConnections: 2 })
  for (const chain of [chainId, other])
    await writeSeeded(database, chain, blockOf(10n), seedRows(plan, { events: 3, deposits: 7, positions: 7 }))
})
afterAll(async () => {
  await database?.close()
  await store?.close()
})
beforeEach(() => run('DELETE FROM refresh_queue'))

const run = (statement: string) => database.run((handle) => handle.execute(sql.raw(statement)))
const inOne = <T>(work: (handle: Handle) => Promise<T>): Promise<T> => database.transaction((handle) => work(handle))
/** The requests of a chain in their order, as subject, id, number of ids, version and oldest block. */
const queued = async (chain = chainId): Promise<string[]> => {
  const { rows } = await run(
    `SELECT format('%s %s x%s v%s from %s', subject, id, many, version, from_block) AS it FROM refresh_queue WHERE chain_id = ${chain} ORDER BY sequence`,
  )
  return rows.map(({ it }) => String(it))
}
const event = (id: bigint): RefreshSubject => ({ subject: 'event', id })
const events = (id: bigint, many: number) => ({ ...event(id), many })

const ids = (...all: number[]) => all.map((id) => ({ id: BigInt(id) }))

test('ids are put into ranges of consecutive ones, up to the largest size', () => {
  const shown = (...given: Parameters<typeof idRangesOf>) =>
    idRangesOf(...given).map(({ subject, id, many }) => `${subject} ${id} x${many}`)
  expect(shown('event', [])).toEqual([])
  expect(shown('event', ids(1, 2, 4, 5, 6, 6, 3))).toEqual(['event 1 x2', 'event 4 x3', 'event 6 x1', 'event 3 x1'])
  expect(shown('deposit', ids(1, 2, 3), 3)).toEqual(['deposit 1 x3'])
  expect(shown('deposit', ids(1, 2, 3, 4), 3)).toEqual(['deposit 1 x3', 'deposit 4 x1'])
  const hundred = ids(...Array.from({ length: 101 }, (_, at) => at))
  expect(shown('position', hundred)).toEqual(['position 0 x100', 'position 100 x1'])
})

test('the subjects of ranges are each there once', () => {
  const found = subjectsIn([events(3n, 2), { subject: 'deposit', id: 4n, many: 1 }, events(4n, 2)])
  expect(found.map(({ subject, id }) => `${subject} ${id}`)).toEqual(['event 3', 'event 4', 'deposit 4', 'event 5'])
})

test('one call raises a request once, and requests the largest of its ranges', async () => {
  await inOne((it) => requestRefresh(it, chainId, [event(1n), events(1n, 3), events(1n, 2), event(2n)], 5n))
  await inOne((it) => requestRefresh(it, chainId, [], 1n))
  expect(await queued()).toEqual(['event 1 x3 v1 from 5', 'event 2 x1 v1 from 5'])
  await inOne((it) => requestRefresh(it, chainId, [event(1n)], 4n))
  await inOne((it) => requestRefresh(it, chainId, [events(2n, 4)], null))
  expect(await queued()).toEqual(['event 1 x3 v2 from 4', 'event 2 x4 v2 from 5'])
  await inOne((it) => requestRefresh(it, chainId, [event(3n)]))
  expect((await queued())[2]).toBe('event 3 x1 v1 from 0')
  expect(await queued(other)).toEqual([])
})

test('the members of events, and the events of members, are those of the chain', async () => {
  await inOne((it) => requestMemberRefresh(it, chainId, 'position', [2n], 9n))
  expect(await queued()).toEqual([1, 4, 7].map((id) => `position ${id} x1 v1 from 9`))
  expect(await queued(other)).toEqual([])
  await run('DELETE FROM refresh_queue')
  await run(`UPDATE deposits SET event_id = 9 WHERE chain_id = ${other}`)
  await inOne((it) => requestEventRefresh(it, chainId, 'deposit', [1n, 4n], 8n))
  expect(await queued()).toEqual(['event 2 x1 v1 from 8'])
  await inOne((it) => requestEventRefresh(it, chainId, 'deposit', [], 8n))
  await inOne((it) => requestMemberRefresh(it, chainId, 'deposit', [], 8n))
  expect([await queued(), await queued(other)]).toEqual([['event 2 x1 v1 from 8'], []])
})

const follow = (subject: 'deposit' | 'position', block: bigint, except: readonly bigint[] = []) =>
  inOne((it) => requestFollowUps(it, chainId, subject, { eventIds: [2n], block, except }))

test.each([
  ['its own request', events(2n, 1), 3],
  ['a range that ends with it', events(1n, 2), 3],
  ['a range that ends before it', events(0n, 2), 7],
  ['a range that begins after it', events(3n, 5), 7],
  ['a request of another kind', { subject: 'deposit', id: 2n, many: 1 }, 7],
] as const)('a follow-up is from the block of %s if that contains its event', async (_, range, from) => {
  await inOne((it) => requestRefresh(it, chainId, [range], 3n))
  await inOne((it) => requestRefresh(it, other, [events(2n, 1)], 1n))
  await follow('position', 7n, [7n])
  expect((await queued()).filter((it) => it.startsWith('position'))).toEqual([
    `position 1 x1 v1 from ${from}`,
    `position 4 x1 v1 from ${from}`,
  ])
  expect(await queued(other)).toEqual(['event 2 x1 v1 from 1'])
})

test('a follow-up finds the request of its event in a range of the largest size', async () => {
  await run(`UPDATE positions SET event_id = 100 WHERE chain_id = ${chainId} AND id = 7`)
  const last = async (range: RefreshSubject & { readonly many: number }) => {
    await run('DELETE FROM refresh_queue')
    await inOne((it) => requestRefresh(it, chainId, [range], 3n))
    await inOne((it) => requestFollowUps(it, chainId, 'position', { eventIds: [100n], block: 8n, except: [] }))
    return (await queued()).at(-1)
  }
  expect(await last(events(1n, 100))).toBe('position 7 x1 v1 from 3')
  expect(await last(events(1n, 99))).toBe('position 7 x1 v1 from 8')
  await run(`UPDATE positions SET event_id = 2 WHERE chain_id = ${chainId} AND id = 7`)
})

test('a full refresh requests everything in ranges and leaves the other chain alone', async () => {
  await run(`INSERT INTO deposits (chain_id, id, event_id, lp, amount, shares, block_number, block_hash, block_timestamp, tx_hash, log_index)
    SELECT chain_id, n, event_id, lp, amount, shares, block_number, block_hash, block_timestamp, tx_hash, log_index
    FROM deposits, generate_series(8, 201) n WHERE chain_id = ${chainId} AND id = 1`)
  await inOne((it) => requestRefresh(it, chainId, [event(1n)], 3n))
  await inOne((it) => requestFullRefresh(it, chainId, 6n))
  expect(await queued()).toEqual([
    'event 1 x3 v2 from 3',
    'chain 0 x1 v1 from 6',
    'deposit 1 x100 v1 from 6',
    'deposit 101 x100 v1 from 6',
    'deposit 201 x1 v1 from 6',
    'position 1 x7 v1 from 6',
  ])
  expect(await queued(other)).toEqual([])
  await inOne((it) => requestFullRefresh(it, other, 6n))
  expect((await queued(other))[2]).toBe('deposit 1 x7 v1 from 6')
  await run('DELETE FROM deposits WHERE id > 7')
})

test('requests are read oldest first, up to about a number of subjects, without some of them, of one chain', async () => {
  await inOne((it) => requestRefresh(it, other, [event(9n)]))
  await inOne((it) => requestRefresh(it, chainId, [events(1n, 3), event(5n), event(6n), event(7n)]))
  const read = async (limit: number, except: Parameters<typeof nextRefreshRequests>[3] = []) =>
    (await nextRefreshRequests(database, chainId, limit, except)).map(({ id }) => Number(id))
  await inOne((it) => requestRefresh(it, chainId, [event(0n)]))
  expect(await read(10)).toEqual([1, 5, 6, 7, 0])
  // The range of three ids takes the room of three.
  expect([await read(1), await read(2), await read(3), await read(4)]).toEqual([[1], [1], [1], [1, 5]])
  const [first, second] = await nextRefreshRequests(database, chainId, 10)
  if (first === undefined || second === undefined) throw new Error('two requests are needed')
  expect(await read(10, [first])).toEqual([5, 6, 7, 0])
  expect(await read(2, [first, second])).toEqual([6, 7])
})

test('completing requests needs their sequence, their version and their chain', async () => {
  await inOne((it) => requestRefresh(it, chainId, [event(1n), event(2n)], 4n))
  await inOne((it) => requestRefresh(it, other, [event(1n)], 4n))
  const read = await nextRefreshRequests(database, chainId, 10)
  await inOne((it) => completeRefreshRequests(it, other, read, 9n))
  await inOne((it) => completeRefreshRequests(it, chainId, [], 9n))
  expect(await queued()).toHaveLength(2)
  const swapped = read.map((it, at) => ({ ...it, version: at + 1 }))
  await inOne((it) => completeRefreshRequests(it, chainId, swapped, 3n))
  // The block is older than the request, which still has to show it.
  expect(await queued()).toEqual(['event 2 x1 v1 from 4'])
  expect(await queued(other)).toEqual(['event 1 x1 v1 from 4'])
})

test.each([
  [3n, 4],
  [4n, 5],
  [9n, 10],
])(
  'an observation at block %i leaves a raised request of block 4 with the changes from block %i on',
  async (block, from) => {
    await inOne((it) => requestRefresh(it, chainId, [event(1n)], 4n))
    await inOne((it) => requestRefresh(it, other, [event(1n)], 4n))
    const read = await nextRefreshRequests(database, chainId, 10)
    await inOne((it) => requestRefresh(it, chainId, [event(1n)], 12n))
    await inOne((it) => completeRefreshRequests(it, chainId, read, block))
    expect(await queued()).toEqual([`event 1 x1 v2 from ${from}`])
    expect(await queued(other)).toEqual(['event 1 x1 v1 from 4'])
  },
)

test('the lag counts the subjects of ranges and is that of the oldest request of the chain', async () => {
  await inOne((it) => requestRefresh(it, chainId, [events(1n, 3), event(9n)]))
  await inOne((it) => requestRefresh(it, other, [event(1n)]))
  await run(`UPDATE refresh_queue SET since = now() - interval '50 seconds' WHERE chain_id = ${chainId} AND id = 1`)
  await run(`UPDATE refresh_queue SET since = now() - interval '500 seconds' WHERE chain_id = ${other}`)
  const { waiting, oldestSeconds } = await refreshLag(database, chainId)
  expect(waiting).toBe(4)
  expect(oldestSeconds).toBeGreaterThanOrEqual(50)
  expect(oldestSeconds).toBeLessThan(200)
})

/** The time in seconds after which an expired event is refreshed by sweeps only. */
const AWAITED = 7 * 86_400

test.each([
  ['that expires now', 0, true],
  ['that expires in a second', 1, false],
  ['that expired almost a week ago', 1 - AWAITED, true],
  ['that expired a week ago', -AWAITED, false],
])('an unsettled event %s is awaited: %s seconds from now, %s', async (_, seconds, isAwaited) => {
  const { timestamp } = blockOf(10n)
  await run(`UPDATE events SET expiry_date = ${timestamp} + ${seconds} WHERE id = 1`)
  await run(`UPDATE events SET expiry_date = ${timestamp} + 99 WHERE id <> 1`)
  await inOne((it) => requestSettlementRefresh(it, chainId, { number: 10n, timestamp }))
  expect(await queued()).toEqual(isAwaited ? ['event 1 x1 v1 from 10'] : [])
  expect(await queued(other)).toEqual([])
})

test('an awaited event keeps the block of a request that reads wait for', async () => {
  const { timestamp } = blockOf(10n)
  await run(
    `UPDATE events SET expiry_date = ${timestamp} WHERE id <= 2; UPDATE events SET expiry_date = ${timestamp} + 9 WHERE id = 3`,
  )
  await inOne((it) => requestRefresh(it, chainId, [event(1n)], 20n))
  await inOne((it) => requestRefresh(it, chainId, [event(2n)], null))
  await inOne((it) => requestSettlementRefresh(it, chainId, { number: 10n, timestamp }))
  expect(await queued()).toEqual(['event 1 x1 v1 from 20', 'event 2 x1 v1 from 10'])
})

test('an expiry since the block of the index is a change, which an older observation does not complete', async () => {
  const { timestamp } = blockOf(10n)
  await run(`UPDATE events SET expiry_date = ${timestamp} + 5 * id`)
  // Event 1 was not observed yet, event 2 is being observed.
  await run('DELETE FROM event_observations WHERE id = 1')
  await run(`UPDATE cursors SET block_timestamp = ${timestamp} WHERE chain_id = ${chainId}`)
  await inOne((it) => requestRefresh(it, chainId, [event(1n), event(2n)], 20n))
  const next = { number: 99n, timestamp: timestamp + 10n }
  await inOne((it) => requestSettlementRefresh(it, chainId, next))
  expect(await queued()).toEqual(['event 1 x1 v2 from 20', 'event 2 x1 v2 from 20'])
  await run(`UPDATE cursors SET block_timestamp = ${next.timestamp} WHERE chain_id = ${chainId}`)
  await inOne((it) => requestSettlementRefresh(it, chainId, { ...next, number: 100n }))
  expect(await queued()).toEqual(['event 1 x1 v2 from 20', 'event 2 x1 v2 from 20'])
})

test('a settled event is not awaited, and one that expired since the block of the index is, however long ago', async () => {
  const { timestamp } = blockOf(10n)
  await run(`UPDATE events SET expiry_date = ${timestamp} + id - 1`)
  await run('UPDATE event_observations SET settled_at = 7 WHERE id = 3')
  const late = timestamp + BigInt(2 * AWAITED)
  // The index of the other chain is older.
  await run(`UPDATE cursors SET block_timestamp = 1 WHERE chain_id = ${other}`)
  await run(`UPDATE cursors SET block_timestamp = ${timestamp} WHERE chain_id = ${chainId}`)
  await inOne((it) => requestSettlementRefresh(it, chainId, { number: 99n, timestamp: late }))
  // Event 1 expired at the block of the index.
  expect(await queued()).toEqual(['event 2 x1 v1 from 99'])
})
