import { describe, expect, test } from 'vitest'
import { baseOf, type Draft } from '../../src/plans/draft/contents.ts'
import type { Situation } from '../../src/plans/draft/situation.ts'
import { rehearseDraft } from '../../src/plans/rehearsal/exact-calls.ts'
import { createEventTokens } from '../../src/plans/steps/event-tokens.ts'
import { actionStep } from '../../src/plans/steps/step.ts'
import { type ActionName, actions } from '../support/call-actions.ts'
import {
  BLOCK,
  core,
  DAI_AT,
  deploymentOf,
  deposit,
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

/** Events 5 in USDC and 6 in DAI, and what the wallet has in them. */
const views: World['views'] = {
  getHedgeEventCore: (id) => ({ ...core, id }),
  getHedgeEventRange: () => range,
  getHedgeEventStats: (id) => ({ ...stats, settledAt: id * 100n }),
  getEventPaymentToken: (id) => (id === 6n ? DAI_AT : USDC_AT),
  getHedgeLpDeposit: (id) => ({ ...deposit, id, eventId: 6n }),
  pendingPremiums: () => 40n,
  getHedgePosition: (id) => ({ ...position, id }),
}

const step = (name: ActionName) =>
  actionStep(name, actions[name], { chainId: 8453, positionId: 9n, depositId: 3n, eventId: 5n, amount: 1n }, deployment)

const open = (more: Partial<World> = {}) => {
  const opened = planChain({ balances: { [USDC_AT]: 10n, [DAI_AT]: 20n, [OTHER]: 30n }, views, ...more })
  const situation = { name: 'x', intent: { from: WALLET }, chain: opened.chain, block: BLOCK, time: TIME } as Situation
  const base = { ...baseOf(situation), price: null, maxCost: null, createdId: null, tokens: [USDC_AT] }
  const tokens = createEventTokens(new Map([[8453, opened.chain]]))
  return {
    ...opened,
    tokens,
    rehearsed: (draft: Partial<Draft> & Pick<Draft, 'steps' | 'facts'>) =>
      rehearseDraft(opened.chain, tokens, { ...base, ...draft }),
  }
}

describe('claims whose facts were not read', () => {
  const steps = [step('claim-premiums'), step('claim-payout')]
  const claims = { steps, facts: null, eventIds: [6n, 5n] }

  test('have the facts of their entities, and of the events that these belong to', async () => {
    const { rehearsed } = open()
    const { facts, tokenOf } = await rehearsed(claims)
    expect(facts).toEqual([
      {
        ...{ deposit: { ...deposit, eventId: 6n }, pending: 40n },
        ...{ core: { ...core, id: 6n }, stats: { ...stats, settledAt: 600n } },
      },
      { position, core, stats: { ...stats, settledAt: 500n } },
    ])
    expect(tokenOf).toEqual([DAI_AT, USDC_AT])
  })

  test('are simulated again with the tokens that were not known, and once when all are', async () => {
    const { rehearsed, sent, tokens, chain } = open()
    const { rehearsal } = await rehearsed(claims)
    expect([sent.length, [...(rehearsal?.answering ?? [])]]).toEqual([2, [USDC_AT, DAI_AT]])
    expect([tokens.known(8453, 6n), tokens.known(8453, 5n), chain.isForeign(DAI_AT)]).toEqual([DAI_AT, USDC_AT, false])
    await rehearsed(claims)
    expect(sent.length).toBe(3)
  })

  test('are simulated twice at most, even if an event names another token each time', async () => {
    let asked = 0
    const changing = () => {
      asked += 1
      if (asked > 10) throw new Error('simulated again and again')
      return [DAI_AT, OTHER, WALLET][asked % 3] ?? USDC_AT
    }
    const { rehearsed, sent } = open({ views: { ...views, getEventPaymentToken: changing } })
    await rehearsed({ ...claims, eventIds: [6n] })
    expect(sent.length).toBe(2)
  })
})

test('facts that were read stay, and those of their events are added', async () => {
  const { rehearsed } = open()
  const own = { ...core, name: 'read before' }
  const { facts, tokenOf } = await rehearsed({
    steps: [step('set-pool-settings'), step('claim-payout')],
    facts: [{ core: own, stats: { ...stats, settledAt: 1n } }, { position: { ...position, eventId: 6n } }],
  })
  expect(facts).toEqual([
    { core: own, stats: { ...stats, settledAt: 1n } },
    { position: { ...position, eventId: 6n }, core: { ...core, id: 6n }, stats: { ...stats, settledAt: 600n } },
  ])
  expect(tokenOf).toEqual([USDC_AT, DAI_AT])
})

test('the token of a step is that of its event, else that of the price, else none', async () => {
  const price = {
    ...{ token: OTHER, total: 1n, premium: null, exact: true, gas: 1n, balance: 1n, allowance: 1n },
    needsReset: false,
  }
  const { rehearsed } = open()
  const drafted = { steps: [step('deposit'), step('deposit')], facts: [{}, { core }] }
  expect((await rehearsed({ ...drafted, price })).tokenOf).toEqual([OTHER, USDC_AT])
  expect((await rehearsed(drafted)).tokenOf).toEqual([null, USDC_AT])
})

test('views that fail leave out their facts', async () => {
  const { getHedgeEventCore: _, getHedgeEventStats: __, getEventPaymentToken: ___, ...some } = views
  const { rehearsed, sent } = open({ views: some })
  const { facts, tokenOf } = await rehearsed({ steps: [step('claim-payout')], facts: null, eventIds: [5n] })
  expect([facts, tokenOf, sent.length]).toEqual([[{ position }], [null], 1])
})

test('without a simulation the steps are called one by one', async () => {
  const { rehearsed } = open({ simulates: false, calls: { claimPayout: () => ({}) } })
  const { rehearsal, plain } = await rehearsed({ steps: [step('claim-payout')], facts: [{ position }] })
  expect([rehearsal, plain]).toEqual([null, [{ ok: true, value: '0x' }]])
})
