import { pino } from 'pino'
import { encodeAbiParameters, getAbiItem, type Hex, toHex } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import { refreshLag } from '../../src/db/index/work/refresh-queue.ts'
import { isAuditDue, lastUpgrade } from '../../src/db/index/work/upgrades.ts'
import { createQueries } from '../../src/db/queries/entities.ts'
import { createConfirm } from '../../src/indexer/audit/repair.ts'
import { auditSlice } from '../../src/indexer/audit/slice.ts'
import { openIndexSteps } from '../support/index-steps.ts'
import type { World } from '../support/indexing.ts'
import { startNodeProxy } from '../support/node-proxy.ts'
import { ownerCalls } from '../support/owner-calls.ts'
import { startWorld } from '../support/world.ts'

const log = pino({ level: 'silent' })

let world: World
let proxy: Awaited<ReturnType<typeof startNodeProxy>>
let steps: Awaited<ReturnType<typeof openIndexSteps>>
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
  steps = await openIndexSteps(world, proxy.url)
})
afterEach(async () => {
  proxy.honest()
  await steps.close()
  await world.actions.node.revert({ id: snapshot })
})

const pendingOf = async (id: bigint): Promise<bigint | undefined> =>
  (await createQueries(steps.database).deposit(8453, id))?.pending

const upgrade = () => steps.database.run((handle) => lastUpgrade(handle, 8453))

/**
 * Withdraws the only deposit of the settled event 2. By the protocol's rules nothing of the event can change then.
 */
const withdrawnDeposit = async (): Promise<bigint> => {
  await world.actions.claimPremiums(world.creator, 2n)
  await world.actions.withdrawCapital(world.creator, 2n)
  return 2n
}

test('after an upgrade every entity is observed again, also a withdrawn deposit with nothing pending', async () => {
  const id = await withdrawnDeposit()
  await steps.index()
  await steps.observeAll()
  await steps.expectObserved()
  expect(await pendingOf(id)).toBe(0n)

  await ownerCalls(world).replaceView('pendingPremiums(uint256)', toHex(777n, { size: 32 }))
  await steps.index()
  const { block, hash } = await world.newest()
  expect(await upgrade()).toMatchObject({ blockNumber: block, txHash: hash })
  await steps.observeAll()
  expect(await pendingOf(id)).toBe(777n)
  await steps.expectObserved()
  // The loupe lists other functions now. That is the same upgrade, not a second one.
  expect(await refreshLag(steps.database, 8453)).toEqual({ waiting: 0, oldestSeconds: null })
  expect(await upgrade()).toMatchObject({ blockNumber: block })
})

test('without logs, a change of the functions that the loupe lists is detected as an upgrade', async () => {
  const id = await withdrawnDeposit()
  proxy.refuse((method) => (method === 'eth_getLogs' ? { code: -32_005, message: 'limit exceeded' } : undefined))
  await steps.index()
  await steps.observeAll()
  expect(await pendingOf(id)).toBe(0n)
  expect(await upgrade()).toBeNull()

  await ownerCalls(world).replaceView('pendingPremiums(uint256)', toHex(777n, { size: 32 }))
  await steps.index()
  await steps.observeAll()
  expect(await pendingOf(id)).toBe(777n)
  expect(await upgrade()).toMatchObject({ txHash: null })
  await steps.expectObserved()
})

test('an upgrade that a reorg removes is deleted, and its observations are made again', async () => {
  const id = await withdrawnDeposit()
  await steps.index()
  await steps.observeAll()
  // The deployment itself made the first cut.
  const deployed = await upgrade()
  const before = await world.actions.node.snapshot()
  await ownerCalls(world).replaceView('pendingPremiums(uint256)', toHex(777n, { size: 32 }))
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

test('after an upgrade the audit begins a new round, which is due until it ends', async () => {
  await steps.index()
  await steps.observeAll()
  const audit = { chain: steps.chain, database: steps.database, confirm: createConfirm(steps.chain), log }
  const auditAll = async (): Promise<void> => {
    while ((await auditSlice(audit)) && (await isAuditDue(steps.database, 8453)));
  }
  await auditAll()
  expect(await isAuditDue(steps.database, 8453)).toBe(false)
  // The first slice of the next round.
  await auditSlice(audit)

  // From now on the view returns another owner of the position than the log.
  const stranger = world.stranger.account.address
  const position = [1n, 1n, stranger, 5n, 6n, 7n, 0n, 0, false] as const
  const { outputs } = getAbiItem({ abi: protocolAbi, name: 'getHedgePosition' })
  await ownerCalls(world).replaceView('getHedgePosition(uint256)', encodeAbiParameters(outputs, position), 4)
  await steps.index()
  expect(await isAuditDue(steps.database, 8453)).toBe(true)
  await auditAll()
  expect(await isAuditDue(steps.database, 8453)).toBe(false)
  const { positions } = await steps.readIndex()
  expect(new Set(positions.map(({ hedger }) => hedger))).toEqual(new Set([stranger]))
})
