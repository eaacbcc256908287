import { sql } from 'drizzle-orm'
import { pino } from 'pino'
import { encodeEventTopics, type Hex } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { deployedLogsAbi, protocolAbi } from '../../src/abi/protocol.generated.ts'
import { type Chain, createChain } from '../../src/chain/chain.ts'
import { changesAfter, newestChange } from '../../src/db/changes/changes.ts'
import type { Database } from '../../src/db/pool.ts'
import { createLogGaps } from '../../src/indexer/log-gaps.ts'
import { uniforms } from '../../src/lib/random.ts'
import { logTopics } from '../../src/protocol/abi/logs.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { feeActions, ratesInIndex, storedFees } from '../support/fees.ts'
import { indexSteps } from '../support/index-steps.ts'
import { startNodeProxy } from '../support/node-proxy.ts'
import { openDatabase } from '../support/open-database.ts'
import { byForm, seed } from '../support/repetitions.ts'
import { startWorld } from '../support/world.ts'

/* The fee rates that events keep, in the index, compared with the order of all logs on the chain. */

const log = pino({ level: 'silent' })
const DAY = 86_400
const CHAIN = 8453

let world: Awaited<ReturnType<typeof startWorld>>
let fees: ReturnType<typeof feeActions>
let proxy: Awaited<ReturnType<typeof startNodeProxy>>
let snapshot: Hex
let chain: Chain
let store: TestDatabase
let database: Database
let steps: ReturnType<typeof indexSteps>

beforeAll(async () => {
  world = await startWorld()
  fees = feeActions(world)
  proxy = await startNodeProxy(world.anvil.url)
})
afterAll(async () => {
  await proxy?.close()
  await world?.close()
})

const open = (logWidth?: bigint): Chain =>
  createChain({
    ...{ deployment: world.deployment, rpcUrls: [proxy.url], timeoutMs: 15_000, headMaxAgeMs: 1, log },
    ...(logWidth !== undefined && { logWidth }),
  })

beforeEach(async () => {
  proxy.honest()
  snapshot = await world.actions.node.snapshot()
  chain = open()
  store = await createTestDatabase()
  database = openDatabase(store.url, { maxConnections: 4 })
  steps = indexSteps({ chain, database })
})
afterEach(async () => {
  await Promise.all([database.close(), chain.close()])
  await store.close()
  await world.actions.node.revert({ id: snapshot })
})

const event = async () => ({ ...world.upward, expiry: (await world.actions.now()) + DAY })
const createEvent = async () => (await world.actions.createEvent(world.creator, await event())).eventId

/** Expects that the index knows the rates of every event, and returns their number. */
const expectRates = async (): Promise<number> => {
  const onChain = await fees.ratesOnChain()
  expect(await ratesInIndex(database, CHAIN)).toEqual(onChain)
  return onChain.size
}

const fill = (signal = new AbortController().signal, from = chain): Promise<void> =>
  createLogGaps({ chain: from, database, log }).fill(signal)

/** Forgets the history of the rates, as on a database of an earlier release. */
const forget = () =>
  database.run(async (handle) => {
    await handle.execute(sql`DELETE FROM fee_rates`)
    await handle.execute(sql`UPDATE cursors SET fees_number = NULL, fees_hash = NULL`)
  })

const expectUnknown = async (): Promise<void> => {
  const rates = await ratesInIndex(database, CHAIN)
  expect([...rates.values()].filter((it) => it !== null)).toEqual([])
  expect(rates.size).toBeGreaterThan(2)
}

test('an event keeps the rates of the last log before its own, also when both are in one block', async () => {
  await fees.setFees([1n, 2n, 3n, 4n])
  await createEvent()
  await fees.inEventsBlock([5n, 6n, 7n, 8n], await event(), 'after')
  await fees.inEventsBlock([9n, 10n, 11n, 12n], await event(), 'before')
  await steps.index()
  expect(await expectRates()).toBe(6)
  const rates = await ratesInIndex(database, CHAIN)
  expect([4n, 5n, 6n].map((id) => rates.get(id)?.payoutFeeRate)).toEqual([2n, 2n, 10n])
  expect(await storedFees(database, CHAIN)).toMatchObject({ rows: { length: 4 } })
})

const ACTS = byForm(8, 60)

test('random orders of fee changes and events, indexed in steps of random lengths, give the rates of the logs', async () => {
  const uniform = uniforms(seed)
  const int = (from: number, to: number): number => from + Math.floor(uniform() * (to - from + 1))
  const rate = (most: number) => BigInt(int(0, most))
  for (let acts = 0; acts < ACTS; acts += 1) {
    const rates = [rate(100_000), rate(100_000), rate(100_000), rate(500_000)] as const
    const act = int(0, 5)
    if (act === 0) await fees.setFees(rates)
    else if (act === 1) await createEvent()
    else if (act === 2) await fees.inEventsBlock(rates, await event(), 'after')
    else if (act === 3) await fees.inEventsBlock(rates, await event(), 'before')
    else if (act === 4) await world.actions.node.mine({ blocks: int(1, 40) })
    else await steps.index()
  }
  await steps.index()
  await expectRates()
  await forget()
  await fill()
  await expectRates()
})

test('a reorg replaces the rates of a log that it replaces', async () => {
  await steps.index()
  const fork = await world.actions.node.snapshot()
  await fees.setFees([1n, 2n, 3n, 4n])
  await createEvent()
  await steps.index()
  expect(await expectRates()).toBe(4)
  await world.actions.node.revert({ id: fork })
  await world.actions.node.mine({ blocks: 1, interval: 7 })
  await fees.setFees([5n, 6n, 7n, 8n])
  await createEvent()
  await steps.index()
  expect(await expectRates()).toBe(4)
  const { rows, upTo, cursor } = await storedFees(database, CHAIN)
  expect(rows).toHaveLength(2)
  expect(upTo).toBe(cursor)
})

test('a reorg without a new change of the fees removes the rates', async () => {
  await steps.index()
  const fork = await world.actions.node.snapshot()
  await fees.setFees([1n, 2n, 3n, 4n])
  await createEvent()
  await steps.index()
  await world.actions.node.revert({ id: fork })
  await world.actions.node.mine({ blocks: 5, interval: 7 })
  await createEvent()
  await steps.index()
  expect(await expectRates()).toBe(4)
  expect((await storedFees(database, CHAIN)).rows).toHaveLength(1)
})

test('a database that was indexed before gets the history of the rates, and what shows them counts as changed', async () => {
  await fees.setFees([1n, 2n, 3n, 4n])
  await createEvent()
  await steps.index()
  await forget()
  await expectUnknown()
  const position = await database.run(newestChange)
  await fill()
  await expectRates()
  const changes = await database.run((handle) => changesAfter(handle, position))
  expect(JSON.stringify(changes, (_, value) => (typeof value === 'bigint' ? String(value) : value))).toContain('null')
  // Later steps continue the complete history.
  await fees.setFees([5n, 6n, 7n, 8n])
  await createEvent()
  await steps.index()
  await expectRates()
})

test('the history continues where it stopped, and events are unknown until it has reached them', async () => {
  for (let events = 0; events < 3; events += 1) {
    await fees.setFees([BigInt(events), 2n, 3n, 4n])
    await createEvent()
    await world.actions.node.mine({ blocks: 8 })
  }
  await steps.index()
  await forget()
  const narrow = open(3n)
  // The node returns at most three blocks.
  proxy.refuse((method, [filter]) => {
    if (method !== 'eth_getLogs') return undefined
    const { fromBlock, toBlock } = filter as { readonly fromBlock: Hex; readonly toBlock: Hex }
    return Number(toBlock) - Number(fromBlock) < 3
      ? undefined
      : { code: -32_000, message: 'query exceeds max block range 3' }
  })
  const unread = async () => {
    const { rows } = await database.run((handle) =>
      handle.execute<{ at: string }>(sql`SELECT unread_to AS at FROM log_gaps`),
    )
    return rows[0] === undefined ? -1n : BigInt(rows[0].at)
  }
  let parts = 0
  for (let left = 1_000_000n; left >= 0n; parts += 1) {
    const stop = new AbortController()
    const filling = fill(stop.signal, narrow)
    const before = left
    await expect.poll(unread).toBeLessThan(before)
    stop.abort()
    await filling
    left = await unread()
    if (left >= 0n) await expectUnknown()
  }
  expect(parts).toBeGreaterThan(1)
  await narrow.close()
  await expectRates()
})

test('a reorg below the history keeps its older part', async () => {
  await fees.setFees([1n, 2n, 3n, 4n])
  await createEvent()
  await steps.index()
  const before = await storedFees(database, CHAIN)
  const fork = await world.actions.node.snapshot()
  await world.actions.node.mine({ blocks: 3 })
  await createEvent()
  await steps.index()
  await world.actions.node.revert({ id: fork })
  await world.actions.node.mine({ blocks: 6, interval: 7 })
  await steps.index()
  await expectRates()
  const after = await storedFees(database, CHAIN)
  expect(after.rows).toEqual(before.rows)
  expect(after.upTo).toBe(after.cursor)
})

test('a write of the history is refused after a rollback', async () => {
  await fees.setFees([1n, 2n, 3n, 4n])
  await steps.index()
  const fork = await world.actions.node.snapshot()
  await fees.setFees([5n, 6n, 7n, 8n])
  await steps.index()
  await forget()
  let rolledBack = false
  const racing: Chain = {
    ...chain,
    async logs(span) {
      const found = await chain.logs(span)
      if (rolledBack) return found
      rolledBack = true
      await world.actions.node.revert({ id: fork })
      await world.actions.node.mine({ blocks: 9, interval: 7 })
      await createEvent()
      await steps.index()
      return found
    },
  }
  await fill(undefined, racing)
  await database.run((handle) => handle.execute(sql`UPDATE log_gaps SET next_at = now()`))
  await fill()
  await expectRates()
  expect((await storedFees(database, CHAIN)).rows).toHaveLength(2)
})

const creations: readonly (Hex | null | readonly Hex[])[] = [
  ...(['EventCreated', 'DepositCreated', 'PositionCreated'] as const).flatMap((eventName) =>
    encodeEventTopics({ abi: protocolAbi, eventName }).slice(0, 1),
  ),
  ...deployedLogsAbi.flatMap((item) =>
    item.type === 'event' ? encodeEventTopics({ abi: deployedLogsAbi, eventName: item.name }).slice(0, 1) : [],
  ),
]

type Log = { readonly topics: readonly Hex[] }

const only = (shown: (topic: Hex | undefined) => boolean): void =>
  proxy.alter((method, result) =>
    method === 'eth_getLogs' && Array.isArray(result)
      ? result.filter(({ topics: [topic] }: Log) => shown(topic))
      : result,
  )

test('the rates are unknown where a deployment emits the logs of creations only', async () => {
  only((topic) => creations.includes(topic ?? null))
  await steps.index()
  await fill()
  await expectUnknown()
  expect(logTopics.some((topic) => !creations.includes(topic))).toBe(true)
})

test('the rates of events that were read without logs are unknown until a node serves their logs', async () => {
  proxy.refuse((method) =>
    method === 'eth_getLogs' ? { code: -32_601, message: 'the method eth_getLogs does not exist' } : undefined,
  )
  await steps.index()
  await fill()
  await expectUnknown()
  proxy.honest()
  const withLogs = open()
  await fees.setFees([1n, 2n, 3n, 4n])
  await createEvent()
  const later = indexSteps({ chain: withLogs, database })
  await later.index()
  await fill(undefined, withLogs)
  await expectRates()
  await withLogs.close()
})
