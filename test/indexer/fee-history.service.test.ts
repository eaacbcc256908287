import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Database } from '../../src/db/pool.ts'
import { createFeeHistory } from '../../src/indexer/fee-history.ts'
import { createStep } from '../../src/indexer/step.ts'
import { createFakeChain, type FakeChain } from '../support/fake-log-chain.ts'
import { leaseOf, openIndexDatabase, rowsOf } from '../support/index-writes.ts'

/* The job that fills fee rates, over a chain in memory. */

const log = pino({ level: 'silent' })
const rates = { hedgerFeeRate: 1n, hedgerPayoutFeeRate: 2n, lpProfitFeeRate: 3n, creatorLoyaltyRate: 4n }

let index: Awaited<ReturnType<typeof openIndexDatabase>>
let database: Database
let fake: FakeChain

beforeAll(async () => {
  index = await openIndexDatabase()
  database = index.database
})
afterAll(() => index?.close())
beforeEach(async () => {
  await index.empty()
  fake = createFakeChain()
})

const open = async () => {
  const lease = await leaseOf(database)
  const step = createStep({ chain: fake.chain, database, leaseTtlMs: 60_000, log })
  return () => step(lease)
}
const fill = (signal = new AbortController().signal) =>
  createFeeHistory({ chain: fake.chain, database, log }).fill(signal)
const upTo = async () => (await rowsOf(database, 'SELECT fees_number::integer AS at FROM cursors'))[0]?.at
const stored = async () =>
  (await rowsOf(database, 'SELECT block_number::integer AS at FROM fee_rates ORDER BY 1')).map(({ at }) => at)
/** Forgets the history of the rates, as on a database of an earlier release. */
const forget = (number: bigint | null = null) =>
  rowsOf(
    database,
    number === null
      ? 'UPDATE cursors SET fees_number = NULL, fees_hash = NULL'
      : `UPDATE cursors SET fees_number = ${number}, fees_hash = decode('${fake.block(number).hash.slice(2)}', 'hex')`,
  )
const requests = () => fake.sent().flatMap(([first]) => (first?.startsWith('logs') ? first : []))

test('rates whose log was left out together with that of an event are read again', async () => {
  fake.create('event', 1)
  const step = await open()
  await step()
  let answers = 0
  const hidden = fake.head().number + 1n
  // Both logs are of one block. The third attempt searches for the log of the event, which the fourth answer has.
  fake.state.hides = ({ name, blockNumber }) => {
    if (BigInt(blockNumber) !== hidden) return false
    if (name === 'FeesInitialized') answers += 1
    return answers < 4
  }
  fake.mine(['FeesInitialized', rates], fake.created('event', 2))
  fake.mine(['CapitalWithdrawn', {}])
  for (const did of ['idle', 'idle', 'advanced']) expect((await step()).did).toBe(did)
  expect([answers, await stored(), await upTo()]).toEqual([4, [], 1])
  await fill()
  expect([await stored(), await upTo()]).toEqual([[2], 3])
})

test('nothing is requested while nothing is indexed, or nothing is left to fill', async () => {
  await fill()
  const step = await open()
  await step()
  fake.sent()
  await fill()
  expect(requests()).toEqual([])
})

test('the history is read from the start block up to the cursor, a request at a time', async () => {
  fake.mine(['FeesInitialized', rates])
  fake.pass(6)
  const step = await open()
  await step()
  await rowsOf(database, 'DELETE FROM fee_rates')
  await forget()
  fake.state.width = 4n
  fake.sent()
  await fill()
  expect(requests()).toEqual(['logs 0..3', 'logs 4..7'])
  expect([await stored(), await upTo()]).toEqual([[1], 7])
})

test('the history continues after the block up to which it is complete', async () => {
  fake.pass(3)
  fake.mine(['FeesInitialized', rates])
  const step = await open()
  await step()
  await forget(3n)
  fake.sent()
  await fill()
  expect(requests()).toEqual(['logs 4..4'])
  expect(await upTo()).toBe(4)
})

test('nothing is filled after the signal, or while no node serves logs', async () => {
  fake.pass(3)
  const step = await open()
  await step()
  await forget()
  await fill(AbortSignal.abort())
  fake.state.hasLogs = false
  await fill()
  expect(await upTo()).toBeNull()
})

test('a history of another fork waits until its block is known to be orphaned, and then starts again', async () => {
  fake.pass(3)
  const step = await open()
  await step()
  await forget(2n)
  fake.reorg(1n)
  fake.pass(2)
  const history = createFeeHistory({ chain: fake.chain, database, log })
  const { signal } = new AbortController()
  // The only endpoint is trusted on its second answer. The cursor is of the other fork too, so nothing is stored.
  await history.fill(signal)
  expect(await upTo()).toBe(2)
  await history.fill(signal)
  expect(await upTo()).toBeNull()
})

test('rates of another fork than that of the cursor are not stored', async () => {
  fake.pass(3)
  const step = await open()
  await step()
  await forget(1n)
  fake.reorg(1n)
  fake.pass(2)
  await fill()
  expect(await upTo()).toBe(1)
})

test('rates of a node that lacks the block before them are not stored', async () => {
  fake.pass(3)
  const step = await open()
  await step()
  await forget(1n)
  const { logs } = fake.chain
  Object.assign(fake.chain, {
    logs: async (span: Parameters<typeof logs>[0]) => ({ ...(await logs(span)), before: null }),
  })
  await fill()
  expect(await upTo()).toBe(1)
})

test('a fault that is neither a reorg nor an unreachable node is thrown', async () => {
  fake.pass(3)
  const step = await open()
  await step()
  await forget()
  Object.assign(fake.chain, { logs: () => Promise.reject(new TypeError('a defect')) })
  await expect(fill()).rejects.toThrow('a defect')
})
