import { describe, expect, test } from 'vitest'
import { draftClaims } from '../../src/plans/actions/claim-all.ts'
import { draftSteps } from '../../src/plans/draft/plain-steps.ts'
import type { Situation } from '../../src/plans/draft/situation.ts'
import { actionStep, approval } from '../../src/plans/steps/step.ts'
import { actions } from '../support/call-actions.ts'
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
const views: World['views'] = {
  getHedgeEventCore: () => core,
  getHedgeEventRange: () => range,
  getHedgeEventStats: () => stats,
  getEventPaymentToken: () => DAI_AT,
  getHedgeLpDeposit: (id) => ({ ...deposit, id }),
  pendingPremiums: (id) => id * 10n,
  getHedgePosition: (id) => ({ ...position, id }),
}

const open = (more: object = {}) => {
  const opened = planChain({ views })
  const intent = { chainId: 8453, from: WALLET, ...more }
  const situation = { name: 'claim-all', intent, chain: opened.chain, block: BLOCK, time: TIME } as Situation
  return { ...opened, situation }
}

describe('steps without an approval', () => {
  const step = (name: 'claim-payout' | 'claim-premiums' | 'set-pool-settings') => {
    const body = { chainId: 8453, positionId: 9n, depositId: 3n, eventId: 5n, poolOpen: true, allowExternalLp: true }
    return actionStep(name, actions[name], body, deployment)
  }

  test('have the facts of their entities, read together', async () => {
    const { situation, sent } = open()
    const steps = [step('claim-premiums'), step('set-pool-settings'), step('claim-payout')]
    const drafted = await draftSteps(situation, steps, [])
    expect(drafted.facts).toEqual([
      { deposit, pending: 30n },
      { core, range, stats, paymentToken: DAI_AT },
      { position },
    ])
    expect(sent.map((requests) => requests.length)).toEqual([7])
    expect(drafted).toMatchObject({
      steps,
      price: null,
      maxCost: null,
      createdId: null,
      isPartial: false,
      force: false,
    })
  })

  test('without entities send no request', async () => {
    const { situation, sent } = open()
    const drafted = await draftSteps(situation, [approval('revoke-approval', DAI_AT, 0n, deployment)], [DAI_AT])
    expect([drafted.facts, drafted.tokens, sent]).toEqual([[{}], [USDC_AT, DAI_AT], []])
  })

  test('name each token once', async () => {
    const { situation } = open({ force: true })
    const drafted = await draftSteps(situation, [], [USDC_AT, DAI_AT, DAI_AT])
    expect([drafted.tokens, drafted.force]).toEqual([[USDC_AT, DAI_AT], true])
  })
})

describe('the claims of a wallet', () => {
  const claim = (
    kind: 'payout' | 'premiums' | 'capital' | 'creator-earnings',
    id: number,
    eventId = 5,
    token = USDC_AT,
  ) => ({ kind, id, eventId, token })

  test('are steps of their kinds, the earnings last, since other claims add to them', () => {
    const { situation } = open()
    const found = [claim('creator-earnings', 5), claim('payout', 9), claim('premiums', 3), claim('capital', 3)]
    const { steps, facts } = draftClaims(situation, found)
    expect(steps.map(({ id, transaction }) => [id, transaction.function, transaction.args])).toEqual([
      ['claim-payout-9', 'claimPayout', { positionId: '9' }],
      ['claim-premiums-3', 'claimPremiums', { depositId: '3' }],
      ['withdraw-capital-3', 'withdrawCapital', { depositId: '3' }],
      ['withdraw-creator-earnings-5', 'withdrawCreatorEarnings', { eventId: '5' }],
    ])
    expect(facts).toBeNull()
  })

  test('name their events and tokens once, and the chain learns the tokens', () => {
    const { situation, chain } = open()
    expect(chain.isForeign(DAI_AT)).toBe(true)
    const found = [
      claim('payout', 9),
      claim('payout', 8, 6, DAI_AT),
      claim('premiums', 3),
      claim('capital', 4, 6, DAI_AT),
    ]
    const drafted = draftClaims(situation, found)
    expect([drafted.eventIds, drafted.tokens, drafted.isPartial]).toEqual([[5n, 6n], [USDC_AT, DAI_AT], true])
    expect(chain.isForeign(DAI_AT)).toBe(false)
    expect(chain.isForeign(OTHER)).toBe(true)
  })

  test.each([
    [80, 80, 0],
    [81, 80, 1],
    [100, 80, 20],
  ])('of %d are tried up to 80', (count, tried, remaining) => {
    const found = Array.from({ length: count }, (_, nth) => claim('payout', nth + 1, nth + 1))
    const drafted = draftClaims(open().situation, found)
    expect([drafted.steps.length, drafted.eventIds.length, drafted.remaining]).toEqual([tried, tried, remaining])
  })

  test('of nothing have no steps', () => {
    expect(draftClaims(open().situation, [])).toMatchObject({
      steps: [],
      eventIds: [],
      tokens: [USDC_AT],
      remaining: 0,
    })
  })
})
