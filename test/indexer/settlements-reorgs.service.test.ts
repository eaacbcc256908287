import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { changesAfter, newestChange } from '../../src/db/changes/changes.ts'
import { finalizeSettlements } from '../../src/db/index/settlements.ts'
import type { Database } from '../../src/db/pool.ts'
import type { StoredBlock } from '../../src/db/stored.ts'
import { CHAIN, hintAt, openIndexDatabase, openWrites, rowsOf, txOf } from '../support/index-writes.ts'
import { blockOf, seedEvent, seedToken } from '../support/seed-index.ts'

/* Settlements through several reorgs: what is written, rolled back and observed as the worker does. */

const event = seedEvent(1, { token: seedToken, rowsABlock: 1, wallets: 3, events: 1 })

let index: Awaited<ReturnType<typeof openIndexDatabase>>
let database: Database
let writes: Awaited<ReturnType<typeof openWrites>>

beforeAll(async () => {
  index = await openIndexDatabase()
  database = index.database
})
afterAll(() => index?.close())
beforeEach(async () => {
  await index.empty()
  writes = await openWrites(database)
  await writes.write(blockOf(1n), { facts: [event.fact] })
  await writes.observe(blockOf(1n), event, { settledAt: 0n })
})

/** Writes the block of the settlement's log, and observes the event there. */
const settle = async (block: StoredBlock, price = 5n): Promise<void> => {
  await writes.write(block, { hints: [hintAt(block, { subject: 'event', id: 1n, members: [], settles: true })] })
  await writes.observe(block, event, { settledAt: block.timestamp, settlementPrice: price })
}

/** The settlements in their order: type, block, price and transaction. */
const stored = async () => {
  const rows = await rowsOf(
    database,
    `SELECT type, block_number::integer AS block, settlement_price::integer AS price, encode(tx_hash, 'hex') AS tx
      FROM settlements ORDER BY seq`,
  )
  return rows.map(({ type, block, price, tx }) => [type, block, price, tx === null ? null : `0x${tx}`])
}

test('a second reorg over the same block does not report a reverted settlement again', async () => {
  const block = blockOf(5n)
  await settle(block)
  const [settled, reverted] = [
    ['settled', 5, 5, txOf(block)],
    ['reverted', 5, 5, txOf(block)],
  ]
  expect(await stored()).toEqual([settled])
  await writes.backTo(blockOf(1n))
  expect(await stored()).toEqual([settled, reverted])
  for (const fork of [1, 2, 3]) {
    await writes.write(blockOf(5n, fork))
    await writes.observe(blockOf(5n, fork), event, { settledAt: 0n })
    await writes.backTo(blockOf(1n))
  }
  expect(await stored()).toHaveLength(2)
})

test('an event that is settled again in a lower block after a reorg does not keep the orphaned transaction', async () => {
  const [orphaned, lower] = [blockOf(6n), blockOf(4n, 1)]
  await settle(orphaned)
  await writes.backTo(blockOf(3n))
  await settle(lower)
  expect((await stored()).at(-1)).toEqual(['settled', 4, 5, txOf(lower)])
})

test('a settlement and its reversal have numbers of their own, and the scope of the settlements is announced', async () => {
  const since = await database.run(newestChange)
  await settle(blockOf(5n))
  const changes = await database.run((handle) => changesAfter(handle, since))
  expect(changes.flatMap(({ scopes }) => scopes)).toContain('settlements')
  await writes.backTo(blockOf(1n))
  const shared = 'SELECT feed.seq FROM feed JOIN settlements ON feed.seq = settlements.seq'
  expect(await rowsOf(database, 'SELECT FROM feed')).not.toEqual([])
  expect(await rowsOf(database, shared)).toEqual([])
})

test('each settlement of a fork is reverted once, however often the event is settled again', async () => {
  for (const fork of [0, 1, 2]) {
    await settle(blockOf(5n, fork), BigInt(fork))
    await writes.backTo(blockOf(1n))
    await writes.observe(blockOf(1n), event, { settledAt: 0n })
  }
  expect((await stored()).map(([type, , price]) => [type, price])).toEqual([
    ...[0, 1, 2].flatMap((price) => [
      ['settled', price],
      ['reverted', price],
    ]),
  ])
})

test('a settlement at the block of the ancestor stays, and one above it is reverted', async () => {
  await settle(blockOf(5n))
  await writes.write(blockOf(6n))
  await writes.backTo(blockOf(5n))
  expect(await stored()).toHaveLength(1)
  await writes.backTo(blockOf(4n))
  expect((await stored()).map(([type]) => type)).toEqual(['settled', 'reverted'])
})

test('the reversal of a final settlement is in the feed of final ones, and the settlement after it is not yet', async () => {
  const block = blockOf(5n)
  await settle(block)
  expect(await finalizeSettlements(database, CHAIN, block)).toBe(1)
  await writes.backTo(blockOf(1n))
  await settle(blockOf(5n, 1))
  expect(
    await rowsOf(database, 'SELECT type, finalized_seq IS NOT NULL AS final FROM settlements ORDER BY seq'),
  ).toEqual([
    { type: 'settled', final: true },
    { type: 'reverted', final: true },
    { type: 'settled', final: false },
  ])
  expect(await finalizeSettlements(database, CHAIN, block)).toBe(0)
})
