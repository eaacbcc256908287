import { describe, expect, test } from 'vitest'
import { NodeError } from '../../src/chain/rpc/errors.ts'
import { draftClaims } from '../../src/plans/actions/claim-all.ts'
import { planOf } from '../../src/plans/answer/plan.ts'
import { baseOf, type Draft } from '../../src/plans/draft/contents.ts'
import type { Situation } from '../../src/plans/draft/situation.ts'
import { createEventTokens } from '../../src/plans/steps/event-tokens.ts'
import { actionStep } from '../../src/plans/steps/step.ts'
import { type ActionName, actions } from '../support/call-actions.ts'
import { knownTokens, planner } from '../support/plan-actions.ts'
import {
  BLOCK,
  core,
  DAI_AT,
  deploymentOf,
  deposit,
  feeConfig,
  OTHER,
  planChain,
  position,
  range,
  stats,
  TIME,
  USDC_AT,
  WALLET,
  type World,
} from '../support/plan-chain.ts'

const deployment = deploymentOf(8453)
const settled = { ...core, status: 1 }
const views: World['views'] = {
  getHedgeEventCore: (id) => ({ ...settled, id }),
  getHedgeEventRange: () => range,
  getHedgeEventStats: () => ({ ...stats, settledAt: TIME - 100n }),
  getEventPaymentToken: () => USDC_AT,
  getHedgeFeeConfig: () => feeConfig,
  getHedgeLpDeposit: (id) => ({ ...deposit, id }),
  pendingPremiums: () => 40n,
  getHedgePosition: (id) => ({ ...position, id }),
}
const world: Partial<World> = {
  balances: { [USDC_AT]: 1_000n },
  views,
  calls: {
    // Every third position reverts.
    claimPayout: ([id]) =>
      (id as bigint) % 3n === 0n ? { reverts: 'Already claimed' } : { takes: { [USDC_AT]: -980n } },
    claimPremiums: () => ({ takes: { [USDC_AT]: -39n } }),
    setPoolSettings: () => ({}),
  },
}

const step = (name: ActionName, id: string, body: object) =>
  actionStep(id, actions[name], { chainId: 8453, ...body }, deployment)

const planned = async (draft: Partial<Draft>, more: Partial<World> = {}, tokens = knownTokens()) => {
  const { chain } = planChain({ ...world, ...more })
  const situation = { name: 'claim-all', intent: { from: WALLET }, chain, block: BLOCK, time: TIME } as Situation
  const base = { ...baseOf(situation), price: null, maxCost: null, createdId: null, tokens: [USDC_AT], facts: null }
  const eventTokens = createEventTokens(new Map([[8453, chain]]))
  return planOf(chain, { tokens, eventTokens }, { ...base, steps: [], eventIds: [5n], ...draft })
}

const claimOf = (id: number) => step('claim-payout', `claim-payout-${id}`, { positionId: BigInt(id) })

describe('a plan of claims', () => {
  const claims = (count: number) => {
    const { chain } = planChain(world)
    const intent = { chainId: 8453, from: WALLET }
    const situation = { name: 'claim-all', intent, chain, block: BLOCK, time: TIME } as Situation
    const found = Array.from({ length: count }, (_, nth) => ({
      ...{ kind: 'payout' as const, id: nth + 1, eventId: 5, token: USDC_AT },
    }))
    return draftClaims(situation, found)
  }
  const none: World['calls'] = { claimPayout: () => ({ takes: { [USDC_AT]: -980n } }) }

  test('leaves out those that revert, and gives the reason', async () => {
    const { steps, issues, executable, remaining, payout, summary } = await planned(claims(4))
    expect(steps.map(({ id, payout: paid }) => [id, paid?.net])).toEqual([
      ['claim-payout-1', '980'],
      ['claim-payout-2', '980'],
      ['claim-payout-4', '980'],
    ])
    expect(issues).toEqual([
      expect.objectContaining({ code: 'already_claimed', step: 'claim-payout-3', blocking: false }),
    ])
    expect([executable, remaining]).toEqual([true, 0])
    expect(payout).toMatchObject({ gross: '3000', fee: '60', net: '2940', token: USDC_AT })
    expect(summary).not.toContain('position 3')
  })

  test.each([
    [50, 50, 0],
    [51, 50, 1],
    [80, 50, 30],
    [81, 50, 31],
  ])('of %d positions has up to 50', async (count, kept, remaining) => {
    const plan = await planned(claims(count), { calls: none })
    expect([plan.steps.length, plan.remaining, plan.executable]).toEqual([kept, remaining, true])
  })

  test('with those that revert has the first 50 that do not', async () => {
    const { steps, remaining } = await planned(claims(79))
    // 26 of the 79 revert, and 53 do not.
    expect([steps.length, steps.at(-1)?.id, remaining]).toEqual([50, 'claim-payout-74', 3])
  })

  test('that all revert has nothing to claim', async () => {
    const claimPayout = () => ({ reverts: 'Already claimed' })
    const { steps, issues, executable, walletCalls } = await planned(claims(2), { calls: { claimPayout } })
    expect([steps, issues.map(({ code }) => code), executable, walletCalls]).toEqual([
      ...[[], ['already_claimed', 'already_claimed', 'nothing_to_claim'], false, null],
    ])
  })

  test('is accepted until the payouts may be recovered', async () => {
    const { validUntil } = await planned(claims(1))
    expect(validUntil).toEqual({ blockNumber: 1_001, timestamp: Number(TIME) - 100 + 7_776_000 - 1 })
  })
})

describe('the requests of a plan', () => {
  const premiums = (id: bigint) => step('claim-premiums', `claim-premiums-${id}`, { depositId: id })
  const two = {
    steps: [premiums(3n), premiums(4n)],
    facts: [
      { deposit, pending: 40n },
      { deposit, pending: 40n },
    ],
  }

  test('have the nonces in their order, the gas with its margin, the fees and no value', async () => {
    const { steps, walletCalls } = await planned(two, { gasUsed: { claimPremiums: 80_000n } })
    expect(steps.map(({ request }) => request)).toEqual(
      steps.map(({ transaction: { to, data } }, nth) => ({
        ...{ type: '0x2', chainId: '0x2105', nonce: ['0x7', '0x8'][nth], from: WALLET, to, data, value: '0x0' },
        // 100,000 before refunds.
        ...{ gas: '0x1fbd0', maxFeePerGas: '0xcb', maxPriorityFeePerGas: '0x3' },
      })),
    )
    expect(steps.map(({ transaction }) => transaction.estimatedGas)).toEqual(['100000', '100000'])
    expect(walletCalls).toEqual({
      ...{ version: '2.0.0', chainId: '0x2105', from: WALLET, atomicRequired: false },
      calls: steps.map(({ transaction: { to, data } }) => ({ to, data, value: '0x0' })),
    })
  })

  const account = { nonce: 7n, coins: 10n ** 18n, code: '0x', baseFee: 100n, tip: 3n } as const

  test('of a contract are none, but calls for it are', async () => {
    const { steps, walletCalls, issues } = await planned(two, { account: { ...account, code: '0x60' } })
    expect([steps.map(({ request }) => request), walletCalls?.calls.length]).toEqual([[undefined, undefined], 2])
    expect(issues.map(({ code }) => code)).toEqual(['contract_account'])
  })

  test.each([
    [false, [undefined], null, null],
    [true, [undefined], 1, null],
  ])('of a plan that reverts, forced: %s', async (force, gas, calls, estimatedGas) => {
    const plan = await planned({ steps: [claimOf(3)], facts: [{ position }], force })
    expect([plan.executable, plan.issues.map(({ code, blocking }) => [code, blocking])]).toEqual([
      false,
      [['already_claimed', true]],
    ])
    expect(plan.steps.map(({ request }) => request?.gas)).toEqual(gas)
    expect(plan.steps.map(({ request }) => request !== undefined)).toEqual([force])
    expect([plan.walletCalls?.calls.length ?? null, plan.steps[0]?.transaction.estimatedGas]).toEqual([
      calls,
      estimatedGas,
    ])
    expect(plan.gasCost).toBeNull()
  })
})

describe('a purchase', () => {
  const open = { ...views, getHedgeEventCore: () => core }
  const buy = (more: Partial<World>, body: object = {}) =>
    planner({ ...world, views: open, ...more })('buy-protection', { eventId: 5n, notional: 10_000n, ...body })
  const buyProtection = () => ({ takes: { [USDC_AT]: 204n }, returns: 12n })

  test('without the money reverts once, has the gas of its price, and its transactions when forced', async () => {
    const poor = { balances: { [USDC_AT]: 203n }, allowances: { [USDC_AT]: 500n }, calls: { buyProtection } }
    const plan = await buy(poor, { force: true })
    expect(plan.issues.map(({ code, blocking }) => [code, blocking])).toEqual([['insufficient_balance', true]])
    expect([plan.steps[0]?.request?.gas, plan.steps[0]?.transaction.estimatedGas]).toEqual(['0xfde8', null])
    expect(plan.gasCost?.execution).toBe(String(65_000n * 203n))
    expect((await buy(poor)).steps[0]?.request).toBeUndefined()
  })

  test.each([
    ['at its expiry', TIME, false],
    ['one second before', TIME + 1n, true],
  ])('%s names the time until which to sign only while there is one', async (_, expiryDate, isNamed) => {
    const ofExpiry = { ...open, getHedgeEventCore: () => ({ ...core, expiryDate }) }
    const { summary } = await buy({ views: ofExpiry, calls: { buyProtection } })
    expect(summary.includes('Sign before')).toBe(isNamed)
  })

  test('reports a revert that is not about money next to the issue of money', async () => {
    const calls = { buyProtection: () => ({ reverts: 'Pool closed' }) }
    const { issues } = await buy({ balances: { [USDC_AT]: 1n }, calls })
    expect(issues.filter(({ blocking }) => blocking).map(({ code }) => code)).toEqual([
      'insufficient_balance',
      issues.at(-1)?.code,
    ])
    expect(issues.at(-1)?.code).not.toBe('insufficient_balance')
  })

  test('that reverts for its allowance in spite of the approval is not executable', async () => {
    const calls = { buyProtection: () => ({ reverts: 'ERC20: insufficient allowance' }) }
    const { steps, issues, executable } = await buy({ calls })
    expect([steps.map(({ id }) => id), executable]).toEqual([['approve', 'buy-protection'], false])
    expect(issues.map(({ code, step: of, blocking }) => [code, of, blocking])).toEqual([
      ['insufficient_allowance', 'approve', false],
      ['insufficient_allowance', 'buy-protection', true],
    ])
  })

  test('names the approval first and the cost in its summary', async () => {
    const { summary } = await buy({ calls: { buyProtection } })
    expect(summary).toMatch(
      /^Allow the protocol to take 0\.000204 USDC, then buy protection of 0\.01 USDC in event 5 against /,
    )
  })

  test('has the issues of its draft first', async () => {
    const ofExpiry = { ...open, getHedgeEventCore: () => ({ ...core, expiryDate: TIME + 10n }) }
    const { issues } = await buy({ views: ofExpiry, calls: { buyProtection } })
    expect(issues.map(({ code }) => code)).toEqual(['event_expires_soon', 'insufficient_allowance'])
  })
})

describe('the tokens of a plan', () => {
  const drafted = { steps: [step('claim-premiums', 'c', { depositId: 3n })], facts: [{ deposit, pending: 40n }] }

  test('have the second in which they were read', async () => {
    expect((await planned(drafted)).tokens).toEqual([
      { token: USDC_AT, symbol: 'USDC', decimals: 6, readAt: 1_700_000_000 },
    ])
  })

  test('that were not read have no second', async () => {
    const tokens = { ...knownTokens(), reading: () => undefined }
    expect((await planned(drafted, {}, tokens)).tokens[0]?.readAt).toBeNull()
  })

  test('that have changed have an issue', async () => {
    const token = { token: USDC_AT, symbol: 'USDC', decimals: 18 }
    const { issues, executable } = await planned(drafted, {}, knownTokens({ by: 'configuration', token }))
    expect([issues.map(({ code }) => code), executable]).toEqual([['token_changed'], true])
  })

  test('that do not answer are not asked for their symbol', async () => {
    const asked: string[] = []
    const known = knownTokens()
    const askNamed: typeof known.askNamed = (chainId, token, field) => {
      asked.push(`${field} ${token}`)
      return known.ask(chainId, token)
    }
    const plan = planner(world, undefined, { ...known, askNamed })
    const { issues, tokens } = await plan('revoke-approval', { token: OTHER })
    expect([asked, tokens, issues.map(({ code }) => code)]).toEqual([[], [], ['not_a_token']])
    await planner({ ...world, balances: { [DAI_AT]: 1n } }, undefined, { ...known, askNamed })('revoke-approval', {
      token: DAI_AT,
    })
    expect(asked).toEqual([`token ${DAI_AT}`])
  })
})

describe('without a node that simulates', () => {
  const blind: Partial<World> = { simulates: false }

  test('a plan is executable when its calls succeed, and has no requests', async () => {
    const plan = await planned({ steps: [claimOf(4)], facts: [{ position }] }, blind)
    expect([plan.method, plan.executable, plan.issues, plan.steps[0]?.request]).toEqual([null, true, [], undefined])
    expect([plan.walletCalls?.calls.length, plan.gasCost, plan.payout]).toEqual([1, null, null])
  })

  test('a step that reverts has the reason of its own call', async () => {
    const { issues } = await planned(
      { steps: [claimOf(3)], facts: [{ position: { ...position, claimed: true } }] },
      blind,
    )
    expect(issues.map(({ code }) => code)).toEqual(['already_claimed'])
  })

  test('a step that nothing answered has the reason of the reads, else none but that', async () => {
    const fails: World['fails'] = ({ method, params: [call] }) =>
      method === 'eth_call' && 'from' in (call as object)
        ? new NodeError({ code: -32_000, message: 'busy' })
        : undefined
    const codesOf = async (facts: Draft['facts']) =>
      (await planned({ steps: [claimOf(4)], facts }, { ...blind, fails })).issues.map(({ code }) => code)
    expect(await codesOf([{ position: { ...position, hedger: OTHER } }])).toEqual(['not_your_position'])
    expect(await codesOf([{ position }])).toEqual(['not_simulated'])
  })
})
