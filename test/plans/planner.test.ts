import { zeroAddress } from 'viem'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Chain } from '../../src/chain/chain.ts'
import type { ActionName } from '../../src/plans/actions/table.ts'
import type { Intent } from '../../src/plans/draft/request-body.ts'
import { createPlanner, type PlanSources } from '../../src/plans/planner.ts'
import { knownTokens, planner } from '../support/plan-actions.ts'
import {
  BLOCK,
  core,
  DAI_AT,
  DIAMOND,
  deploymentOf,
  feeConfig,
  OTHER,
  planChain,
  range,
  stats,
  TIME,
  USDC_AT,
  WALLET,
  type World,
} from '../support/plan-chain.ts'

const world: Partial<World> = {
  balances: { [USDC_AT]: 1_000n, [DAI_AT]: 1_000n },
  views: {
    getHedgeEventCore: () => core,
    getHedgeEventRange: () => range,
    getHedgeEventStats: () => stats,
    getEventPaymentToken: () => USDC_AT,
    getHedgeFeeConfig: () => feeConfig,
    getEventDepositIds: () => [44n],
  },
  calls: {
    deposit: ([, amount]) => ({ takes: { [USDC_AT]: amount as bigint }, returns: 13n }),
    createEvent: () => ({ takes: { [USDC_AT]: 120n }, returns: 6n }),
    setPoolSettings: () => ({}),
  },
}

/** Plans over a chain of which the options and the budgets of foreign code are recorded. */
const recorded = () => {
  const { chain } = planChain(world)
  const used: string[] = []
  const spied: Chain = {
    ...chain,
    pinned: (read, options) => {
      used.push(`fresh: ${options?.isFresh}`)
      return chain.pinned(read, options)
    },
    runForeign: (run, caller) => {
      used.push(`foreign of ${caller?.address}`)
      return run()
    },
  }
  const chains = new Map([[8453, spied]])
  const pricing: PlanSources['pricing'] = { quote: () => Promise.reject(new Error('not asked')) }
  const plan = createPlanner({ chains, tokens: knownTokens(), pricing, lists: {} as never })
  const disconnected = new AbortController().signal
  return {
    used,
    run: (name: ActionName, intent: object) =>
      plan(name, { chainId: 8453, from: WALLET, ...intent } as Intent, { address: 'client', disconnected }),
  }
}

describe('the budget of a plan', () => {
  const terms = {
    ...{ name: 'Cedi', underlying: 'USD/GHS', strike: 1n, payoutCap: 2n, premiumRate: 3n, expiry: TIME + 900n },
    ...{ allowExternalLp: true, initialLiquidity: 70n, initialRate: 1n, strikeAbove: true },
  }
  test.each([
    ['a configured token', 'revoke-approval', { token: USDC_AT }, []],
    ['a foreign token', 'revoke-approval', { token: DAI_AT }, ['foreign of client']],
    ['a foreign payment token', 'create-event', { ...terms, paymentToken: OTHER }, ['foreign of client']],
    ['the default token', 'create-event', { ...terms, paymentToken: zeroAddress }, []],
    ['no token', 'deposit', { eventId: 5n, amount: 1n }, []],
  ] as const)('that names %s is that of all plans or of foreign code', async (_, name, intent, budget) => {
    const { run, used } = recorded()
    await run(name, intent)
    expect(used).toEqual([...budget, 'fresh: true'])
  })
})

test('a chain that is not configured has no plans', async () => {
  await expect(recorded().run('deposit', { chainId: 56 })).rejects.toThrow(/chain 56/)
})

describe('the time of a plan', () => {
  const timeOf = async (clock: bigint) => {
    vi.useFakeTimers({ toFake: ['Date'], now: Number(clock) * 1_000 + 999 })
    onTestFinished(() => void vi.useRealTimers())
    const times: bigint[] = []
    const setPoolSettings = (_: readonly unknown[], time: bigint) => {
      times.push(time)
      return {}
    }
    await planner({ ...world, calls: { setPoolSettings } })('set-pool-settings', {
      eventId: 5n,
      poolOpen: true,
      allowExternalLp: true,
    })
    return times
  }
  test.each([
    ['the second after the block', BLOCK.timestamp - 5n, BLOCK.timestamp + 1n],
    ['the second after the block', BLOCK.timestamp + 1n, BLOCK.timestamp + 1n],
    ['the clock when it is later', BLOCK.timestamp + 2n, BLOCK.timestamp + 2n],
  ])('is %s', async (_, clock, time) => {
    expect(await timeOf(clock)).toEqual([time])
  })
})

test('an approval is revoked with an allowance of 0 for the protocol', async () => {
  const { steps, action, summary } = await planner(world)('revoke-approval', { token: DAI_AT })
  expect(steps.map(({ id, transaction: { to, args } }) => [id, to, args])).toEqual([
    ['revoke-approval', DAI_AT, { spender: DIAMOND, amount: '0' }],
  ])
  expect([action, summary]).toEqual(['revoke-approval', `Take back the protocol's allowance of DAI (${DAI_AT}).`])
})

test('the terms of a quote are those of the new event, and its issues are those of the plan', async () => {
  const breakdown = { initialRateFixed6: '10000002', strikeFixed6: '12000003', payoutCapFixed6: '13000004' }
  const quote = { premiumRateFixed6: '20001', attestation: null, breakdown }
  const plan = planner(world, { quote: async () => quote as never })
  const { steps, issues, effects, cost } = await plan('create-event', {
    ...{ name: 'Cedi', allowExternalLp: true, initialLiquidity: 70n, paymentToken: USDC_AT },
    quote: {
      ...{ pair: 'USD/GHS', strike: 12, payoutCap: 13, expiryUnixSeconds: Number(TIME) + 900, notional: 1 },
      strikeAbove: true,
    },
  })
  expect(steps.at(-1)?.transaction.args).toMatchObject({
    ...{ underlying: 'USD/GHS', strike: '12000003', payoutCap: '13000004', initialRate: '10000002' },
    ...{ premiumRate: '20001', expiry: String(TIME + 900n), initialLiquidity: '70', signature: '0x' },
  })
  expect(issues.map(({ code }) => code)).toEqual(['unsigned_quote', 'insufficient_allowance'])
  expect(effects.created).toEqual({ eventId: 6, depositId: 44, predicted: true })
  expect([cost?.total, cost?.platformFee]).toEqual(['120', '50'])
})

test('terms that a quote sets replace those of the body', async () => {
  const { chain } = planChain(world)
  const quote = async () => ({
    ...{ premiumRateFixed6: '20001', attestation: null },
    breakdown: { initialRateFixed6: '2', strikeFixed6: '3', payoutCapFixed6: '4' },
  })
  const sources = { chains: new Map([[8453, chain]]), tokens: knownTokens(), pricing: { quote }, lists: {} }
  const asked = { pair: 'USD/GHS', expiryUnixSeconds: Number(TIME) + 900, strikeAbove: true, signed: false }
  const intent = {
    ...{ chainId: 8453, from: WALLET, name: 'Cedi', allowExternalLp: true, initialLiquidity: 70n },
    ...{ paymentToken: USDC_AT, strike: 99n, quote: asked },
  }
  const client = { address: 'client', disconnected: new AbortController().signal }
  const { steps } = await createPlanner(sources as unknown as PlanSources)(
    'create-event',
    intent as unknown as Intent,
    client,
  )
  expect(steps.at(-1)?.transaction.args.strike).toBe('3')
})

test('plans of a chain have the names of its coin and its id', async () => {
  const plan = planner({ ...world, deployment: deploymentOf(56) })
  const { chainId, gasCost } = await plan('deposit', { eventId: 5n, amount: 1n })
  expect([chainId, gasCost?.symbol]).toEqual([56, 'BNB'])
})
