import { pino } from 'pino'
import type { Hex } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Chain, createChain } from '../../src/chain/chain.ts'
import type { Database } from '../../src/db/pool.ts'
import { createQueries } from '../../src/db/query.ts'
import { observationLag } from '../../src/db/unobserved.ts'
import { lastUpgrade } from '../../src/db/upgrades.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { indexSteps } from '../support/index-steps.ts'
import type { World } from '../support/indexing.ts'
import { startNodeProxy } from '../support/node-proxy.ts'
import { openDatabase } from '../support/open-database.ts'
import { ownerCalls } from '../support/owner-calls.ts'
import { startWorld } from '../support/world.ts'

let world: World
let proxy: Awaited<ReturnType<typeof startNodeProxy>>
let store: TestDatabase
let database: Database
let chain: Chain
let steps: ReturnType<typeof indexSteps>
let snapshot: Hex

beforeAll(async () => {
  world = await startWorld()
  proxy = await startNodeProxy(world.anvil.url)
})
afterAll(async () => {
  await proxy?.close()
  await world?.close()
})
beforeEach(async () => {
  snapshot = await world.actions.node.snapshot()
  const log = pino({ level: 'silent' })
  const { deployment } = world
  chain = createChain({ deployment, rpcUrls: [proxy.url], timeoutMs: 15_000, headMaxAgeMs: 1, log })
  store = await createTestDatabase()
  database = openDatabase(store.url, { maxConnections: 8 })
  steps = indexSteps({ chain, database })
})
afterEach(async () => {
  proxy.honest()
  await Promise.all([database.close(), chain.close()])
  await store.close()
  await world.actions.node.revert({ id: snapshot })
})

const pendingOf = async (id: bigint): Promise<bigint | undefined> =>
  (await createQueries(database).deposit(8453, id))?.pending

const upgrade = () => database.run((handle) => lastUpgrade(handle, 8453))

/** Event 2 is settled; its only deposit is withdrawn here, so that by the protocol's rules nothing of it can change any more. */
const withdrawnDeposit = async (): Promise<bigint> => {
  await world.actions.claimPremiums(world.creator, 2n)
  await world.actions.withdrawCapital(world.creator, 2n)
  return 2n
}

test('after an upgrade every entity is observed again, also a deposit that was withdrawn and had nothing pending', async () => {
  const id = await withdrawnDeposit()
  await steps.index()
  await steps.observeAll()
  await steps.expectObserved()
  expect(await pendingOf(id)).toBe(0n)

  await ownerCalls(world).replaceView('pendingPremiums(uint256)', 777)
  await steps.index()
  const { block, hash } = await world.newest()
  expect(await upgrade()).toMatchObject({ blockNumber: block, txHash: hash })
  await steps.observeAll()
  expect(await pendingOf(id)).toBe(777n)
  await steps.expectObserved()
  // The loupe lists other functions now, which is the same upgrade and no second one.
  expect(await observationLag(database, 8453)).toEqual({ waiting: 0, oldestSeconds: null })
  expect(await upgrade()).toMatchObject({ blockNumber: block })
})

test('where no node serves logs, another listing of the loupe is an upgrade', async () => {
  const id = await withdrawnDeposit()
  proxy.refuse((method) => (method === 'eth_getLogs' ? { code: -32_005, message: 'limit exceeded' } : undefined))
  // The refusal is what shows that the node serves none.
  await expect(steps.index()).rejects.toThrow()
  await steps.index()
  await steps.observeAll()
  expect(await pendingOf(id)).toBe(0n)
  expect(await upgrade()).toBeNull()

  await ownerCalls(world).replaceView('pendingPremiums(uint256)', 777)
  await steps.index()
  await steps.observeAll()
  expect(await pendingOf(id)).toBe(777n)
  expect(await upgrade()).toMatchObject({ txHash: null })
  await steps.expectObserved()
})

test('an upgrade that a reorg removes is forgotten, and what was observed under it is observed again', async () => {
  const id = await withdrawnDeposit()
  await steps.index()
  await steps.observeAll()
  // The deployment itself was the first cut.
  const deployed = await upgrade()
  const before = await world.actions.node.snapshot()
  await ownerCalls(world).replaceView('pendingPremiums(uint256)', 777)
  await steps.index()
  await steps.observeAll()
  expect(await pendingOf(id)).toBe(777n)

  await world.actions.node.revert({ id: before })
  await world.actions.node.mine({ blocks: 12 })
  await steps.index()
  await steps.observeAll()
  expect(await pendingOf(id)).toBe(0n)
  expect(await upgrade()).toEqual(deployed)
  await steps.expectObserved()
})
