import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { aspects, touching, touchingAll } from '../../src/db/changes/scopes.ts'
import { completeFees, insertFees, judgeFees, readFees, readFeesContradiction } from '../../src/db/index/fees.ts'
import { addAnchor } from '../../src/db/index/write.ts'
import type { Database } from '../../src/db/pool.ts'
import { cursors } from '../../src/db/schema/index-state.ts'
import { chainObservations, feeRates } from '../../src/db/schema/records.ts'
import { blockColumns } from '../../src/db/stored.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
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
  for (const table of ['fee_rates', 'rollbacks', 'anchors', 'chain_observations', 'cursors', 'changes', 'log_gaps'])
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
/** The block up to which the rates are complete, and its hash. */
const upTo = async (chain = chainId) => {
  const [row] = await database.run((handle) => handle.select().from(cursors).where(eq(cursors.chainId, chain)))
  return { number: row?.feesNumber, hash: row?.feesHash }
}
const at = (number: bigint) => ({ number, hash: blockOf(number).hash })
const complete = () => database.transaction((handle) => completeFees(handle, chainId))

test('a log that is stored already is left as it is', async () => {
  await put(chainId, fee(3n), fee(3n, 1))
  await put(chainId, fee(3n, 0, { hedgerFeeRate: 9n }), fee(4n))
  await put(chainId)
  expect(await stored()).toEqual(['3.0 1', '3.1 1', '4.0 1'])
})

const gap = (chain: number, state: string) =>
  run(`INSERT INTO log_gaps (chain_id, from_block, to_block, unread_to, state) VALUES (${chain}, 6, 7, 7, '${state}')`)

test.each([
  ['no gap', null, null, true],
  ['an open gap', chainId, 'open', false],
  ['a pruned gap', chainId, 'pruned', false],
  ['a gap whose logs are absent', chainId, 'absent', true],
  ['an open gap of another chain', other, 'open', true],
])('with %s, the rates are complete up to the cursor or not', async (_, chain, state, isComplete) => {
  if (chain !== null) await gap(chain, state)
  await complete()
  expect([await upTo(), await upTo(other)]).toEqual([at(isComplete ? 10n : 5n), at(5n)])
})

test('the events whose rates become known change, and everything that shows them', async () => {
  await run(`UPDATE cursors SET fees_number = 2, block_number = 3 WHERE chain_id = ${chainId}`)
  const { all, scopes } = await complete()
  expect([all, [...scopes.keys()].filter((it) => it.startsWith('event:'))]).toEqual([true, ['event:3']])
  expect(scopes.get('event:3')).toBe(aspects.events | aspects.deposits)
  expect(await complete()).toEqual(touching())
  await run(`UPDATE cursors SET fees_number = NULL, block_number = 2 WHERE chain_id = ${chainId}`)
  expect([...(await complete()).scopes.keys()]).toEqual(expect.arrayContaining(['event:1', 'event:2']))
})

test('rates that become known above all events change nothing', async () => {
  expect(await complete()).toEqual(touching())
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
  // Complete up to the block of the observation, they are.
  expect(await complete()).toEqual(touchingAll('repaired'))
  expect(await contradiction()).toContain('77')
})
