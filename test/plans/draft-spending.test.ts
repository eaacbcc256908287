import { describe, expect, test } from 'vitest'
import { MAX_UINT256 } from '../../src/lib/fixed.ts'
import type { Intent } from '../../src/plans/draft/request-body.ts'
import { draftSpending } from '../../src/plans/draft/spending.ts'
import { createEventTokens } from '../../src/plans/steps/event-tokens.ts'
import { type ActionName, actions } from '../support/call-actions.ts'
import { unprepared } from '../support/plan-actions.ts'
import {
  BLOCK,
  core,
  DAI_AT,
  feeConfig,
  planChain,
  range,
  stats,
  TIME,
  USDC_AT,
  WALLET,
  type World,
} from '../support/plan-chain.ts'

const world = (more: Partial<World> = {}): Partial<World> => ({
  balances: { [USDC_AT]: 1_000n },
  views: {
    getHedgeEventCore: () => core,
    getHedgeEventRange: () => range,
    getHedgeEventStats: () => stats,
    getEventPaymentToken: () => USDC_AT,
    getHedgeFeeConfig: () => feeConfig,
  },
  calls: {
    buyProtection: () => ({ takes: { [USDC_AT]: 204n }, returns: 12n }),
    deposit: () => ({ takes: { [USDC_AT]: 300n }, returns: 13n }),
    createEvent: () => ({ takes: { [USDC_AT]: 120n }, returns: 14n }),
  },
  ...more,
})

const terms = {
  ...{ name: 'Cedi', underlying: 'USD/GHS', strike: 1n, payoutCap: 2n, premiumRate: 3n, expiry: TIME + 900n },
  ...{ allowExternalLp: true, initialLiquidity: 70n, initialRate: 1n, strikeAbove: true, paymentToken: USDC_AT },
  ...{ signature: '0x', quoteTimestamp: 0n, quoteNonce: `0x${'0'.repeat(64)}` },
}

const draft = (name: ActionName, options: object = {}, more: Partial<World> = {}, until: bigint | null = null) => {
  const { chain } = planChain(world(more))
  const body = { chainId: 8453, from: WALLET, eventId: 5n, amount: 300n, notional: 10_000n, ...terms, ...options }
  const intent = body as unknown as Intent
  const eventTokens = createEventTokens(new Map())
  const prepared = unprepared(until)
  const situation = { name, intent, prepared, chain, block: BLOCK, time: TIME, eventTokens, lists: {} as never }
  return draftSpending(situation, actions[name])
}

const expiringAt = (expiryDate: bigint): Partial<World> => ({
  views: { ...world().views, getHedgeEventCore: () => ({ ...core, expiryDate }) },
})

const argumentsOf = async (drafted: ReturnType<typeof draft>) =>
  (await drafted).steps.map(({ id, transaction: { args } }) => [id, args.amount ?? args.maxCost])

describe('the approvals before a step', () => {
  test.each([
    [
      'without an allowance',
      0n,
      {},
      [
        ['approve', '300'],
        ['deposit', '300'],
      ],
    ],
    [
      'with one unit less',
      299n,
      {},
      [
        ['approve', '300'],
        ['deposit', '300'],
      ],
    ],
    ['with exactly enough', 300n, {}, [['deposit', '300']]],
    [
      'without a limit',
      299n,
      { approval: 'unlimited' },
      [
        ['approve', String(MAX_UINT256)],
        ['deposit', '300'],
      ],
    ],
    ['without a limit, with exactly enough', 300n, { approval: 'unlimited' }, [['deposit', '300']]],
  ])('%s', async (_, allowance, options, steps) => {
    expect(await argumentsOf(draft('deposit', options, { allowances: { [USDC_AT]: allowance } }))).toEqual(steps)
  })

  test.each([
    [0n, ['approve', 'deposit']],
    [1n, ['reset-approval', 'approve', 'deposit']],
    [300n, ['deposit']],
  ])('of a token that changes an allowance only from or to 0, with %d', async (allowance, ids) => {
    const { steps } = await draft('deposit', {}, { strict: [USDC_AT], allowances: { [USDC_AT]: allowance } })
    expect(steps.map(({ id }) => id)).toEqual(ids)
    if (ids.length === 3) expect(steps[0]?.transaction.args.amount).toBe('0')
  })

  test.each([
    [0, '204'],
    [50, '205'],
    [10_000, '408'],
  ])('cover a cost that may rise by %d basis points, and no more', async (maxCostBps, maxCost) => {
    expect(await argumentsOf(draft('buy-protection', { maxCostBps }))).toEqual([
      ['approve', maxCost],
      ['buy-protection', maxCost],
    ])
  })

  test('of a deposit do not rise: its amount is exact', async () => {
    const { maxCost, price } = await draft('deposit', { maxCostBps: 10_000 })
    expect([maxCost, price?.total]).toEqual([300n, 300n])
  })

  test('are none without a price', async () => {
    const { steps, price, tokens, maxCost } = await draft('deposit', {}, { views: {}, calls: {} })
    expect([steps.map(({ id }) => id), price, tokens, maxCost]).toEqual([['deposit'], null, [USDC_AT], 0n])
  })

  test('a cost that no argument can hold is the largest one', async () => {
    const cost = MAX_UINT256 - 1n
    const views = { ...world().views, getHedgeEventCore: () => ({ ...core, premiumRate: 1_000_000n }) }
    const { maxCost } = await draft('buy-protection', { notional: cost, maxCostBps: 1 }, { views, calls: {} })
    expect(maxCost).toBe(MAX_UINT256)
  })
})

describe('the deadline of a purchase', () => {
  const deadlineOf = async (options: object, expiryDate: bigint) => {
    const { steps, validUntil, issues } = await draft('buy-protection', options, expiringAt(expiryDate))
    const deadline = BigInt(String(steps.at(-1)?.transaction.args.deadline)) - TIME
    return [deadline, validUntil === null ? null : validUntil - TIME, issues.map(({ code }) => code)]
  }
  const soon = ['event_expires_soon']

  test.each([
    ['600 s unless the request has another value', {}, 86_400n, 600n, 600n, []],
    ['of the request', { deadlineSeconds: 30 }, 86_400n, 30n, 30n, []],
    ['the last second before the expiry', {}, 600n, 599n, 599n, []],
    ['exactly that of the request at the last second', { deadlineSeconds: 599 }, 600n, 599n, 599n, []],
    ['near an expiry 61 s away, which is not soon', {}, 61n, 60n, 60n, []],
    ['near an expiry 60 s away, which is soon', {}, 60n, 59n, 59n, soon],
    ['in the one second that is left', {}, 1n, 0n, 0n, soon],
    ['the time of the plan at the expiry', {}, 0n, 0n, -1n, []],
    ['the time of the plan after the expiry', {}, -100n, 0n, -101n, []],
  ] as const)('is %s', async (_, options, left, deadline, validUntil, codes) => {
    expect(await deadlineOf(options, TIME + left)).toEqual([deadline, validUntil, codes])
  })

  test('is that of the request for an event that does not exist', async () => {
    const views = { ...world().views, getHedgeEventCore: () => ({ ...core, id: 0n, expiryDate: 0n }) }
    const { steps, validUntil } = await draft('buy-protection', { deadlineSeconds: 30 }, { views })
    expect([steps.at(-1)?.transaction.args.deadline, validUntil]).toEqual([String(TIME + 30n), TIME + 30n])
  })

  test('near the expiry comes with its text', async () => {
    const { issues } = await draft('buy-protection', {}, expiringAt(TIME + 12n))
    expect(issues).toEqual([
      expect.objectContaining({
        message: expect.stringMatching(/^the event expires at 2096-10-02T07:06:53Z, 12 s after the time of the plan: /),
        blocking: false,
      }),
    ])
  })
})

describe('how long other steps are accepted', () => {
  test.each([
    ['a new event without a signature', 'create-event', null, TIME + 900n, TIME + 899n],
    ['a new event with a signature that ends before', 'create-event', TIME + 5n, TIME + 900n, TIME + 5n],
    ['a new event with a signature that ends later', 'create-event', TIME + 2_000n, TIME + 900n, TIME + 899n],
    ['a new event with the expiry 0', 'create-event', null, 0n, 0n],
    ['a deposit', 'deposit', null, undefined, null],
  ] as const)('%s', async (_, name, until, expiry, validUntil) => {
    const drafted = await draft(name, { expiry }, {}, until)
    expect([drafted.validUntil, drafted.issues]).toEqual([validUntil, []])
  })
})

test('the draft has the price, the facts of its step alone, the id and the token', async () => {
  const drafted = await draft('buy-protection')
  expect(drafted).toMatchObject({
    ...{ name: 'buy-protection', from: WALLET, block: BLOCK, time: TIME, createdId: 12n, tokens: [USDC_AT] },
    ...{ price: { total: 204n, premium: 200n, exact: true, balance: 1_000n, allowance: 0n, needsReset: false } },
    ...{ remaining: 0, isPartial: false, force: false, eventIds: [] },
  })
  expect(drafted.facts).toEqual([{}, { core, range, stats, paymentToken: USDC_AT }])
})

test('a token of an event that is not configured is approved', async () => {
  const more = {
    balances: { [USDC_AT]: 1_000n, [DAI_AT]: 700n },
    views: { ...world().views, getEventPaymentToken: () => DAI_AT },
    calls: { deposit: () => ({ takes: { [DAI_AT]: 300n }, returns: 13n }) },
  }
  const { steps, price, tokens } = await draft('deposit', {}, more)
  expect(steps.map(({ transaction: { to } }) => to)[0]).toBe(DAI_AT)
  expect([price?.balance, tokens]).toEqual([700n, [DAI_AT]])
})
