import { type Address, getAddress, numberToHex, zeroAddress } from 'viem'
import { describe, expect, test } from 'vitest'
import { priceOf } from '../../src/plans/draft/price.ts'
import type { Intent } from '../../src/plans/draft/request-body.ts'
import { createEventTokens } from '../../src/plans/steps/event-tokens.ts'
import { type ActionName, actions } from '../support/call-actions.ts'
import { unprepared } from '../support/plan-actions.ts'
import {
  BLOCK,
  core,
  DAI_AT,
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

const views: World['views'] = {
  getHedgeEventCore: () => core,
  getHedgeEventRange: () => range,
  getHedgeEventStats: () => stats,
  getEventPaymentToken: () => USDC_AT,
  getHedgeFeeConfig: () => feeConfig,
}

const takes = (amount: bigint, token: Address = USDC_AT): World['calls'] => {
  const effect = () => ({ takes: { [token]: amount }, returns: 12n })
  return { buyProtection: effect, deposit: effect, createEvent: effect }
}

const terms = {
  ...{ name: 'Cedi', underlying: 'USD/GHS', strike: 1n, payoutCap: 2n, premiumRate: 3n, expiry: TIME + 900n },
  ...{ allowExternalLp: true, initialLiquidity: 70n, initialRate: 1n, strikeAbove: true, paymentToken: USDC_AT },
  ...{ signature: '0x', quoteTimestamp: 0n, quoteNonce: `0x${'0'.repeat(64)}` },
}

const opened = (more: Partial<World> = {}) => planChain({ balances: { [USDC_AT]: 40n }, views, ...more })

const priced = (
  name: ActionName,
  { chain } = opened(),
  more: object = {},
  tokens = createEventTokens(new Map([[chain.chainId, chain]])),
) => {
  const body = {
    chainId: 8453,
    eventId: 5n,
    amount: 300n,
    notional: 10_000n,
    ...(name === 'create-event' && terms),
    ...more,
  }
  const intent = { ...body, from: WALLET } as unknown as Intent
  return priceOf(
    { name, intent, prepared: unprepared(), chain, block: BLOCK, time: TIME, eventTokens: tokens, lists: {} as never },
    actions[name],
  )
}

describe('a price by simulation', () => {
  test('is what the wallet pays with ample balance, approval, cost and time', async () => {
    const asked: unknown[] = []
    const calls = {
      buyProtection: (args: readonly unknown[]) => {
        asked.push(args)
        return { takes: { [USDC_AT]: 207n }, returns: 12n }
      },
    }
    const { price, createdId, facts } = await priced(
      'buy-protection',
      opened({ calls, gasUsed: { buyProtection: 80_000n } }),
    )
    expect(price).toEqual({
      ...{ token: USDC_AT, total: 207n, premium: 200n, exact: true, gas: 100_000n, balance: 40n, allowance: 0n },
      needsReset: false,
    })
    expect([createdId, facts]).toEqual([12n, { core, range, stats, paymentToken: USDC_AT }])
    expect(asked).toEqual([[5n, 10_000n, 2n ** 256n - 1n, 2n ** 256n - 1n]])
  })

  test('has the balance and the allowance that the wallet really has', async () => {
    const { price } = await priced('deposit', opened({ calls: takes(300n), allowances: { [USDC_AT]: 9n } }))
    expect([price?.total, price?.balance, price?.allowance, price?.premium]).toEqual([300n, 40n, 9n, null])
  })

  test('is not that of a wallet that gains, and may be nothing', async () => {
    expect((await priced('deposit', opened({ calls: takes(-1n) }))).price).toMatchObject({ total: 300n, exact: false })
    expect((await priced('deposit', opened({ calls: takes(0n) }))).price).toMatchObject({ total: 0n, exact: true })
  })
})

describe('a price by the formula', () => {
  test.each([
    ['buy-protection', {}, 202n, 200n],
    ['buy-protection', { notional: 49n }, 0n, 0n],
    ['deposit', {}, 300n, null],
    ['create-event', {}, 120n, null],
    ['create-event', { initialLiquidity: 0n }, 50n, null],
  ] as const)('of %s with %o is %d', async (name, more, total, premium) => {
    for (const world of [{ calls: {} }, { simulates: false }]) {
      const { price, createdId } = await priced(name, opened(world), more)
      expect(price).toMatchObject({
        token: USDC_AT,
        total,
        premium,
        exact: false,
        gas: null,
        balance: 40n,
        allowance: 0n,
      })
      expect(createdId).toBeNull()
    }
  })

  test('is unknown without the fees, and for an event without a token', async () => {
    const { getHedgeFeeConfig: _, ...noFees } = views
    expect((await priced('deposit', opened({ views: noFees }))).price).toBeNull()
    const { getEventPaymentToken: __, ...noToken } = views
    expect((await priced('deposit', opened({ views: noToken, calls: takes(300n) }))).price).toBeNull()
  })
})

describe('the token of a price', () => {
  test('of a node that names another one each time is not known, after one repeat, and none of them is learned', async () => {
    let named = 0
    const getEventPaymentToken = (): Address => {
      named += 1
      return getAddress(numberToHex(1_000 + named, { size: 20 }))
    }
    const world = opened({ views: { ...views, getEventPaymentToken }, calls: takes(300n) })
    const tokens = createEventTokens(new Map([[world.chain.chainId, world.chain]]))
    expect((await priced('deposit', world, {}, tokens)).price).toBeNull()
    expect([named, tokens.known(8453, 5n)]).toEqual([2, undefined])
  })

  const both = { balances: { [USDC_AT]: 40n, [DAI_AT]: 70n } }

  test.each([
    ['the one of the event, whatever the body names', 'deposit', { paymentToken: USDC_AT }, DAI_AT, 70n],
    ['the one of the body for a new event', 'create-event', { paymentToken: DAI_AT }, DAI_AT, 70n],
    ['the one that moved for the default token', 'create-event', { paymentToken: zeroAddress }, DAI_AT, 70n],
  ] as const)('is %s', async (_, name, more, token, balance) => {
    const chain = opened({
      ...both,
      deployment: deploymentOf(8453, { usdt: DAI_AT }),
      calls: takes(300n, DAI_AT),
      views: { ...views, getEventPaymentToken: () => DAI_AT },
    })
    expect((await priced(name, chain, more)).price).toMatchObject({ token, total: 300n, balance, exact: true })
  })

  test('is the configured one for the default token that nothing moved', async () => {
    const chain = opened({ ...both, calls: {} })
    expect((await priced('create-event', chain, { paymentToken: zeroAddress })).price).toMatchObject({
      token: USDC_AT,
      total: 120n,
    })
  })

  test('that gained is not the default one', async () => {
    const createEvent = () => ({ takes: { [USDC_AT]: -5n, [DAI_AT]: 120n }, returns: 12n })
    const chain = opened({ ...both, deployment: deploymentOf(8453, { usdt: DAI_AT }), calls: { createEvent } })
    expect((await priced('create-event', chain, { paymentToken: zeroAddress })).price).toMatchObject({
      token: DAI_AT,
      total: 120n,
    })
  })

  test('of an event that is not configured takes a second simulation, and one alone once it is known', async () => {
    const chain = opened({
      ...both,
      calls: takes(300n, DAI_AT),
      views: { ...views, getEventPaymentToken: () => DAI_AT },
    })
    const tokens = createEventTokens(new Map([[8453, chain.chain]]))
    expect(chain.chain.isForeign(DAI_AT)).toBe(true)
    expect((await priced('deposit', chain, {}, tokens)).price).toMatchObject({
      token: DAI_AT,
      total: 300n,
      exact: true,
    })
    expect([chain.sent.length, tokens.known(8453, 5n), chain.chain.isForeign(DAI_AT)]).toEqual([2, DAI_AT, false])
    expect((await priced('deposit', chain, {}, tokens)).price).toMatchObject({ token: DAI_AT, total: 300n })
    expect(chain.sent.length).toBe(3)
  })

  test('that does not answer has neither balance nor allowance', async () => {
    const { price } = await priced('create-event', opened({ calls: {} }), { paymentToken: OTHER })
    expect(price).toMatchObject({ token: OTHER, balance: null, allowance: null, needsReset: false })
  })
})

describe('whether an allowance has to be reset first', () => {
  const usdt = deploymentOf(8453, { usdt: DAI_AT })
  const allowances = { [USDC_AT]: 1n, [DAI_AT]: 1n }
  const needsReset = async (strict: readonly Address[], of: Address, more: Partial<World> = {}) => {
    const world = {
      balances: { [USDC_AT]: 40n, [DAI_AT]: 70n },
      deployment: usdt,
      allowances,
      strict,
      calls: takes(1n, of),
    }
    const chain = opened({ ...world, views: { ...views, getEventPaymentToken: () => of }, ...more })
    return (await priced('deposit', chain)).price?.needsReset
  }

  test('is a matter of the token that is paid', async () => {
    expect(await needsReset([USDC_AT], USDC_AT)).toBe(true)
    expect(await needsReset([DAI_AT], DAI_AT)).toBe(true)
    expect(await needsReset([USDC_AT], DAI_AT)).toBe(false)
    expect(await needsReset([DAI_AT], USDC_AT)).toBe(false)
  })

  test('is not so without an allowance, nor for a token that refuses every approval', async () => {
    expect(await needsReset([USDC_AT], USDC_AT, { allowances: {} })).toBe(false)
    expect(await needsReset([], USDC_AT, { refusing: [USDC_AT] })).toBe(false)
  })
})
