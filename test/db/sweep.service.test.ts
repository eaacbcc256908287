import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { requestRefresh, requestSweep } from '../../src/db/index/work/refresh-queue.ts'
import type { Database } from '../../src/db/pool.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
import { blockOf, type Plan, seedRows, seedToken, writeSeeded } from '../support/seed-index.ts'

const [chainId, other] = [8453, 56]
const plan: Plan = { token: seedToken, rowsABlock: 10, wallets: 7, events: 3 }
/** The id of an observation without an entity, which alone the rotation reaches. */
const FAR = 1_000_000_000

let store: TestDatabase
let database: Database

beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url, { maxConnections: 2 })
  for (const chain of [chainId, other])
    await writeSeeded(database, chain, blockOf(10n), seedRows(plan, { events: 3, deposits: 7, positions: 7 }))
  for (const kind of kinds) await run(`CREATE TABLE kept_${kind} AS TABLE ${kind}_observations`)
})
afterAll(async () => {
  await database?.close()
  await store?.close()
})
beforeEach(async () => {
  await run('DELETE FROM refresh_queue')
  for (const kind of kinds)
    await run(`DELETE FROM ${kind}_observations; INSERT INTO ${kind}_observations SELECT * FROM kept_${kind}`)
})

const kinds = ['event', 'deposit', 'position'] as const
const run = (statement: string) => database.run((handle) => handle.execute(sql.raw(statement)))

/** The requests of a chain for a kind, in their order. */
const queued = async (kind: string, chain = chainId): Promise<number[]> => {
  const { rows } = await run(
    `SELECT id FROM refresh_queue WHERE subject = '${kind}' AND chain_id = ${chain} ORDER BY sequence`,
  )
  return rows.map(({ id }) => Number(id))
}
const sorted = (ids: readonly number[]): number[] => ids.toSorted((a, b) => a - b)

/** Takes all of a kind out of the rotation. */
const withoutRotation = async (kind: (typeof kinds)[number]): Promise<void> => {
  await run(`CREATE TEMP TABLE far AS SELECT * FROM ${kind}_observations WHERE chain_id = ${chainId} AND id = 1;
    UPDATE far SET id = ${FAR}; INSERT INTO ${kind}_observations SELECT * FROM far; DROP TABLE far`)
}
const sweep = (sizes: Parameters<typeof requestSweep>[3]) => requestSweep(database, chainId, undefined, sizes)
const ONE = { observed: 100, unobserved: 100, slice: 1 }

test('a sweep requests limited numbers: of those never observed, and of the oldest observations', async () => {
  await withoutRotation('position')
  await run(`DELETE FROM position_observations WHERE id BETWEEN 5 AND 7 AND chain_id = ${chainId}`)
  await run(`UPDATE position_observations SET block_number = 20 - id % 10, claimed = false, payout_amount = 1`)
  await run(`UPDATE position_observations SET block_number = 1 WHERE chain_id = ${other}`)
  await sweep({ observed: 3, unobserved: 2, slice: 1 })
  const found = await queued('position')
  expect(found).toHaveLength(6)
  expect(found.slice(0, 2).every((id) => id > 4)).toBe(true)
  expect(sorted(found.slice(2, 5))).toEqual([2, 3, 4])
  expect(found[5]).toBe(FAR)
  expect(await queued('position', other)).toEqual([])
  expect(await queued('chain')).toEqual([0])
})

test('every event can change, observed or not', async () => {
  await run(`DELETE FROM event_observations WHERE id = 2 AND chain_id = ${chainId}`)
  await sweep(ONE)
  const found = await queued('event')
  expect([found[0], sorted(found)]).toEqual([2, [1, 2, 3]])
})

test('a deposit can change until it is withdrawn and has nothing pending', async () => {
  await withoutRotation('deposit')
  await run(`UPDATE deposit_observations SET withdrawn = id <> 1, pending = CASE WHEN id = 2 THEN 1 ELSE 0 END`)
  await run(`UPDATE deposit_observations SET withdrawn = false WHERE chain_id = ${other}`)
  await run(`DELETE FROM deposit_observations WHERE id = 3 AND chain_id = ${chainId}`)
  await sweep(ONE)
  expect(sorted(await queued('deposit'))).toEqual([1, 2, 3, FAR])
})

test('a position can change while it is not claimed, and its event is not settled or pays it', async () => {
  await withoutRotation('position')
  // Positions 3 and 6 belong to event 1, 1, 4 and 7 to event 2, 2 and 5 to event 3.
  await run(
    `UPDATE position_observations SET claimed = id IN (2, 6), payout_amount = CASE WHEN id IN (2, 4) THEN 1 ELSE 0 END`,
  )
  await run(`UPDATE event_observations SET settled_at = CASE WHEN id = 1 THEN 0 ELSE 9 END`)
  await run(`DELETE FROM position_observations WHERE id = 7 AND chain_id = ${chainId}`)
  await sweep(ONE)
  // 1 and 5 are settled without a payout, 2 and 6 are claimed.
  expect(sorted(await queued('position'))).toEqual([3, 4, 7, FAR])
  await run(`DELETE FROM event_observations WHERE id = 3 AND chain_id = ${chainId}`)
  await run('DELETE FROM refresh_queue')
  await sweep(ONE)
  expect(sorted(await queued('position'))).toEqual([3, 4, 5, 7, FAR])
})

test('what can change comes before what only the rotation covers', async () => {
  await run(`UPDATE position_observations SET claimed = id NOT IN (3, 6)`)
  await run(`UPDATE event_observations SET settled_at = 0`)
  await run(`DELETE FROM position_observations WHERE id = 7 AND chain_id = ${chainId}`)
  await sweep({ ...ONE, slice: 1_000 })
  const found = await queued('position')
  expect([found[0], sorted(found.slice(0, 3)), sorted(found.slice(3))]).toEqual([7, [3, 6, 7], [1, 2, 4, 5]])
})

test.each([
  ...[1, 2, 3, 7, 8].map((slice) => [slice, 7] as const),
  // Other numbers of slices, so that hardly ever all are at the first one.
  ...([
    [2, 9],
    [2, 13],
    [2, 21],
    [1, 12],
    [1, 16],
  ] as const),
])('the rotation requests the slice of %i ids up to %i that belongs to the minute', async (slice, last) => {
  await run(`UPDATE position_observations SET claimed = true`)
  await run(`UPDATE position_observations SET id = ${last} WHERE id = 7 AND chain_id = ${chainId}`)
  const minute = async (): Promise<number> =>
    Number((await run('SELECT extract(epoch FROM now())::bigint / 60 AS it')).rows[0]?.it)
  for (;;) {
    await run('DELETE FROM refresh_queue')
    const before = await minute()
    await sweep({ ...ONE, unobserved: 0, slice })
    if ((await minute()) !== before) continue
    const first = (before % (Math.floor(last / slice) + 1)) * slice
    const expected = [1, 2, 3, 4, 5, 6, last].filter((id) => id >= first).slice(0, slice)
    expect(sorted(await queued('position'))).toEqual(expected)
    return
  }
})

test('a sweep leaves requests as they are, and no block causes it', async () => {
  await database.transaction((handle) => requestRefresh(handle, chainId, [{ subject: 'event', id: 1n }], 5n))
  await sweep(ONE)
  const { rows } = await run(`SELECT id, version, from_block FROM refresh_queue WHERE subject = 'event' ORDER BY id`)
  expect(rows.map((row) => Object.values(row))).toEqual([
    ['1', 1, '5'],
    ['2', 1, null],
    ['3', 1, null],
  ])
})

test('a sweep that is given up requests nothing', async () => {
  await requestSweep(database, chainId, AbortSignal.abort())
  const { rows } = await run('SELECT FROM refresh_queue')
  expect(rows).toEqual([])
})
