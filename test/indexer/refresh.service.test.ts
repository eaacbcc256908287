import { type Hex, toEventSelector, toHex } from 'viem'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { deployedLogsAbi, protocolAbi } from '../../src/abi/protocol.generated.ts'
import { logTopics } from '../../src/protocol/abi/logs.ts'
import { openIndexSteps } from '../support/index-steps.ts'
import type { World } from '../support/indexing.ts'
import { ownerCalls } from '../support/owner-calls.ts'
import { startWorld } from '../support/world.ts'

/*
 * Every log refreshes every record that it can change: after each transaction the index observes only the subjects of
 * its logs, and must then equal the chain in every value. No sweep runs here.
 */

const USDC = 10n ** 6n
const DAY = 86_400
const profile = inject('profile')

let world: World
let steps: Awaited<ReturnType<typeof openIndexSteps>>
let calls: ReturnType<typeof ownerCalls>

beforeAll(async () => {
  world = await startWorld()
  calls = ownerCalls(world)
  steps = await openIndexSteps(world, world.anvil.url)
  await steps.index()
  await steps.observeAll()
})
afterAll(async () => {
  await steps?.close()
  await world?.close()
})

const pass = async (days: number): Promise<void> => {
  await world.actions.node.increaseTime({ seconds: days * DAY })
  await world.actions.node.mine({ blocks: 1 })
}

/** Oracles that settle event 1 by agreement. */
const settleByOracles = async (): Promise<void> => {
  await calls.write('activateOracleV2', [])
  await pass(40)
  for (const oracle of world.oracles.slice(0, 2)) await calls.write('submitRate', [1n, 13_000_000n], oracle)
}

/**
 * Transactions in order, named after the logs that each one covers. `startWorld` creates events 1 to 3 with their
 * deposits and positions.
 */
const transactions: readonly (readonly [logs: string, act: () => Promise<unknown>])[] = [
  ['PoolSettingsUpdated', () => world.actions.setPool(world.creator, 3n, true, true)],
  ['DepositCreated LiquidityDeposited', () => world.actions.deposit(world.lp, 1n, 70n * USDC)],
  ['PositionCreated ProtectionPurchased', () => world.actions.buy(world.hedger, 1n, 500n * USDC)],
  ['PremiumsClaimed', () => world.actions.claimPremiums(world.creator, 1n)],
  ['CreatorEarningsWithdrawn', () => world.actions.withdrawCreatorEarnings(world.creator, 1n)],
  ['FeesInitialized', () => calls.write('initializeHedgeFees', [1n * USDC, 4_000n, 9_000n, 19_000n, 90_000n])],
  ['PricingEngineSignerSet', () => calls.write('setPricingEngineSigner', [world.stranger.account.address])],
  ['PaymentTokenSet', () => calls.write('setAllowedPaymentToken', [world.deployment.usdc, true])],
  ['Paused', () => calls.write('pause', [])],
  ['Unpaused', () => calls.write('unpause', [])],
  ['CapitalWithdrawn', () => world.actions.withdrawCapital(world.creator, 2n)],
  ['ConsensusReached OracleEventSettled', settleByOracles],
  ['PayoutClaimed', () => world.actions.claimPayout(world.hedger, 1n)],
  [
    'ExpiredPayoutsRecovered',
    async () => {
      await pass(120)
      await calls.write('recoverExpiredPayouts', [1n])
    },
  ],
  [
    'EventCreated HedgeEventCreated',
    async () => {
      const expiry = (await world.actions.now()) + DAY
      await world.actions.createEvent(world.creator, { ...world.upward, expiry })
    },
  ],
  ['DiamondCut', () => calls.replaceView('pendingPremiums(uint256)', toHex(777n, { size: 32 }))],
]

test.each(transactions)('after %s every record equals the chain', async (_, act) => {
  await act()
  await steps.index()
  await steps.observeAll()
  await steps.expectObserved()
})

test('the transactions above emit every log that the index follows', async () => {
  const emitted = await world.actions.client.getLogs({ address: world.deployment.diamond, fromBlock: 0n })
  const topics = new Set<Hex | undefined>(emitted.map(({ topics: [topic] }) => topic))
  const ofOther = profile === 'deployed' ? ['EventCreated', 'DepositCreated', 'PositionCreated'] : deployedNames
  const missing = [...protocolAbi, ...deployedLogsAbi].flatMap((item) => {
    if (item.type !== 'event' || !logTopics.includes(toEventSelector(item))) return []
    return topics.has(toEventSelector(item)) || ofOther.includes(item.name) ? [] : [item.name]
  })
  expect(missing).toEqual([])
})

const deployedNames: readonly string[] = deployedLogsAbi.flatMap((item) => (item.type === 'event' ? item.name : []))
