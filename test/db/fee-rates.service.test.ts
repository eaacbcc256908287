import { eq, sql } from 'drizzle-orm'
import { Client } from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { changesAfter } from '../../src/db/changes/changes.ts'
import { touching, touchingAll } from '../../src/db/changes/scopes.ts'
import {
  extendFees,
  type FeeProgress,
  insertFees,
  judgeFees,
  readFeeProgress,
  readFees,
  readFeesContradiction,
  restartFees,
} from '../../src/db/index/fees.ts'
import { addAnchor } from '../../src/db/index/write.ts'
import type { Database } from '../../src/db/pool.ts'
import { chainObservations, feeRates } from '../../src/db/schema.ts'
import { cursors } from '../../src/db/schema-index.ts'
import { blockColumns } from '../../src/db/stored.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
import { eventually } from '../support/process.ts'
import { blockOf, type Plan, seedRows, seedToken, writeSeeded } from '../support/seed-index.ts'

const [chainId, other] = [8453, 56]
/** One event and one deposit in each of the blocks 1 to 4. */
const plan: Plan = { token: seedToken, rowsABlock: 1, wallets: 7, events: 4 }

let store: TestDatabase
let database: Database

beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url)
  await writeSeeded(database, chainId, blockOf(10n), seedRows(plan, { events: 4, deposits: 4 }))
})
afterAll(async () => {
  await database?.close()
  await store?.close()
})
beforeEach(async () => {
  for (const table of ['fee_rates', 'rollbacks', 'anchors', 'chain_observations', 'cursors', 'changes'])
    await run(`DELETE FROM ${table}`)
  for (const chain of [chainId, other])
    await database.run((handle) =>
      handle.insert(cursors).values({
        chainId: chain,
        ...blockColumns(blockOf(10n)),
        ...{ feesNumber: 5n, feesHash: blockOf(5n).hash },
      }),
    )
})

const run = (statement: string) => database.run((handle) => handle.execute(sql.raw(statement)))

const rates = { hedgerFeeRate: 1n, payoutFeeRate: 2n, lpProfitFeeRate: 3n, creatorLoyaltyRate: 4n }
const fee = (number: bigint, logIndex = 0, more: Partial<typeof rates> = {}) => {
  const { blockNumber, blockHash, blockTimestamp } = blockColumns(blockOf(number))
  return { blockNumber, blockHash, blockTimestamp, txHash: blockOf(number).hash, logIndex, ...rates, ...more }
}
const put = (chain: number, ...fees: ReturnType<typeof fee>[]) =>
  database.transaction((handle) => insertFees(handle, chain, fees))
/** The stored rates of a chain, as block, log and the hedger's rate. */
const stored = async (chain = chainId): Promise<string[]> => {
  const rows = await database.run((handle) =>
    handle.select().from(feeRates).where(eq(feeRates.chainId, chain)).orderBy(feeRates.blockNumber, feeRates.logIndex),
  )
  return rows.map((row) => `${row.blockNumber}.${row.logIndex} ${row.hedgerFeeRate}`)
}
const progress = async (chain = chainId): Promise<NonNullable<FeeProgress>> => {
  const found = await readFeeProgress(database, chain)
  if (found === null) throw new Error('nothing is indexed')
  return found
}
const at = (number: bigint) => ({ number, hash: blockOf(number).hash })
const extend = async (from: bigint, upTo: bigint, ...fees: ReturnType<typeof fee>[]) =>
  extendFees(database, chainId, await progress(), { from, block: at(upTo), fees })
const changes = () => database.run((handle) => changesAfter(handle, 0))

test('a log that is stored already is left as it is', async () => {
  await put(chainId, fee(3n), fee(3n, 1))
  await put(chainId, fee(3n, 0, { hedgerFeeRate: 9n }), fee(4n))
  await put(chainId)
  expect(await stored()).toEqual(['3.0 1', '3.1 1', '4.0 1'])
})

test('the progress has the block of the rates, the cursor and the last rollback of the chain', async () => {
  expect(await readFeeProgress(database, 1)).toBeNull()
  const rollback = (chain: number) =>
    run(`INSERT INTO rollbacks (chain_id, ancestor_number) VALUES (${chain}, 1) RETURNING seq`)
  expect(await progress()).toEqual({ upTo: at(5n), cursor: at(10n), rollback: '0' })
  await rollback(chainId)
  const { rows } = await rollback(chainId)
  await rollback(other)
  expect((await progress()).rollback).toBe(rows[0]?.seq)
  await run(`UPDATE cursors SET fees_number = NULL, fees_hash = NULL WHERE chain_id = ${chainId}`)
  expect((await progress()).upTo).toBeNull()
  expect((await progress(other)).upTo).toEqual(at(5n))
})

test('the rates of a range replace the stored ones of its blocks, both ends included, on the chain', async () => {
  for (const chain of [chainId, other]) await put(chain, fee(5n), fee(6n), fee(7n), fee(8n))
  expect(await extend(6n, 7n, fee(7n, 3, { hedgerFeeRate: 8n }))).toBe(true)
  expect(await stored()).toEqual(['5.0 1', '7.3 8', '8.0 1'])
  expect(await stored(other)).toEqual(['5.0 1', '6.0 1', '7.0 1', '8.0 1'])
  expect([(await progress()).upTo, (await progress(other)).upTo]).toEqual([at(7n), at(5n)])
  // No event is in these blocks, so nothing that is shown changed.
  expect(await changes()).toEqual([])
})

test('events in the blocks of a range change, both ends included, and everything that shows them', async () => {
  expect(await extend(2n, 3n)).toBe(true)
  const [change, ...none] = await changes()
  expect(none).toEqual([])
  expect([change?.chainId, change?.scopes]).toEqual([chainId, null])
  const { rows } = await run(`SELECT key FROM feed WHERE type = 'event' ORDER BY key`)
  // The feed of this chain never began, so it has no rows; the scopes are found by the block alone.
  expect(rows).toEqual([])
})

test('the feed names the events of a range', async () => {
  await run(`INSERT INTO feed_floors VALUES (${chainId}, 0, 'backfill')`)
  await extend(2n, 3n)
  const { rows } = await run(`SELECT key FROM feed WHERE type = 'event' ORDER BY key`)
  expect(rows.map(({ key }) => key)).toEqual(['2', '3'])
  await run('DELETE FROM feed_floors; DELETE FROM feed')
})

test.each([
  ['a rollback of the chain', `INSERT INTO rollbacks (chain_id, ancestor_number) VALUES (${chainId}, 1)`, false],
  ['a rollback of another chain', `INSERT INTO rollbacks (chain_id, ancestor_number) VALUES (${other}, 1)`, true],
  ['another extension', `UPDATE cursors SET fees_number = 6, fees_hash = '\\x01' WHERE chain_id = ${chainId}`, false],
  ['a restart', `UPDATE cursors SET fees_number = NULL, fees_hash = NULL WHERE chain_id = ${chainId}`, false],
  ['a step', `UPDATE cursors SET block_number = 11, block_hash = '\\x02' WHERE chain_id = ${chainId}`, true],
  ['the loss of the index', `DELETE FROM cursors WHERE chain_id = ${chainId}`, false],
])('after %s, rates are stored or not', async (_, statement, isStored) => {
  const before = await progress()
  await run(statement)
  const found = { from: 6n, block: at(7n), fees: [fee(6n)] }
  expect(await extendFees(database, chainId, before, found)).toBe(isStored)
  expect(await stored()).toEqual(isStored ? ['6.0 1'] : [])
  await run(`DELETE FROM rollbacks`)
})

test('rates wait for a transaction that moves the cursor, and are refused if it moved that of the rates', async () => {
  const client = new Client(store.url)
  await client.connect()
  try {
    const before = await progress()
    await client.query('BEGIN')
    await client.query(`UPDATE cursors SET fees_number = 6, fees_hash = '\\x01' WHERE chain_id = ${chainId}`)
    const extended = extendFees(database, chainId, before, { from: 6n, block: at(7n), fees: [fee(6n)] })
    await eventually('it waits', async () => {
      const { rowCount } = await client.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      )
      return rowCount === 1
    })
    await client.query('COMMIT')
    expect(await extended).toBe(false)
    expect(await stored()).toEqual([])
  } finally {
    await client.end()
  }
})

test('a restart forgets how far the rates are complete, and everything changes', async () => {
  const before = await progress()
  expect(await restartFees(database, chainId, before)).toBe(true)
  expect([(await progress()).upTo, (await progress(other)).upTo]).toEqual([null, at(5n)])
  expect(await changes()).toMatchObject([{ chainId, scopes: null }])
  expect(await restartFees(database, chainId, before)).toBe(false)
  expect(await changes()).toHaveLength(1)
})

test('the rates are read in their order, with the newest anchor if they are complete up to it', async () => {
  await put(chainId, fee(4n, 2), fee(4n, 1), fee(3n, 7))
  await put(other, fee(1n))
  await database.run((handle) => addAnchor(handle, chainId, blockOf(4n), true))
  await database.run((handle) => addAnchor(handle, chainId, blockOf(5n), true))
  await database.run((handle) => addAnchor(handle, other, blockOf(9n), true))
  const { anchor, rows } = await readFees(database, chainId)
  expect(rows.map(({ blockNumber, logIndex }) => [blockNumber, logIndex])).toEqual([
    [3n, 7],
    [4n, 1],
    [4n, 2],
  ])
  expect(anchor).toEqual(blockOf(5n))
  await database.run((handle) => addAnchor(handle, chainId, blockOf(6n), true))
  expect((await readFees(database, chainId)).anchor).toBeNull()
})

const observe = (number: bigint, more: Partial<typeof rates> = {}, chain = chainId) =>
  database.run((handle) =>
    handle.insert(chainObservations).values({
      ...{ chainId: chain, creationFee: 9n, ...rates, paused: false, totalEvents: 4n, loupeHash: null },
      ...blockColumns(blockOf(number)),
      ...more,
    }),
  )
const judge = () => database.transaction((handle) => judgeFees(handle, chainId))
const contradiction = (chain = chainId) => database.run((handle) => readFeesContradiction(handle, chain))

test('rates agree with the view when the newest log up to its block set them', async () => {
  await put(chainId, fee(3n, 9, { payoutFeeRate: 7n }), fee(4n, 0, { payoutFeeRate: 8n }), fee(4n, 1))
  await put(chainId, fee(5n, 0, { payoutFeeRate: 9n }))
  await put(other, fee(4n, 0, { payoutFeeRate: 9n }))
  await observe(4n)
  expect(await judge()).toEqual(touching())
  expect(await contradiction()).toBeNull()
})

test.each(Object.keys(rates) as (keyof typeof rates)[])(
  'another %s than the newest log set is a contradiction, until they agree again',
  async (name) => {
    await put(chainId, fee(3n))
    await observe(5n, { [name]: 77n })
    await observe(5n, {}, other)
    await put(other, fee(3n))
    expect(await judge()).toEqual(touchingAll('repaired'))
    const shown = Object.values({ ...rates, [name]: 77n }).join(', ')
    expect(await contradiction()).toBe(
      `getHedgeFeeConfig returns the rates ${shown}, and the newest log, of block 3, set 1, 2, 3, 4`,
    )
    expect(await contradiction(other)).toBeNull()
    expect(await judge()).toEqual(touching())
    // Another contradiction is stored, and shows nothing else.
    await run(`UPDATE chain_observations SET ${name.replace(/[A-Z]/g, (it) => `_${it.toLowerCase()}`)} = 78`)
    expect(await judge()).toEqual(touching())
    expect(await contradiction()).toContain('78')
    await run('DELETE FROM chain_observations')
    await observe(5n)
    expect(await judge()).toEqual(touchingAll('repaired'))
    expect(await contradiction()).toBeNull()
  },
)

test('rates are not compared with an observation above the block up to which they are complete', async () => {
  await put(chainId, fee(3n))
  await observe(6n, { payoutFeeRate: 77n })
  expect(await judge()).toEqual(touching())
  expect(await contradiction()).toBeNull()
  expect(await contradiction(1)).toBeNull()
  // Complete up to the block of the observation, they are, and the contradiction is announced.
  expect(await extend(6n, 6n)).toBe(true)
  expect(await contradiction()).toContain('77')
  expect(await changes()).toMatchObject([{ chainId, scopes: null }])
})
