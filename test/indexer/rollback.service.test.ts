import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { changesAfter, newestChange } from '../../src/db/changes/changes.ts'
import { saveHeartbeat } from '../../src/db/index/work/heartbeat.ts'
import { takeLease } from '../../src/db/index/work/lease.ts'
import { readProgress } from '../../src/db/index/work/progress.ts'
import { rollBack } from '../../src/db/index/write.ts'
import type { Database } from '../../src/db/pool.ts'
import { heartbeatAt } from '../support/healthy-index.ts'
import {
  CHAIN,
  hintAt,
  openIndexDatabase,
  openWrites,
  rowsOf,
  txOf,
  whileQueueIsLocked,
} from '../support/index-writes.ts'
import { blockOf, type Plan, seedDeposit, seedEvent, seedPosition, seedToken } from '../support/seed-index.ts'

const plan: Plan = { token: seedToken, rowsABlock: 1, wallets: 3, events: 1 }
const rates = { hedgerFeeRate: 1n, payoutFeeRate: 2n, lpProfitFeeRate: 3n, creatorLoyaltyRate: 4n }

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
})

/** Writes an event, a deposit and a position, which have the number of the block, with everything that logs report. */
const writeAll = async (number: bigint): Promise<void> => {
  const block = blockOf(number)
  const id = Number(number)
  await writes.write(block, {
    facts: [seedEvent(id, plan), seedDeposit(id, plan), seedPosition(id, plan)].map(({ fact }) => fact),
    hints: [
      hintAt(block, { subject: 'event', id: 1n, members: [], settles: true }),
      hintAt(block, { subject: 'code' }),
    ],
    fees: [
      {
        ...{ blockNumber: number, blockHash: block.hash, blockTimestamp: block.timestamp, txHash: txOf(block) },
        ...{ logIndex: 0, ...rates },
      },
    ],
  })
}

/** Adds an observation of each entity at the block of its number. */
const observeAll = async (): Promise<void> => {
  const at = 'block_number, block_hash, block_timestamp'
  await rowsOf(
    database,
    `INSERT INTO deposit_observations (chain_id, id, premiums_earned, premiums_claimed, withdrawn, pending, ${at})
      SELECT chain_id, id, 0, 0, false, 0, ${at} FROM deposits`,
  )
  await rowsOf(
    database,
    `INSERT INTO position_observations (chain_id, id, payout_amount, status, claimed, ${at})
      SELECT chain_id, id, 0, 0, false, ${at} FROM positions`,
  )
}

/** Copies the rows of the chain to another one. */
const copyTo = (chainId: number, tables: readonly string[]) =>
  Promise.all(
    tables.map((table) =>
      rowsOf(
        database,
        `DO $$ DECLARE others text; BEGIN
          SELECT string_agg(quote_ident(column_name), ', ') INTO others FROM information_schema.columns
            WHERE table_name = '${table}' AND is_identity = 'NO' AND column_name <> 'chain_id';
          EXECUTE format('INSERT INTO ${table} (chain_id, %s) SELECT ${chainId}, %s FROM ${table} WHERE chain_id = 8453', others, others);
        END $$`,
      ),
    ),
  )

/** The tables of which a rollback removes what is above a block. */
const tables = [
  ...['events', 'deposits', 'positions', 'event_observations', 'deposit_observations', 'position_observations'],
  ...['fee_rates', 'chain_observations', 'upgrades', 'settlement_logs', 'anchors'],
]

const blocksOf = async (table: string, chainId = CHAIN) =>
  (
    await rowsOf(
      database,
      `SELECT DISTINCT block_number::integer AS at FROM ${table} WHERE chain_id = ${chainId} ORDER BY 1`,
    )
  ).map(({ at }) => at)

const at = (number: bigint) =>
  `${number}, decode('${blockOf(number).hash.slice(2)}', 'hex'), ${blockOf(number).timestamp}`

/** Two blocks of everything; the protocol's own state was observed at the second one. */
const fill = async (): Promise<void> => {
  for (const number of [1n, 2n]) await writeAll(number)
  for (const id of [1, 2]) await writes.observe(blockOf(BigInt(id)), seedEvent(id, plan))
  await observeAll()
  await rowsOf(
    database,
    `INSERT INTO chain_observations (chain_id, creation_fee, hedger_fee_rate, payout_fee_rate, lp_profit_fee_rate,
      creator_loyalty_rate, paused, total_events, block_number, block_hash, block_timestamp)
      VALUES (${CHAIN}, 0, 1, 2, 3, 4, false, 2, ${at(2n)})`,
  )
  await database.run((handle) => saveHeartbeat(handle, CHAIN, heartbeatAt(blockOf(2n), { proven: blockOf(2n) })))
}

test('a rollback removes the rows above its block from every table, and only those of its chain', async () => {
  await fill()
  await copyTo(56, tables)
  const before = new Map<string, unknown>()
  for (const table of tables) before.set(table, await blocksOf(table))
  await writes.backTo(blockOf(1n))
  for (const table of tables) {
    expect(before.get(table), table).toContain(2)
    expect(await blocksOf(table), table).toEqual(table === 'chain_observations' ? [] : [1])
    expect(await blocksOf(table, 56), table).toEqual(before.get(table))
  }
})

test('the cursor, its fee rates, the proof and the anchor go back to the block, and the rollback is recorded', async () => {
  await fill()
  const { rows } = await database.run((handle) =>
    handle.execute(sql`SELECT max(sequence) AS last FROM refresh_queue WHERE chain_id = ${CHAIN}`),
  )
  await writes.backTo(blockOf(1n))
  expect(await readProgress(database, CHAIN)).toEqual({
    ...{ cursor: blockOf(1n), anchor: blockOf(1n) },
    last: { event: 1n, deposit: 1n, position: 1n },
  })
  expect(await rowsOf(database, "SELECT fees_number AS at, encode(fees_hash, 'hex') AS hash FROM cursors")).toEqual([
    { at: '1', hash: blockOf(1n).hash.slice(2) },
  ])
  expect(await rowsOf(database, 'SELECT proven_number, proven_hash FROM heartbeats')).toEqual([
    { proven_number: null, proven_hash: null },
  ])
  const recorded = await rowsOf(database, 'SELECT chain_id, ancestor_number, last_request FROM rollbacks')
  expect(recorded).toEqual([{ chain_id: CHAIN, ancestor_number: '1', last_request: rows[0]?.last }])
  expect(await rowsOf(database, "SELECT from_block FROM refresh_queue WHERE subject = 'chain'")).toEqual([
    { from_block: '0' },
  ])
})

test('the proof of a block at or below the ancestor stays', async () => {
  await fill()
  await writes.backTo(blockOf(2n))
  expect(await rowsOf(database, 'SELECT proven_number FROM heartbeats')).toEqual([{ proven_number: '2' }])
  expect(await blocksOf('events')).toEqual([1, 2])
})

test('fee rates that were complete up to an earlier block stay complete up to it', async () => {
  await writeAll(1n)
  await writes.write(blockOf(2n), { gap: { from: 2n, to: 2n } })
  await writes.write(blockOf(3n))
  await writes.backTo(blockOf(2n))
  expect(await rowsOf(database, 'SELECT block_number AS at, fees_number AS fees FROM cursors')).toEqual([
    { at: '2', fees: '1' },
  ])
})

test('a rollback to a block up to which facts were not complete moves the cursor further back', async () => {
  await writes.write(blockOf(1n))
  await writes.write(blockOf(2n), { complete: false })
  await writes.write(blockOf(3n))
  await writes.backTo(blockOf(2n))
  expect(await readProgress(database, CHAIN)).toMatchObject({ cursor: blockOf(1n), anchor: blockOf(2n) })
})

test('a rollback without an ancestor empties the index and suspends the feed of changes', async () => {
  await fill()
  await writes.backTo(null)
  for (const table of tables) expect(await blocksOf(table), table).toEqual([])
  expect(await readProgress(database, CHAIN)).toMatchObject({ cursor: null, anchor: null })
  expect(await rowsOf(database, 'SELECT seq, reason FROM feed_floors')).toEqual([{ seq: null, reason: 'rebuilt' }])
  expect(await rowsOf(database, 'SELECT ancestor_number FROM rollbacks')).toEqual([{ ancestor_number: '-1' }])
})

test('a rollback announces that everything may have changed, and to the feed what was created above its block', async () => {
  await fill()
  const since = await database.run(newestChange)
  await writes.backTo(blockOf(1n))
  const changes = await database.run((handle) => changesAfter(handle, since))
  expect(changes.map(({ scopes }) => scopes)).toEqual([null])
  const fed = await rowsOf(database, `SELECT type, key FROM feed WHERE seq > ${since} ORDER BY type, key`)
  expect(fed.filter(({ type }) => type === 'event')).toEqual([
    { type: 'event', key: '1' },
    { type: 'event', key: '2' },
  ])
  expect(fed.filter(({ type }) => type === 'wallet').map(({ key }) => key)).toContain(
    seedPosition(2, plan).fact.hedger.toLowerCase(),
  )
})

test('a rollback deletes any number of observations within its own transaction', async () => {
  await fill()
  await rowsOf(
    database,
    `INSERT INTO positions (chain_id, id, event_id, hedger, notional, premium_paid, platform_fee, block_number, block_hash, block_timestamp)
      SELECT chain_id, 10 + n, event_id, hedger, notional, premium_paid, platform_fee, block_number, block_hash, block_timestamp
      FROM positions, generate_series(0, 4) n WHERE id = 1`,
  )
  await rowsOf(
    database,
    `INSERT INTO position_observations (chain_id, id, payout_amount, status, claimed, block_number, block_hash, block_timestamp)
      SELECT ${CHAIN}, id, 0, 0, false, ${at(2n)} FROM positions WHERE id >= 10`,
  )
  await database.transaction((handle) => rollBack(handle, CHAIN, blockOf(1n), 2))
  expect(
    await rowsOf(database, "SELECT id::integer FROM refresh_queue WHERE subject = 'position' AND id >= 10 ORDER BY id"),
  ).toEqual([10, 11, 12, 13, 14].map((id) => ({ id })))
  expect(await rowsOf(database, 'SELECT id::integer FROM position_observations ORDER BY id')).toEqual([{ id: 1 }])
})

describe('the lease and the lock of the refresh queue', () => {
  test('a worker without the lease removes nothing', async () => {
    await fill()
    await takeLease(database, CHAIN, 'another', 60_000)
    await rowsOf(database, "UPDATE leases SET epoch = epoch + 1, holder = 'another'")
    await expect(writes.backTo(blockOf(1n))).rejects.toMatchObject({ name: 'LeaseLost' })
    expect(await blocksOf('event_observations')).toEqual([1, 2])
    expect(await rowsOf(database, 'SELECT FROM rollbacks')).toEqual([])
  })

  test('a settlement that is observed until the rollback has the lock is reverted', async () => {
    await fill()
    const written = await whileQueueIsLocked(
      database,
      () => database.transaction((handle) => rollBack(handle, CHAIN, blockOf(1n))),
      async (handle) => {
        await handle.execute(sql`INSERT INTO settlements (seq, type, chain_id, event_id, settled_at, triggered,
            settlement_price, block_number, block_hash) SELECT 1, 'settled', ${CHAIN}, 1, 9, false, 1, ${sql.raw(
              at(2n).split(', ').slice(0, 3).join(', '),
            )}`)
      },
    )
    expect(written).toEqual([])
    expect(await rowsOf(database, 'SELECT type FROM settlements ORDER BY seq')).toEqual([
      { type: 'settled' },
      { type: 'reverted' },
    ])
  })
})
