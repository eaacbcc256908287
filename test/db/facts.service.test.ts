import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { lastIdAt, memberIds, ownedIds, putFact } from '../../src/db/index/facts.ts'
import {
  AnchorLost,
  anchorsBelow,
  byKind,
  factById,
  holdAnchor,
  newestAnchor,
  readCursor,
  readProgress,
} from '../../src/db/index/work/progress.ts'
import { addAnchor, moveCursor } from '../../src/db/index/write.ts'
import type { Database } from '../../src/db/pool.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
import { readAllFacts } from '../support/read-facts.ts'
import {
  blockOf,
  type Plan,
  seedDeposit,
  seedEvent,
  seedRows,
  seedToken,
  walletOf,
  writeSeeded,
} from '../support/seed-index.ts'

const [chainId, other] = [8453, 56]
/** Two rows of each kind per block, so 1 and 2 are in block 1 and 7 and 8 in block 4. */
const plan: Plan = { token: seedToken, rowsABlock: 2, wallets: 3, events: 2 }

let store: TestDatabase
let database: Database

beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url, { maxConnections: 2 })
  for (const [chain, count] of [
    [chainId, 6],
    [other, 8],
  ] as const)
    await writeSeeded(
      database,
      chain,
      blockOf(10n),
      seedRows(plan, { events: count - 3, deposits: count - 1, positions: count }),
    )
  // The rows are not in the order of their ids.
  for (const table of ['deposits', 'positions'])
    await database.run((it) => it.execute(`UPDATE ${table} SET tx_hash = block_hash WHERE id IN (1, 2)`))
})
afterAll(async () => {
  await database?.close()
  await store?.close()
})

test('the last id up to a block is that of the chain, the block included', async () => {
  const last = (number: bigint, chain = chainId) => database.run((it) => lastIdAt(it, chain, 'position', number))
  expect([await last(0n), await last(1n), await last(2n), await last(9n)]).toEqual([null, 2n, 4n, 6n])
  expect([await last(9n, other), await last(9n, 1)]).toEqual([8n, null])
})

test('the members of events are listed ascending up to a block', async () => {
  const members = async (number: bigint, ...ids: bigint[]) =>
    Object.fromEntries(await database.run((it) => memberIds(it, chainId, 'position', ids, number)))
  expect(await members(9n, 1n, 2n, 5n)).toEqual({ 1: [2n, 4n, 6n], 2: [1n, 3n, 5n] })
  expect(await members(2n, 1n)).toEqual({ 1: [2n, 4n] })
  expect(await members(0n, 1n)).toEqual({})
})

test('owners are listed in the order of their addresses, a limited number after one, each with its ids', async () => {
  const owned = async (after: ReturnType<typeof walletOf> | null, limit: number, number = 9n) => [
    ...(await database.run((it) => ownedIds(it, chainId, 'deposit', { after, limit, number }))),
  ]
  // Deposit n belongs to wallet 11 n mod 3.
  const [zero, one, two] = [0, 1, 2].map(walletOf) as [
    ReturnType<typeof walletOf>,
    ReturnType<typeof walletOf>,
    ReturnType<typeof walletOf>,
  ]
  expect(await owned(null, 9)).toEqual([
    [zero, [3n]],
    [one, [2n, 5n]],
    [two, [1n, 4n]],
  ])
  expect(await owned(null, 1)).toEqual([[zero, [3n]]])
  expect(await owned(zero, 1)).toEqual([[one, [2n, 5n]]])
  expect(await owned(one, 9, 2n)).toEqual([[two, [1n, 4n]]])
  expect(await owned(null, 9, 1n)).toEqual([
    [one, [2n]],
    [two, [1n]],
  ])
  expect(await owned(two, 9)).toEqual([])
})

test('owners and their ids are listed in that order whatever plan the server chooses', async () => {
  await database.transaction(async (handle) => {
    for (const way of ['sort', 'indexscan', 'indexonlyscan', 'bitmapscan'])
      await handle.execute(sql.raw(`SET LOCAL enable_${way} = off`))
    await handle.execute(sql`INSERT INTO deposits
      (chain_id, id, event_id, lp, amount, shares, block_number, block_hash, block_timestamp) SELECT 1, n, n % 3, decode(lpad(to_hex(n % 50 * 7919 % 256), 40, '0'), 'hex'),
      1, 1, 1, block_hash, 1 FROM deposits, generate_series(99, 0, -1) n WHERE chain_id = ${chainId} AND id = 3`)
    const found = await ownedIds(handle, 1, 'deposit', { after: null, limit: 10, number: 9n })
    // Those of the other chain have smaller addresses, and do not count.
    const first = await ownedIds(handle, chainId, 'deposit', { after: null, limit: 1, number: 9n })
    expect([...first]).toEqual([[walletOf(0), [3n]]])
    const owners = Array.from({ length: 50 }, (_, at) => ({
      owner: (at * 7_919) % 256,
      ids: [BigInt(at), BigInt(at + 50)],
    }))
    const expected = owners.toSorted((a, b) => a.owner - b.owner).slice(0, 10)
    expect([...found].map(([owner, ids]) => ({ owner: Number(owner), ids }))).toEqual(expected)
    const members = await memberIds(handle, 1, 'deposit', [2n], 9n)
    expect(members.get(2n)).toEqual(Array.from({ length: 33 }, (_, at) => BigInt(3 * at + 2)))
    await handle.execute(sql`DELETE FROM deposits WHERE chain_id = 1`)
  })
})

test('a fact that is corrected keeps its block and its log, on its chain alone', async () => {
  const before = await readAllFacts(database, chainId)
  const others = await readAllFacts(database, other)
  const { fact } = seedDeposit(2, { ...plan, wallets: 50 })
  await database.run((it) =>
    putFact(it, chainId, { ...fact, amount: 77n, shares: 78n, eventId: 3n, blockNumber: 9n, logIndex: 1 }),
  )
  const after = await readAllFacts(database, chainId)
  const corrected = { amount: 77n, shares: 78n, eventId: 3n, lp: fact.lp }
  expect(after).toEqual({
    ...before,
    deposits: before.deposits.map((row) => (row.id === 2n ? { ...row, ...corrected } : row)),
  })
  const event = seedEvent(9, plan).fact
  await database.run((it) => putFact(it, chainId, event))
  const { kind: _, ...row } = event
  expect((await readAllFacts(database, chainId)).events.at(-1)).toEqual({ ...row, chainId, paymentToken: null })
  expect(await readAllFacts(database, other)).toEqual(others)
  await database.run((it) => it.execute(sql`DELETE FROM events WHERE id = 9`))
})

test('facts are sorted by kind in their order', () => {
  const facts = [seedDeposit(2, plan), seedEvent(1, plan), seedDeposit(1, plan)].map(({ fact }) => fact)
  expect(byKind(facts)).toEqual({ event: [facts[1]], deposit: [facts[0], facts[2]], position: [] })
})

test('the progress of a chain has its cursor, its newest anchor and its last ids', async () => {
  await database.run((it) => addAnchor(it, chainId, blockOf(12n), false))
  await database.run((it) => addAnchor(it, other, blockOf(20n), false))
  expect(await readProgress(database, chainId)).toEqual({
    ...{ cursor: blockOf(10n), anchor: blockOf(12n) },
    last: { event: 3n, deposit: 5n, position: 6n },
  })
  expect(await readProgress(database, 1)).toEqual({
    ...{ cursor: null, anchor: null },
    last: { event: null, deposit: null, position: null },
  })
  await database.run((it) => moveCursor(it, 10, blockOf(3n)))
  expect(await readProgress(database, 10)).toMatchObject({ cursor: blockOf(3n), anchor: null })
  expect(await database.run((it) => readCursor(it, chainId))).toEqual(blockOf(10n))
  expect(await database.run((it) => readCursor(it, 1))).toBeNull()
  expect(await database.run((it) => newestAnchor(it, chainId))).toEqual(blockOf(12n))
  expect(await database.run((it) => newestAnchor(it, 1))).toBeNull()
})

test('anchors are listed newest first at or below a block', async () => {
  await database.run((it) => addAnchor(it, chainId, blockOf(11n), true))
  const below = async (number: bigint, limit: number) =>
    (await anchorsBelow(database, chainId, number, limit)).map((block) => block.number)
  expect([await below(12n, 9), await below(11n, 9), await below(12n, 2), await below(9n, 9)]).toEqual([
    [12n, 11n, 10n],
    [11n, 10n],
    [12n, 11n],
    [],
  ])
})

test('an anchor can be held while it is there with its hash on its chain, and a rollback then waits', async () => {
  const hold = (chain: number, block: ReturnType<typeof blockOf>) =>
    database.transaction((handle) => holdAnchor(handle, chain, block))
  await hold(chainId, blockOf(10n))
  for (const [chain, block] of [
    [chainId, blockOf(10n, 1)],
    [chainId, { ...blockOf(10n), number: 9n }],
    [chainId, blockOf(20n)],
  ] as const)
    await expect(hold(chain, block)).rejects.toBeInstanceOf(AnchorLost)
  await database.transaction(async (handle) => {
    await holdAnchor(handle, chainId, blockOf(10n))
    const deletion = database.transaction(async (another) => {
      await another.execute(sql`SET LOCAL lock_timeout = 50`)
      await another.execute(sql`DELETE FROM anchors WHERE chain_id = ${chainId} AND block_number = 10`)
    })
    await expect(deletion).rejects.toThrow(/55P03/)
    // Another reader of the anchor does not wait.
    await hold(chainId, blockOf(10n))
  })
})

test('the fact of an entity has the block of its creation on the chain', async () => {
  const [known, unknown] = [
    await factById(database, chainId, 'deposit', 4n),
    await factById(database, chainId, 'deposit', 7n),
  ]
  expect([known?.blockNumber, unknown]).toEqual([2n, null])
})
