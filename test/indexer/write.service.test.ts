import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { addAnchor, deleteSomeObservations, insertFacts, moveCursor, pruneAnchors } from '../../src/db/index/write.ts'
import type { Database } from '../../src/db/pool.ts'
import { CHAIN, openIndexDatabase, rowsOf, whileQueueIsLocked } from '../support/index-writes.ts'
import { blockOf, type Plan, seedDeposit, seedEvent, seedPosition, seedToken } from '../support/seed-index.ts'

const OTHER = 56
const plan: Plan = { token: seedToken, rowsABlock: 1, wallets: 3, events: 2 }

let index: Awaited<ReturnType<typeof openIndexDatabase>>
let database: Database

beforeAll(async () => {
  index = await openIndexDatabase()
  database = index.database
})
afterAll(() => index?.close())
beforeEach(() => index.empty())

test('facts of each kind are stored with their chain, and a fact that exists is an error', async () => {
  const facts = [seedPosition(1, plan).fact, seedEvent(1, plan).fact, seedDeposit(1, plan).fact]
  const insert = (chainId: 8453 | 56) => database.transaction((_, copy) => insertFacts(copy, chainId, facts))
  await insert(CHAIN)
  await insert(OTHER)
  for (const table of ['events', 'deposits', 'positions'])
    expect(await rowsOf(database, `SELECT chain_id, id FROM ${table} ORDER BY chain_id`)).toEqual([
      { chain_id: OTHER, id: '1' },
      { chain_id: CHAIN, id: '1' },
    ])
  await expect(insert(CHAIN)).rejects.toThrow()
})

test('an anchor replaces the one of its number, with its hash, time and completeness', async () => {
  const put = (fork: number, complete: boolean) =>
    database.run((handle) => addAnchor(handle, CHAIN, blockOf(7n, fork), complete))
  const stored = () =>
    rowsOf(
      database,
      "SELECT block_number AS at, encode(block_hash, 'hex') AS hash, block_timestamp, complete FROM anchors",
    )
  const row = (fork: number, complete: boolean) => ({
    ...{ at: '7', hash: blockOf(7n, fork).hash.slice(2), block_timestamp: String(blockOf(7n).timestamp), complete },
  })
  await put(0, false)
  expect(await stored()).toEqual([row(0, false)])
  await put(1, true)
  expect(await stored()).toEqual([row(1, true)])
  await put(2, false)
  expect(await stored()).toEqual([row(2, false)])
})

describe('the block up to which fee rates are complete', () => {
  const move = (number: bigint, hasLogs?: boolean) =>
    database.run((handle) => moveCursor(handle, CHAIN, blockOf(number), hasLogs === undefined ? {} : { hasLogs }))
  const stored = async () => {
    const [row] = await rowsOf(
      database,
      "SELECT block_number AS at, fees_number AS fees, encode(fees_hash, 'hex') AS hash FROM cursors",
    )
    return row
  }
  const at = (number: number, fees: number | null) => ({
    at: String(number),
    fees: fees === null ? null : String(fees),
    hash: fees === null ? null : blockOf(BigInt(fees)).hash.slice(2),
  })

  test('moves with the cursor while the fee rates after it are stored too', async () => {
    await move(3n, true)
    expect(await stored()).toEqual(at(3, 3))
    await move(5n, true)
    expect(await stored()).toEqual(at(5, 5))
  })

  test('stays where rates are missing, also when later ones are stored', async () => {
    await move(3n, true)
    await move(5n)
    expect(await stored()).toEqual(at(5, 3))
    await move(6n, true)
    expect(await stored()).toEqual(at(6, 3))
  })

  test('is none while the first blocks are missing', async () => {
    await move(3n, false)
    expect(await stored()).toEqual(at(3, null))
    await move(5n, true)
    expect(await stored()).toEqual(at(5, null))
  })
})

describe('anchors are thinned out with age', () => {
  const fill = (chainId: number, from: number, upTo: number) =>
    rowsOf(
      database,
      `INSERT INTO anchors SELECT ${chainId}, n, decode(repeat('11', 32), 'hex'), n FROM generate_series(${from}, ${upTo}) n`,
    )
  const kept = async (chainId: number) =>
    (
      await rowsOf(database, `SELECT block_number::integer AS at FROM anchors WHERE chain_id = ${chainId} ORDER BY 1`)
    ).map(({ at }) => at)
  const prune = (tip: bigint, sizes?: { readonly dense?: number; readonly every?: bigint }) =>
    database.run((handle) => pruneAnchors(handle, CHAIN, tip, sizes))
  const range = (from: number, upTo: number) => Array.from({ length: upTo - from + 1 }, (_, at) => from + at)

  test('the first of each group stays, and groups are twice as wide for each doubling of the age', async () => {
    await fill(CHAIN, 0, 32)
    await fill(OTHER, 0, 32)
    await prune(32n, { dense: 4, every: 8n })
    // Below an age of 8 all stay; from 8 on one of two, from 16 on one of four, from 32 on one of eight.
    expect(await kept(CHAIN)).toEqual([0, 1, 4, 8, 12, 16, 17, 18, 20, 22, ...range(24, 32)])
    expect(await kept(OTHER)).toEqual(range(0, 32))
  })

  test.each([8n, 40n, 36n])('at block %i only if the number divides it', async (tip) => {
    await fill(CHAIN, 0, Number(tip))
    await prune(tip, { dense: 1, every: 8n })
    expect((await kept(CHAIN)).length < Number(tip) + 1).toBe(tip % 8n === 0n)
  })

  test('by default every 64 blocks, from an age of 1,024 blocks on', async () => {
    await fill(CHAIN, 1_020, 1_030)
    await prune(2_047n)
    await prune(2_080n)
    expect(await kept(CHAIN)).toEqual(range(1_020, 1_030))
    await prune(2_048n)
    expect(await kept(CHAIN)).toEqual([1_020, 1_022, ...range(1_024, 1_030)])
  })
})

describe('observations above a block are deleted in batches', () => {
  const ids = async (table: string, where = 'true') =>
    (await rowsOf(database, `SELECT id::integer FROM ${table} WHERE ${where} ORDER BY id`)).map(({ id }) => id)
  /** Positions that were created at block 1, except the last, and observed at block 2, except the first. */
  const fill = async (chainId: 8453 | 56, count: number): Promise<void> => {
    const facts = Array.from({ length: count }, (_, at) => {
      const created = blockOf(at === count - 1 ? 2n : 1n)
      return { ...seedPosition(at, plan).fact, id: BigInt(at), blockNumber: created.number, blockHash: created.hash }
    })
    await database.transaction((_, copy) => insertFacts(copy, chainId, facts))
    await rowsOf(
      database,
      `INSERT INTO position_observations (chain_id, id, payout_amount, status, claimed, block_number, block_hash, block_timestamp)
        SELECT chain_id, id, 0, 0, false, CASE WHEN id = 0 THEN 1 ELSE 2 END, decode(repeat('22', 32), 'hex'), 2
        FROM positions WHERE chain_id = ${chainId}`,
    )
  }
  const some = (batch: number) =>
    database.transaction((handle) => deleteSomeObservations(handle, CHAIN, blockOf(1n), batch))

  // Of five, one was observed at block 1 and one created at block 2: three are deleted.
  test.each([
    [2, [true, false], [2, 1]],
    [3, [true, false], [3, 0]],
    [4, [false], [3]],
  ])('at most %i per transaction; a full batch may not be the last', async (batch, results, deleted) => {
    await fill(CHAIN, 5)
    await fill(OTHER, 5)
    await rowsOf(database, `UPDATE position_observations SET block_number = 2 WHERE chain_id = ${OTHER}`)
    for (const [at, isMore] of results.entries()) {
      const before = await ids('refresh_queue')
      expect(await some(batch)).toBe(isMore)
      expect((await ids('refresh_queue')).length - before.length).toBe(deleted[at])
    }
    expect(await ids('position_observations', `chain_id = ${CHAIN}`)).toEqual([0, 4])
    expect(await ids('position_observations', `chain_id = ${OTHER}`)).toHaveLength(5)
    expect(await rowsOf(database, 'SELECT DISTINCT chain_id, subject, many, from_block FROM refresh_queue')).toEqual([
      { chain_id: CHAIN, subject: 'position', many: 1, from_block: '0' },
    ])
  })

  test('a full batch of one kind is enough to continue', async () => {
    // The only observation of a deposit is deleted, and none of a position.
    await database.transaction((_, copy) => insertFacts(copy, CHAIN, [seedDeposit(1, plan).fact]))
    await rowsOf(
      database,
      `INSERT INTO deposit_observations (chain_id, id, premiums_earned, premiums_claimed, withdrawn, pending,
        block_number, block_hash, block_timestamp) VALUES (${CHAIN}, 1, 0, 0, false, 0, 2, decode(repeat('22', 32), 'hex'), 2)`,
    )
    await rowsOf(
      database,
      "INSERT INTO refresh_queue (chain_id, subject, id, from_block) VALUES (8453, 'deposit', 1, 9)",
    )
    expect(await some(1)).toBe(true)
    expect(await some(1)).toBe(false)
    // The request was there: it has a new version, and reads of every block wait for it.
    const { rows } = await database.run((handle) =>
      handle.execute(sql`SELECT id, version, from_block FROM refresh_queue WHERE subject = 'deposit'`),
    )
    expect(rows).toEqual([{ id: '1', version: 2, from_block: '0' }])
  })

  test('the queue is locked before any row', async () => {
    await fill(CHAIN, 3)
    expect(await whileQueueIsLocked(database, () => some(9))).toEqual([])
  })
})
