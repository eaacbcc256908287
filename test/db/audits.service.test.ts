import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { tablesOf } from '../../src/db/index/audit/rows.ts'
import {
  blockAfter,
  idsIn,
  readAudit,
  readPart,
  readSlice,
  type Slice,
  saveSlice,
} from '../../src/db/index/audit/runs.ts'
import { insertSettlements } from '../../src/db/index/settlements.ts'
import { addAnchor, moveCursor } from '../../src/db/index/write.ts'
import type { Database } from '../../src/db/pool.ts'
import { chainObservations } from '../../src/db/schema/records.ts'
import { blockColumns } from '../../src/db/stored.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
import { blockOf, type Plan, seedEvent, seedRows, seedToken, writeSeeded } from '../support/seed-index.ts'

const [chainId, other] = [8453, 56]
/** Events 1 and 2 in block 1, 3 in block 2; likewise deposits and positions. */
const plan: Plan = { token: seedToken, rowsABlock: 2, wallets: 7, events: 3 }

let store: TestDatabase
let database: Database

beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url)
  const rows = seedRows(plan, { events: 3, deposits: 3, positions: 3 })
  await writeSeeded(database, chainId, blockOf(10n), rows)
  const more = [1, 2, 3, 4, 5].map((id) => seedEvent(id, plan))
  await writeSeeded(database, other, blockOf(10n), { ...rows, events: more })
  // The rows are not in the order of their ids, and the other chain's deposit belongs to another event.
  await run(
    `UPDATE events SET log_index = log_index WHERE id IN (1, 2); UPDATE deposits SET event_id = 4 WHERE chain_id = ${other} AND id = 1`,
  )
  for (const table of changing) await run(`CREATE TABLE kept_${table} AS TABLE ${table}`)
})
afterAll(async () => {
  await database?.close()
  await store?.close()
})

/** The tables that tests change, and those that they fill. */
const changing = ['event_observations', 'anchors', 'cursors', 'heartbeats']
const filled = ['settlements', 'refresh_queue', 'audits']
beforeEach(() =>
  run(
    [
      ...[...changing, ...filled].map((table) => `DELETE FROM ${table}`),
      ...changing.map((table) => `INSERT INTO ${table} SELECT * FROM kept_${table}`),
    ].join(';'),
  ),
)

const run = (statement: string) => database.run((handle) => handle.execute(sql.raw(statement)))
const slice = async (size: bigint): Promise<Slice> => {
  const found = await readSlice(database, chainId, size)
  if (found === null) throw new Error('nothing is indexed')
  return found
}
const prove = (number: bigint, chain = chainId) =>
  run(`UPDATE heartbeats SET proven_number = ${number} WHERE chain_id = ${chain}`)
const nothing = { compared: 0, differences: 0, repaired: 0, lastDifference: null }
const save = (it: Slice, found = nothing as Parameters<typeof saveSlice>[3]) =>
  database.transaction((handle) => saveSlice(handle, chainId, it, found))
const shown = ({ kind, ids, isLast }: Slice): string => `${kind} ${ids.join()}${isLast ? ' last' : ''}`

test('the ids of a range include both ends', () => {
  expect([idsIn(3n, 5n), idsIn(3n, 3n), idsIn(3n, 2n), idsIn(3n, 0n)]).toEqual([[3n, 4n, 5n], [3n], [], []])
})

test('nothing is audited before the first block and before the first anchor', async () => {
  expect(await readSlice(database, 137, 2n)).toBeNull()
  await run(`DELETE FROM anchors WHERE chain_id = ${chainId}`)
  expect(await readSlice(database, chainId, 2n)).toBeNull()
  expect(await readPart(database, chainId, 'event', () => [])).toBeNull()
})

test('a round goes over all ids of all kinds in slices, and then begins again', async () => {
  const seen: string[] = []
  for (let at = 0; at < 8; at += 1) {
    const it = await slice(2n)
    seen.push(`${shown(it)} rows ${it.rowCount}`)
    expect(await save(it)).toBe(true)
  }
  const round = (kind: string) => [`${kind} 0,1 rows 1`, `${kind} 2,3 last rows 2`]
  expect(seen).toEqual([...round('event'), ...round('deposit'), ...round('position'), ...round('event')])
  const audit = await database.run((handle) => readAudit(handle, chainId))
  expect(audit?.rounds).toBe(1n)
})

test.each([
  [3n, 'event 0,1,2'],
  [4n, 'event 0,1,2,3 last'],
  [5n, 'event 0,1,2,3 last'],
])('a slice of %i ids without a proof ends with the last row', async (size, expected) => {
  await prove(10n, other)
  expect(shown(await slice(size))).toBe(expected)
  await prove(9n)
  expect(shown(await slice(size))).toBe(expected)
})

test.each([
  [4n, 'event 0,1,2,3'],
  [5n, 'event 0,1,2,3,4 last'],
  [6n, 'event 0,1,2,3,4 last'],
])('a slice of %i ids with a proof of the cursor has the first id that must not exist', async (size, expected) => {
  await prove(10n)
  expect(shown(await slice(size))).toBe(expected)
})

test('an anchor above the cursor proves nothing, and rows above the cursor do not count', async () => {
  await prove(10n)
  await database.run((handle) => addAnchor(handle, chainId, blockOf(11n), false))
  expect(shown(await slice(9n))).toBe('event 0,1,2,3 last')
  await run(`DELETE FROM cursors WHERE chain_id = ${chainId}`)
  await database.run((handle) => moveCursor(handle, chainId, blockOf(1n)))
  const { anchor, ...it } = await slice(9n)
  expect([shown({ anchor, ...it }), anchor]).toEqual(['event 0,1,2 last', blockOf(11n)])
})

test('an empty kind has no ids, or the first one with a proof', async () => {
  for (const table of ['anchors', 'cursors', 'heartbeats'])
    await run(`CREATE TEMP TABLE one AS SELECT * FROM ${table} WHERE chain_id = ${chainId}; UPDATE one SET chain_id = 1;
      INSERT INTO ${table} SELECT * FROM one; DROP TABLE one`)
  const found = async () => {
    const it = await readSlice(database, 1, 5n)
    return it && shown(it)
  }
  expect(await found()).toBe('event  last')
  await prove(10n, 1)
  expect(await found()).toBe('event 0,1 last')
})

test('a slice that another process has saved already is not saved again', async () => {
  const it = await slice(2n)
  expect([await save(it), await save(it)]).toEqual([true, false])
  expect(await save(await slice(2n))).toBe(true)
  const deposits = await slice(2n)
  expect(deposits).toMatchObject({ kind: 'deposit', nextId: 0n })
  expect(await save({ ...deposits, kind: 'position' })).toBe(false)
})

test('the results of all slices are added up, and the last difference keeps its time', async () => {
  expect(await database.run((handle) => readAudit(handle, chainId))).toBeNull()
  await save(await slice(2n), { compared: 4, differences: 2, repaired: 1, lastDifference: 'event 1 differs' })
  await run(`UPDATE audits SET last_difference_at = now() - interval '70 seconds'`)
  await save(await slice(2n), { ...nothing, compared: 3, repaired: 4 })
  const audit = await database.run((handle) => readAudit(handle, chainId))
  expect(audit).toMatchObject({
    blockNumber: 10n,
    compared: 7n,
    rounds: 0n,
    differences: 2n,
    repaired: 5n,
    roundAt: null,
  })
  expect(audit?.last?.difference).toBe('event 1 differs')
  expect(audit?.last?.ageSeconds).toBeGreaterThanOrEqual(70)
  expect(audit?.last?.ageSeconds).toBeLessThan(130)
  await run(`INSERT INTO audits SELECT ${other}, kind, 99, 1, block_hash, now(), 9, 9, 9, 9 FROM audits`)
  await save(await slice(9n))
  const others = await database.run((handle) => readAudit(handle, other))
  expect(others).toMatchObject({ blockNumber: 1n, compared: 9n, last: null })
})

test('the next row after an id dates an entity that existed before it, if it is not above the block', async () => {
  const after = (id: bigint, number: bigint) =>
    database.transaction(async (handle) => {
      // Without the index that has the order of the ids.
      for (const way of ['indexscan', 'bitmapscan']) await handle.execute(sql.raw(`SET LOCAL enable_${way} = off`))
      return blockAfter(handle, chainId, { kind: 'event', id }, blockOf(number, 1))
    })
  expect(await after(0n, 10n)).toEqual(blockOf(1n))
  expect(await after(2n, 10n)).toEqual(blockOf(2n))
  expect(await after(2n, 2n)).toEqual(blockOf(2n))
  expect(await after(2n, 1n)).toEqual(blockOf(1n, 1))
  // The other chain has a row after the last one.
  expect(await after(3n, 10n)).toEqual(blockOf(10n, 1))
})

test('a part has the rows of the chosen ids in all tables of its kind', async () => {
  const settled = { type: 'settled', eventId: 2n, settledAt: 1n, triggered: true, settlementPrice: 1n } as const
  const block = { blockNumber: 9n, blockHash: blockOf(9n).hash }
  await database.transaction((handle) => insertSettlements(handle, chainId, [{ ...settled, ...block }], 5))
  await database.transaction((handle) => insertSettlements(handle, other, [{ ...settled, ...block, eventId: 1n }], 6))
  const chosen: (bigint | null)[] = []
  const part = await readPart(database, chainId, 'event', (last) => {
    chosen.push(last)
    return [1n, 2n, 7n]
  })
  expect([chosen, part?.last, part?.isComplete]).toEqual([[3n], 3n, true])
  const keys = Object.entries(part?.rows ?? {}).map(([table, rows]) => [table, [...rows.keys()].toSorted()])
  expect(Object.fromEntries(keys)).toEqual({ events: [1n, 2n], event_observations: [1n, 2n], settlements: [2n] })
  for (const rows of [part?.rows.events, part?.rows.event_observations, part?.rows.settlements])
    expect([...(rows?.values() ?? [])].every((row) => row.chainId === chainId)).toBe(true)
  expect(tablesOf.position).toEqual(['positions', 'position_observations'])
  await database.run((handle) => addAnchor(handle, chainId, blockOf(11n), false))
  expect((await readPart(database, chainId, 'position', () => [1n]))?.isComplete).toBe(false)
})

test('the state of the protocol is keyed by its chain and has no last id', async () => {
  const insert = (chain: number) =>
    database.run((handle) =>
      handle.insert(chainObservations).values({
        ...{ chainId: chain, creationFee: 9n, hedgerFeeRate: 1n, payoutFeeRate: 1n, lpProfitFeeRate: 1n },
        ...{ creatorLoyaltyRate: 1n, paused: false, totalEvents: 3n, loupeHash: null },
        ...blockColumns(blockOf(10n)),
      }),
    )
  await insert(chainId)
  await insert(other)
  const part = await readPart(database, chainId, 'chain', () => [0n])
  expect([part?.last, [...(part?.rows.chain_observations?.keys() ?? [])]]).toEqual([null, [BigInt(chainId)]])
  await run('TRUNCATE chain_observations')
})

/** The ids of 0 to 3 of a kind that may be outdated, with requests for subjects of a chain. */
const waiting = async (kind: 'event' | 'deposit' | 'chain', ...requests: readonly string[]): Promise<number[]> => {
  for (const request of requests)
    await run(`INSERT INTO refresh_queue (chain_id, subject, id, many) VALUES (${request})`)
  const part = await readPart(database, chainId, kind, () => idsIn(0n, 3n))
  return [...(part?.waiting ?? [])].map(Number).toSorted((a, b) => a - b)
}

test.each([
  ['event', [`8453, 'event', 1, 2`], [1, 2]],
  ['event', [`8453, 'event', 3, 1`, `8453, 'event', 0, 1`], [0, 3]],
  ['event', [`8453, 'event', 0, 1`, `8453, 'event', 9, 5`], [0]],
  ['event', [`8453, 'event', 0, 3`, `8453, 'event', 9, 1`], [0, 1, 2]],
  ['event', [`56, 'event', 1, 2`, `8453, 'deposit', 1, 9`], []],
  // Deposits 1, 2 and 3 belong to the events 2, 3 and 1.
  ['deposit', [`8453, 'event', 2, 1`], [1]],
  ['deposit', [`8453, 'event', 3, 1`, `8453, 'deposit', 3, 5`], [2, 3]],
  ['deposit', [`56, 'event', 2, 1`], []],
  ['deposit', [`8453, 'event', 4, 1`], []],
  ['chain', [`8453, 'chain', 0, 1`], [0, 1, 2, 3]],
  ['chain', [`8453, 'event', 0, 3`], []],
] as const)('rows of the kind %s wait for requests %s', async (kind, requests, expected) => {
  expect(await waiting(kind, ...requests)).toEqual(expected)
})

test('without logs every observation before the anchor may be outdated', async () => {
  await run(`UPDATE heartbeats SET source = 'ids' WHERE chain_id = ${other}`)
  await run(`UPDATE heartbeats SET source = 'logs' WHERE chain_id = ${chainId}`)
  await run(`UPDATE event_observations SET block_number = 9 WHERE id = 2`)
  expect(await waiting('event')).toEqual([])
  await run(`UPDATE heartbeats SET source = 'ids' WHERE chain_id = ${chainId}`)
  expect(await waiting('event')).toEqual([2])
})
