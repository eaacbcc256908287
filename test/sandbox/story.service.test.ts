import { setTimeout as sleep } from 'node:timers/promises'
import type { Address } from 'viem'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import { runActivity } from '../../src/sandbox/story/activity.ts'
import { seedScenario } from '../../src/sandbox/story/seed.ts'
import { eventually } from '../support/process.ts'
import { startProtocolChain } from '../support/sandbox-chain.ts'

type Chain = Awaited<ReturnType<typeof startProtocolChain>>

const SEED = 56
const MILLION = 10n ** 24n
let here: Chain

const startSeeded = async (): Promise<Chain> => {
  const chain = await startProtocolChain(56)
  await seedScenario({ actions: chain.actions, accounts: chain.accounts, seed: SEED })
  return chain
}

beforeAll(async () => {
  here = await startSeeded()
}, 120_000)

afterAll(() => here?.node.close())

const logsOf = ({ chain, actions }: Chain) =>
  actions.client.getContractEvents({
    address: chain.diamond,
    abi: protocolAbi,
    fromBlock: 0n,
    toBlock: 'latest',
    strict: true,
  })

/** Senders and actions in order, without the times, which differ between runs. */
const storyOf = async (chain: Chain): Promise<string[]> =>
  (await logsOf(chain)).map(({ eventName, args }) => {
    const told = Object.entries(args).filter(([key]) => key !== 'expiryDate')
    return `${eventName} ${told.map(([key, value]) => `${key}=${value}`).join(' ')}`
  })

test('a seeded chain has events in every state', async () => {
  const { actions, chain } = here
  const now = await actions.now()
  const events = await actions.newestEvents(100)
  const read = { address: chain.diamond, abi: protocolAbi } as const
  const states = new Set<string>()
  for (const event of events) {
    const [, triggered] = await actions.client.readContract({
      ...read,
      functionName: 'getHedgeEventStats',
      args: [event.id],
    })
    const [, cap] = await actions.client.readContract({ ...read, functionName: 'getHedgeEventRange', args: [event.id] })
    const running = event.poolOpen ? 'open' : 'pool closed'
    const due = event.expiry > now ? running : 'awaiting settlement'
    states.add(event.settled ? `settled, ${triggered ? 'triggered' : 'not triggered'}` : due)
    states.add(cap === 0n ? 'single strike' : 'range')
    states.add(event.strikeAbove ? 'upward' : 'downward')
  }
  expect([...states].sort()).toEqual([
    ...['awaiting settlement', 'downward', 'open', 'pool closed', 'range'],
    ...['settled, not triggered', 'settled, triggered', 'single strike', 'upward'],
  ])
})

test('at least ten wallets made at least 20 deposits and 50 positions, in both tokens, with every kind of log', async () => {
  const logs = await logsOf(here)
  const kinds: string[] = logs.map((log) => log.eventName)
  const count = (kind: string): number => kinds.filter((name) => name === kind).length
  expect(count('DepositCreated')).toBeGreaterThanOrEqual(20)
  expect(count('PositionCreated')).toBeGreaterThanOrEqual(50)
  const wallets = logs.flatMap((log): Address[] => {
    if (log.eventName === 'DepositCreated') return [log.args.lp]
    return log.eventName === 'PositionCreated' ? [log.args.hedger] : []
  })
  expect(new Set(wallets).size).toBeGreaterThanOrEqual(10)
  expect(kinds).toEqual(
    expect.arrayContaining([
      ...['PayoutClaimed', 'PremiumsClaimed', 'CapitalWithdrawn', 'CreatorEarningsWithdrawn', 'PoolSettingsUpdated'],
      ...['RateSubmitted', 'ConsensusReached', 'OracleEventSettled', 'EventSettled'],
    ]),
  )
  const { actions, chain } = here
  for (const { address } of chain.tokens) expect(await actions.balance(address, chain.diamond)).toBeGreaterThan(0n)
})

test('accounts 0 to 9 hold a million of each token after seeding', async () => {
  const { actions, accounts, chain } = here
  for (const wallet of [accounts.owner, ...accounts.oracles, ...accounts.users]) {
    for (const { address, symbol } of chain.tokens) {
      const balance = await actions.balance(address, wallet.account.address)
      expect(balance, `account ${wallet.index} ${symbol}`).toBeGreaterThanOrEqual(MILLION)
    }
  }
})

test('the node’s clock is in the present after seeding', async () => {
  expect(Math.abs((await here.actions.now()) - Date.now() / 1000)).toBeLessThan(30)
})

test.runIf(inject('form') === 'long')('the same seed gives the same scenario', async () => {
  const repeated = await startSeeded()
  try {
    const [one, other] = [await storyOf(here), await storyOf(repeated)]
    expect(one.length).toBeGreaterThan(200)
    expect(other).toEqual(one)
  } finally {
    await repeated.node.close()
  }
})

test('the live activity acts without errors, settles its own expired events, and does not touch seeded events and the users’ nonces', async () => {
  const { actions, accounts } = here
  const lines: string[] = []
  const stop = new AbortController()
  const before = (await actions.newestEvents(100)).filter((event) => !event.settled).map(({ id }) => id)
  const nonce = (): Promise<number[]> =>
    Promise.all(accounts.users.map(({ account }) => actions.client.getTransactionCount({ address: account.address })))
  const nonces = await nonce()
  const options = { chains: [actions], accounts, seed: 1, intervalMs: 20, signal: stop.signal }
  const running = runActivity({ ...options, log: (line) => lines.push(line) })
  await eventually('thirty actions', () => lines.length >= 30)
  await actions.node.increaseTime({ seconds: 600 })
  await actions.node.mine({ blocks: 1 })
  await eventually('two settlements', () => lines.filter((line) => line.includes('two oracles settled')).length >= 2)
  stop.abort()
  await running
  expect(lines.filter((line) => line.includes('failed'))).toEqual([])
  for (const id of before)
    expect((await actions.newestEvents(100)).find((event) => event.id === id)?.settled).toBe(false)
  expect(await nonce()).toEqual(nonces)
}, 90_000)

test('the live activity continues when the node is down, and stops with its signal', async () => {
  const lines: string[] = []
  const stop = new AbortController()
  await here.node.close()
  const options = {
    chains: [here.actions],
    accounts: here.accounts,
    seed: 1,
    intervalMs: 10,
    signal: stop.signal,
  }
  const running = runActivity({ ...options, log: (line) => lines.push(line) })
  await eventually('three failures', () => lines.filter((line) => line.includes('an action failed')).length >= 3)
  stop.abort()
  await running
  const count = lines.length
  await sleep(100)
  expect(lines.length).toBe(count)
})
