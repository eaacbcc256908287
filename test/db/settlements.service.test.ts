import { asc, eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { announce, changesAfter } from '../../src/db/changes/changes.ts'
import { touching } from '../../src/db/changes/scopes.ts'
import {
  changedSettlements,
  type Draft,
  finalizeSettlements,
  insertSettlementLogs,
  insertSettlements,
  keepSettlements,
  newestNotFinal,
  newestSettlements,
  settlementsAbove,
} from '../../src/db/index/settlements.ts'
import { rollBack } from '../../src/db/index/write.ts'
import type { Database } from '../../src/db/pool.ts'
import { settlements } from '../../src/db/schema/index-state.ts'
import type { Hint } from '../../src/protocol/abi/logs.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
import { blockOf, seedEvent, seedToken } from '../support/seed-index.ts'

const [chainId, other] = [8453, 56]

let store: TestDatabase
let database: Database

beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url, { maxConnections: 2 })
})
afterAll(async () => {
  await database?.close()
  await store?.close()
})
beforeEach(() =>
  database.run((handle) =>
    handle.execute(
      'DELETE FROM settlements; DELETE FROM settlement_logs; DELETE FROM changes; DELETE FROM change_counter',
    ),
  ),
)

const hashOf = (digit: number) => `0x${String(digit).repeat(64)}` as const

/** A settlement of an event that was observed in a block, with values that its block determines. */
const draft = (eventId: bigint, number: bigint, more: Partial<Draft> = {}): Draft => ({
  type: 'settled',
  eventId,
  settledAt: 1_000n + number,
  triggered: number % 2n === 0n,
  settlementPrice: number,
  blockNumber: number,
  blockHash: blockOf(number).hash,
  ...more,
})

const put = (last: number, drafts: readonly Draft[], chain = chainId): Promise<void> =>
  database.transaction((handle) => insertSettlements(handle, chain, drafts, last))

const hint = (id: bigint, blockNumber: bigint, digit: number, more: object = {}): Hint => ({
  ...{ kind: 'hint', subject: 'event', id, members: [], settles: true, blockNumber, txHash: hashOf(digit) },
  ...{ blockHash: blockOf(blockNumber).hash, blockTimestamp: 1n, logIndex: 0 },
  ...(more as { settles: true }),
})
const putLogs = (hints: readonly Hint[], chain = chainId): Promise<void> =>
  database.transaction((handle) => insertSettlementLogs(handle, chain, hints))

const stored = (chain = chainId) =>
  database.run((handle) =>
    handle.select().from(settlements).where(eq(settlements.chainId, chain)).orderBy(asc(settlements.seq)),
  )
/** The settlements of a chain, as number, type, event, block and number of finality. */
const listed = async (chain = chainId): Promise<string[]> =>
  (await stored(chain)).map(
    ({ seq, type, eventId, blockNumber, finalizedSeq }) =>
      `${seq} ${type} ${eventId} in ${blockNumber}${finalizedSeq === null ? '' : ` final ${finalizedSeq}`}`,
  )

test('settlements are numbered up to the last number, with all of their values', async () => {
  await put(10, [draft(1n, 4n), draft(2n, 5n, { type: 'reverted', isFinal: true }), draft(3n, 6n, { isFinal: false })])
  expect(await listed()).toEqual(['8 settled 1 in 4', '9 reverted 2 in 5 final 9', '10 settled 3 in 6'])
  expect((await stored())[0]).toEqual({ ...draft(1n, 4n), seq: 8, chainId, txHash: null, finalizedSeq: null })
  await put(20, [])
  expect(await stored()).toHaveLength(3)
})

test('a settlement has the transaction of the newest log of its event on its chain, unless it brings its own', async () => {
  await putLogs([hint(1n, 4n, 1), hint(1n, 6n, 2), hint(1n, 5n, 3), hint(2n, 9n, 4)])
  await putLogs([hint(1n, 8n, 5), hint(3n, 8n, 6)], other)
  await put(4, [draft(1n, 6n), draft(2n, 9n), draft(3n, 9n), draft(1n, 6n, { txHash: hashOf(7) })])
  expect((await stored()).map(({ txHash }) => txHash)).toEqual([hashOf(2), hashOf(4), null, hashOf(7)])
})

test('of the logs only those that settle an event are stored, and the last one of a block replaces the others', async () => {
  const chain = { subject: 'chain', settles: undefined, id: 5n }
  await putLogs([hint(1n, 4n, 1), hint(2n, 4n, 1, { settles: false }), hint(5n, 4n, 1, chain)])
  await putLogs([hint(1n, 4n, 2)])
  await putLogs([])
  const { rows } = await database.run((handle) =>
    handle.execute(
      sql`SELECT chain_id, event_id, block_number, encode(tx_hash, 'hex') AS tx FROM settlement_logs ORDER BY event_id`,
    ),
  )
  expect(rows).toEqual([{ chain_id: chainId, event_id: '1', block_number: '4', tx: '2'.repeat(64) }])
})

test('an event that is settled again in a lower block after a reorg has the transaction of its new log', async () => {
  await putLogs([hint(1n, 20n, 1)])
  await putLogs([hint(1n, 21n, 8)], other)
  await put(1, [draft(1n, 20n)])
  await database.transaction((handle) => rollBack(handle, chainId, blockOf(10n)))
  await putLogs([hint(1n, 15n, 2)])
  const last = Number((await stored()).at(-1)?.seq) + 1
  await put(last, [draft(1n, 15n)])
  const rows = (await stored()).map(({ type, blockNumber, txHash }) => [type, blockNumber, txHash])
  expect(rows).toEqual([
    ['settled', 20n, hashOf(1)],
    ['reverted', 20n, hashOf(1)],
    ['settled', 15n, hashOf(2)],
  ])
  // The log of the other chain is still there.
  await put(last + 1, [draft(1n, 21n)], other)
  expect((await stored(other))[0]?.txHash).toBe(hashOf(8))
})

const seen = (id: bigint, more: object = {}) => {
  const { core, stats } = seedEvent(1, { token: seedToken, rowsABlock: 1, wallets: 1, events: 1 }).seen
  return {
    core: { ...core, id },
    stats: { ...stats, settledAt: 1_004n, triggered: true, settlementPrice: 4n, ...more },
  }
}
const changed = (...events: ReturnType<typeof seen>[]) =>
  database.run((handle) => changedSettlements(handle, chainId, blockOf(30n), events))
const now = { blockNumber: 30n, blockHash: blockOf(30n).hash }

test('an observed settlement that is not stored is new, and one with the same values is not', async () => {
  await put(9, [draft(1n, 4n)])
  await put(11, [draft(2n, 4n)], other)
  expect(await changed()).toEqual([])
  expect(await changed(seen(1n))).toEqual([])
  expect(await changed(seen(2n))).toEqual([{ ...draft(2n, 4n), ...now }])
  expect(await changed(seen(2n, { settledAt: 0n }))).toEqual([])
})

test.each([
  ['time', { settledAt: 1_005n }],
  ['outcome', { triggered: false }],
  ['price', { settlementPrice: 5n }],
] as const)('a settlement with another %s reverts the stored one and replaces it', async (_, values) => {
  await put(8, [draft(1n, 4n, { txHash: hashOf(1) })])
  const [reverted, settled, ...none] = await changed(seen(1n, values))
  expect(reverted).toMatchObject({ ...draft(1n, 4n), type: 'reverted', isFinal: false, txHash: hashOf(1) })
  expect(settled).toEqual({ ...draft(1n, 4n), ...values, ...now })
  expect(none).toEqual([])
})

test('an event that is not settled any more reverts its settlement once, as final if it was reported as final', async () => {
  await put(8, [draft(1n, 4n, { isFinal: true })])
  const drafts = await changed(seen(1n, { settledAt: 0n }))
  expect(drafts).toMatchObject([{ ...draft(1n, 4n), type: 'reverted', isFinal: true }])
  await put(9, drafts)
  expect(await changed(seen(1n, { settledAt: 0n }))).toEqual([])
  expect(await changed(seen(1n))).toEqual([{ ...draft(1n, 4n), ...now }])
})

/** The reversals above a block, read without the indexes that have the order of the numbers. */
const above = async (number: bigint): Promise<string[]> =>
  (
    await database.transaction(async (handle) => {
      for (const way of ['indexscan', 'indexonlyscan', 'bitmapscan', 'mergejoin'])
        await handle.execute(sql.raw(`SET LOCAL enable_${way} = off`))
      return settlementsAbove(handle, chainId, number)
    })
  ).map(({ type, eventId, blockNumber, isFinal }) => `${type} ${eventId} in ${blockNumber}${isFinal ? ' final' : ''}`)

test('a rollback reverts the settlements above its block that no later one replaced, on its chain', async () => {
  await put(3, [draft(1n, 22n)])
  await put(2, [draft(3n, 20n), draft(2n, 21n, { isFinal: true })])
  // The other chain's settlements of the same events are later, and one of them is reverted.
  await put(13, [draft(1n, 25n), draft(2n, 25n), draft(2n, 25n, { type: 'reverted' })], other)
  expect(await above(20n)).toEqual(['reverted 2 in 21 final', 'reverted 1 in 22'])
  expect(await above(19n)).toEqual(['reverted 3 in 20', 'reverted 2 in 21 final', 'reverted 1 in 22'])
  expect(await above(22n)).toEqual([])
})

test('a rollback keeps the newest settlement of an event whose log is not above its block, as of that block', async () => {
  const keep = (number: bigint) => database.transaction((handle) => keepSettlements(handle, chainId, blockOf(number)))
  await putLogs([hint(1n, 18n, 1), hint(2n, 19n, 2), hint(3n, 21n, 3), hint(4n, 18n, 4)])
  await putLogs([hint(1n, 18n, 1)], other)
  await put(
    4,
    [1n, 2n, 3n, 4n].map((id) => draft(id, 22n)),
  )
  await put(5, [draft(5n, 22n)])
  // An older settlement, and one of another transaction.
  await put(7, [draft(4n, 23n, { txHash: hashOf(9) }), draft(2n, 23n)])
  await put(13, [draft(1n, 22n)], other)
  const before = await listed(other)
  await keep(20n)
  expect(await listed()).toEqual([
    ...['1 settled 1 in 20', '2 settled 2 in 22', '3 settled 3 in 22', '4 settled 4 in 22', '5 settled 5 in 22'],
    ...['6 settled 4 in 23', '7 settled 2 in 20'],
  ])
  expect((await stored())[0]?.blockHash).toBe(blockOf(20n).hash)
  expect(await above(20n)).toEqual(['reverted 3 in 22', 'reverted 5 in 22', 'reverted 4 in 23'])
  expect(await listed(other)).toEqual(before)
  // To a block below the log, nothing is kept.
  await keep(17n)
  expect((await above(17n)).length).toBe(5)
})

test('a second rollback over the same block does not revert a settlement again', async () => {
  await put(1, [draft(1n, 20n)])
  await put(2, [draft(1n, 20n, { type: 'reverted' })])
  expect(await above(10n)).toEqual([])
  await put(3, [draft(1n, 21n)])
  expect(await above(10n)).toEqual(['reverted 1 in 21'])
})

test('the newest settlement of an event is the one with the highest number', async () => {
  await put(3, [draft(1n, 9n), draft(2n, 4n), draft(1n, 5n)])
  await put(13, [draft(1n, 25n)], other)
  const rows = await database.run((handle) => newestSettlements(handle, chainId, [1n, 2n, 7n]))
  expect(rows.map(({ eventId, seq }) => [eventId, seq])).toEqual([
    [1n, 3],
    [2n, 2],
  ])
})

const finalize = (number: bigint, most?: number) =>
  finalizeSettlements(database, chainId, { number, hash: blockOf(number).hash }, most)

test('the newest settlement that is not final is the one of the highest block, up to a block', async () => {
  expect(await newestNotFinal(database, chainId)).toBeNull()
  await put(4, [draft(1n, 22n), draft(2n, 20n), draft(3n, 21n, { isFinal: true }), draft(4n, 25n)])
  await put(5, [draft(4n, 25n, { type: 'reverted' })])
  await put(12, [draft(1n, 30n), draft(2n, 30n)], other)
  const found = async (upTo?: bigint) => (await newestNotFinal(database, chainId, upTo))?.number
  expect(await newestNotFinal(database, chainId)).toEqual({ number: 22n, hash: blockOf(22n).hash })
  expect([await found(22n), await found(21n), await found(20n), await found(19n)]).toEqual([22n, 20n, 20n, undefined])
})

test('settlements up to a block become final in their order, a limited number at once', async () => {
  await put(5, [draft(1n, 20n), draft(2n, 19n), draft(3n, 20n), draft(4n, 21n), draft(5n, 18n)])
  await put(6, [draft(5n, 18n, { type: 'reverted' })])
  await put(12, [draft(1n, 20n), draft(9n, 20n)], other)
  expect(await finalize(20n, 2)).toBe(2)
  const [change] = await database.run((handle) => changesAfter(handle, 0))
  const last = Number(change?.seq)
  expect(change?.scopes).toEqual(['settlements'])
  const first = [`1 settled 1 in 20 final ${last - 1}`, `2 settled 2 in 19 final ${last}`]
  const rest = ['4 settled 4 in 21', '5 settled 5 in 18', '6 reverted 5 in 18']
  expect(await listed()).toEqual([...first, '3 settled 3 in 20', ...rest])
  expect(await finalize(20n, 2)).toBe(1)
  const third = (await stored()).find(({ seq }) => seq === 3)?.finalizedSeq
  expect(third).toBeGreaterThan(last)
  expect(await listed()).toEqual([...first, `3 settled 3 in 20 final ${third}`, ...rest])
  expect(await finalize(20n, 2)).toBe(0)
  expect(await listed(other)).toEqual(['11 settled 1 in 20', '12 settled 9 in 20'])
})

test('settlements that become final have numbers of their own', async () => {
  await put(2, [draft(1n, 20n), draft(2n, 19n)])
  await database.transaction((handle) => announce(handle, chainId, touching('event:1')))
  // A number that no clock reaches, so that the next ones are known.
  const last = 8_000_000_000_000_000
  await database.run((handle) => handle.execute(sql`UPDATE change_counter SET last = ${last}`))
  await finalize(20n)
  expect((await stored()).map(({ finalizedSeq }) => finalizedSeq)).toEqual([last + 1, last + 2])
})

test('nothing becomes final when the final block is not that of a settlement, as after a rollback', async () => {
  await put(2, [draft(1n, 20n), draft(2n, 19n)])
  expect(await finalizeSettlements(database, chainId, { number: 20n, hash: blockOf(20n, 1).hash })).toBe(0)
  expect(await finalize(18n)).toBe(0)
  expect(await listed()).toEqual(['1 settled 1 in 20', '2 settled 2 in 19'])
  expect(await finalize(20n)).toBe(2)
})
