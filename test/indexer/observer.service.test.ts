import { sql } from 'drizzle-orm'
import { pino } from 'pino'
import { encodeFunctionData, type Hex } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import { type Chain, createChain } from '../../src/chain/chain.ts'
import { nextRefreshRequests, refreshLag, requestRefresh, requestSweep } from '../../src/db/index/work/refresh-queue.ts'
import type { Database } from '../../src/db/pool.ts'
import { createQueries } from '../../src/db/queries/entities.ts'
import { createConfirm } from '../../src/indexer/audit/repair.ts'
import { auditSlice } from '../../src/indexer/audit/slice.ts'
import { createObserver } from '../../src/indexer/observer.ts'
import { isUnavailable } from '../../src/lib/errors.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { indexSteps } from '../support/index-steps.ts'
import { startNodeProxy } from '../support/node-proxy.ts'
import { openDatabase } from '../support/open-database.ts'
import { eventually } from '../support/process.ts'
import { byForm } from '../support/repetitions.ts'
import { startWorld } from '../support/world.ts'

const log = pino({ level: 'silent' })
const USDC = 10n ** 6n

let world: Awaited<ReturnType<typeof startWorld>>
let proxy: Awaited<ReturnType<typeof startNodeProxy>>
let chain: Chain
let snapshot: Hex
let store: TestDatabase
let database: Database

const open = (): Chain =>
  createChain({ deployment: world.deployment, rpcUrls: [proxy.url], timeoutMs: 15_000, headMaxAgeMs: 1, log })

beforeAll(async () => {
  world = await startWorld()
  proxy = await startNodeProxy(world.anvil.url)
})
afterAll(async () => {
  await proxy?.close()
  await world?.close()
})
beforeEach(async () => {
  proxy.honest()
  snapshot = await world.actions.node.snapshot()
  chain = open()
  store = await createTestDatabase()
  database = openDatabase(store.url, { maxConnections: 8 })
})
afterEach(async () => {
  await Promise.all([database.close(), chain.close()])
  await store.close()
  await world.actions.node.revert({ id: snapshot })
})

const steps = () => indexSteps({ chain, database })
const index = (): Promise<void> => steps().index()
const observeAll = (): Promise<void> => steps().observeAll()
const expectObserved = (): Promise<void> => steps().expectObserved()
const indexed = () => steps().readIndex()

/** An observer whose node delays its first answers until they are released. */
const hesitant = () => {
  const end = new AbortController()
  let letGo = (): void => {}
  const gone = new Promise<void>((resolve) => {
    letGo = resolve
  })
  let answered = false
  const slow: Chain = {
    ...chain,
    async readAt(block, asked) {
      const outcomes = await chain.readAt(block, asked)
      answered = true
      await gone
      return outcomes
    },
  }
  const done = createObserver({ chain: slow, database, log }).observeAll(end.signal)
  return {
    isReading: () => eventually('it reads', () => answered),
    finish(): Promise<void> {
      letGo()
      return done
    },
    /** Stores what it has read, and takes no further requests. */
    finishOnly(): Promise<void> {
      end.abort()
      letGo()
      return done
    },
  }
}

const waits = async (subject: string, id: bigint): Promise<boolean> =>
  (await nextRefreshRequests(database, 8453, 1_000)).some((note) => note.subject === subject && note.id === id)

const mark = (...subjects: Parameters<typeof requestRefresh>[2]) =>
  database.transaction((handle) => requestRefresh(handle, 8453, subjects))

test('a request that is raised during the observation of its subject stays', async () => {
  await index()
  await observeAll()
  await world.actions.buy(world.hedger, 1n, 50n * USDC)
  await index()
  const { cursor: first } = await indexed()
  const observer = hesitant()
  await observer.isReading()
  await world.actions.buy(world.hedger, 1n, 60n * USDC)
  await index()
  const { cursor: second } = await indexed()
  await observer.finishOnly()
  // Stored as of the first purchase. The raised request shows that later changes are missing.
  expect([await waits('event', 1n), await waits('position', 5n), await waits('position', 6n)]).toEqual([
    true,
    false,
    true,
  ])
  // The deposits were observed with their event. What both still have to show is later than the first purchase.
  const { rows } = await database.run((handle) =>
    handle.execute(sql`SELECT DISTINCT subject, from_block::integer AS block FROM refresh_queue ORDER BY subject`),
  )
  expect(rows).toEqual([
    { subject: 'deposit', block: Number(first.number) + 1 },
    { subject: 'event', block: Number(first.number) + 1 },
    { subject: 'position', block: Number(second.number) },
  ])
  await observeAll()
  await expectObserved()
})

test('the slower of two observers neither replaces newer observations nor completes newer requests', async () => {
  await index()
  const slow = hesitant()
  await slow.isReading()
  await world.actions.buy(world.hedger, 1n, 50n * USDC)
  await index()
  await observeAll()
  const { cursor } = await indexed()
  // The faster observer has completed the request that the slower one read; this is a new one.
  await mark({ subject: 'event', id: 1n })
  await slow.finishOnly()
  expect((await createQueries(database).event(8453, 1n))?.observedAt).toEqual(cursor)
  expect(await waits('event', 1n)).toBe(true)
  await observeAll()
  await expectObserved()
})

test('an observation at an orphaned block is not stored', async () => {
  const { actions, deployment, lp, hedger } = world
  await index()
  await observeAll()
  await actions.node.mine({ blocks: 5 })
  await index()
  await actions.buy(hedger, 1n, 50n * USDC)
  await index()
  const { cursor: gone } = await indexed()
  const observer = hesitant()
  await observer.isReading()

  const far = (await actions.client.getBlock()).timestamp + 86_400n
  const args = [1n, 33n * USDC, 1_000n * USDC, far]
  const data = encodeFunctionData({ abi: protocolAbi, functionName: 'buyProtection', args } as never)
  const other = { from: lp.account.address, to: deployment.diamond, gas: '0x2dc6c0', data }
  await actions.node.request({ method: 'anvil_reorg', params: [3, [[other, 2]]] } as never)
  await index()
  await observer.finishOnly()
  const { rows } = await database.run((handle) =>
    handle.execute<{ kind: string }>(sql`SELECT 'event' AS kind, block_hash FROM event_observations
      UNION ALL SELECT 'position', block_hash FROM position_observations
      UNION ALL SELECT 'chain', block_hash FROM chain_observations`),
  )
  expect(rows.length).toBeGreaterThan(0)
  expect(rows).not.toContainEqual(expect.objectContaining({ block_hash: Buffer.from(gone.hash.slice(2), 'hex') }))
  await observeAll()
  await expectObserved()
  expect((await createQueries(database).position(8453, 5n))?.position.hedger).toBe(lp.account.address)
})

test('an observer continues by itself at the block that replaced its own', async () => {
  const { actions, hedger } = world
  await actions.node.mine({ blocks: 5 })
  await index()
  await actions.buy(hedger, 1n, 50n * USDC)
  await index()
  const observer = hesitant()
  await observer.isReading()
  await actions.node.request({ method: 'anvil_reorg', params: [3, []] } as never)
  await index()
  await observer.finish()
  await expectObserved()
})

test('concurrent steps, rollbacks, sweeps, observers and audits do not deadlock', async () => {
  await index()
  const confirm = createConfirm(chain)
  let left = byForm(2, 6)
  /** The error of a read at an orphaned block, which is repeated. */
  const busy = async (work: () => Promise<void>): Promise<void> => {
    while (left > 0) {
      await work().catch((fault: unknown) => {
        if (!isUnavailable(fault)) throw fault
      })
    }
  }
  await Promise.all([
    busy(async () => {
      left -= 1
      await world.actions.buy(world.hedger, 1n, 50n * USDC)
      await index()
      if (left % 2 === 1) return
      await world.actions.node.request({ method: 'anvil_reorg', params: [1, []] } as never)
      await index()
    }),
    busy(() => requestSweep(database, 8453)),
    busy(async () => void (await auditSlice({ chain, database, confirm, log }))),
    busy(observeAll),
    busy(observeAll),
  ])
  await index()
  await observeAll()
  await expectObserved()
})

test('every request stays in the queue while no node answers, and the lag shows it', async () => {
  await index()
  const before = await refreshLag(database, 8453)
  // The protocol, three events (each in a range and again by itself), four deposits, four positions, and the deposits
  // and positions of the settled event.
  expect(before.waiting).toBe(17)
  proxy.refuse((method) => (method === 'eth_call' ? { code: -32_000, message: 'header not found' } : undefined))
  await expect(observeAll()).rejects.toSatisfy(isUnavailable)
  const after = await refreshLag(database, 8453)
  expect(after.waiting).toBe(before.waiting)
  expect(after.oldestSeconds).toBeGreaterThanOrEqual(before.oldestSeconds ?? 0)
  expect(after.oldestSeconds).toBeLessThan(30)
  proxy.honest()
  await eventually('the node gets further requests', () =>
    observeAll().then(
      () => true,
      () => false,
    ),
  )
  await expectObserved()
})
