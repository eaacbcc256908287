import { expect, test } from 'vitest'
import { checkIssues } from '../../src/plans/steps/checks.ts'
import type { Facts } from '../../src/plans/steps/facts.ts'
import { actionStep } from '../../src/plans/steps/step.ts'
import type { ProfileName } from '../../src/protocol/profiles.ts'
import { revertByCode } from '../../src/protocol/reverts/catalogue.ts'
import { type ActionName, actions } from '../support/call-actions.ts'
import { core, deploymentOf, deposit, OTHER, position, stats, TIME, WALLET } from '../support/plan-chain.ts'

const bodies: Partial<Record<ActionName, object>> = {
  'claim-payout': { positionId: 9n },
  'claim-premiums': { depositId: 3n },
  'withdraw-capital': { depositId: 3n },
}

const codesOf = (name: ActionName, facts: Facts, profile: ProfileName = 'reference', time = TIME) => {
  const body = { chainId: 8453, eventId: 5n, amount: 1n, notional: 1n, maxCost: 1n, deadline: 1n, price: 1n }
  const given = { ...body, poolOpen: true, allowExternalLp: true, ...bodies[name] }
  const step = actionStep('the-step', actions[name], given, deploymentOf(8453))
  return checkIssues(step, facts, { from: WALLET, time, profile })
}

const open: Facts = { core }
const settled: Facts = { core: { ...core, status: 1 } }
const expired: Facts = { core: { ...core, expiryDate: TIME } }
const lastSecond: Facts = { core: { ...core, expiryDate: TIME + 1n } }
const closed: Facts = { core: { ...core, poolOpen: false } }
const none: Facts = { core: { ...core, id: 0n } }
const own = { ...core, creator: WALLET }
const paid: Facts = { core: { ...core, status: 1 }, position }
const earned: Facts = { core: { ...core, status: 1 }, deposit, pending: 2n }

const everyProfile: [ActionName, string, Facts, string | null][] = [
  ['deposit', 'an open event', open, null],
  ['deposit', 'an expired event', expired, null],
  ['deposit', 'a settled event', settled, 'event_settled'],
  ['deposit', 'no event', none, 'event_not_found'],
  ['deposit', 'nothing that was read', {}, 'event_not_found'],
  ['buy-protection', 'the last second before the expiry', lastSecond, null],
  ['buy-protection', 'the second of the expiry', expired, 'event_expired'],
  ['buy-protection', 'a closed pool', closed, 'pool_closed'],
  ['buy-protection', 'no event', none, 'event_not_found'],
  ['claim-payout', 'a payout', paid, null],
  ['claim-payout', 'no position', { ...paid, position: { ...position, id: 0n } }, 'position_not_found'],
  [
    'claim-payout',
    'a position of another wallet',
    { ...paid, position: { ...position, hedger: OTHER } },
    'not_your_position',
  ],
  [
    'claim-payout',
    'a payout that was claimed',
    { ...paid, position: { ...position, claimed: true } },
    'already_claimed',
  ],
  ['claim-payout', 'an open event', { ...paid, core }, 'event_not_settled'],
  ['claim-payout', 'a position that does not pay', { ...paid, position: { ...position, status: 2 } }, 'no_payout'],
  ['claim-payout', 'a payout of one unit', { ...paid, position: { ...position, payoutAmount: 1n } }, null],
  ['claim-payout', 'a payout of nothing', { ...paid, position: { ...position, payoutAmount: 0n } }, 'no_payout'],
  ['claim-premiums', 'premiums', { ...earned, core }, null],
  ['claim-premiums', 'premiums of one unit', { ...earned, pending: 1n }, null],
  ['claim-premiums', 'no premiums', { ...earned, pending: 0n }, 'no_premiums'],
  ['claim-premiums', 'no deposit', { ...earned, deposit: { ...deposit, id: 0n } }, 'deposit_not_found'],
  [
    'claim-premiums',
    'a deposit of another wallet',
    { ...earned, deposit: { ...deposit, lp: OTHER } },
    'not_your_deposit',
  ],
  ['withdraw-capital', 'a settled event', earned, null],
  ['withdraw-capital', 'an open event', { ...earned, core }, 'event_not_settled'],
  [
    'withdraw-capital',
    'capital that was withdrawn',
    { ...earned, deposit: { ...deposit, withdrawn: true } },
    'already_withdrawn',
  ],
  [
    'withdraw-capital',
    'a deposit of another wallet',
    { ...earned, deposit: { ...deposit, lp: OTHER } },
    'not_your_deposit',
  ],
  ['withdraw-capital', 'no deposit', { ...earned, deposit: { ...deposit, id: 0n } }, 'deposit_not_found'],
  ['withdraw-creator-earnings', 'earnings of one unit', { core: own, stats: { ...stats, creatorEarnings: 1n } }, null],
  ['withdraw-creator-earnings', 'no earnings', { core: own, stats }, 'no_earnings'],
  ['withdraw-creator-earnings', 'earnings that were not read', { core: own }, 'no_earnings'],
  ['withdraw-creator-earnings', 'another creator', { core, stats: { ...stats, creatorEarnings: 1n } }, 'not_creator'],
  ['withdraw-creator-earnings', 'no event', none, 'event_not_found'],
  ['set-pool-settings', 'an own open event', { core: own }, null],
  ['set-pool-settings', 'another creator', open, 'not_creator'],
  ['set-pool-settings', 'an own settled event', { core: { ...own, status: 1 } }, 'event_settled'],
  ['set-pool-settings', 'no event', none, 'event_not_found'],
  ['submit-rate', 'the second of the expiry', expired, null],
  ['submit-rate', 'the last second before the expiry', lastSecond, 'event_not_expired'],
  ['submit-rate', 'a settled event', { core: { ...core, status: 1, expiryDate: TIME } }, 'event_settled'],
  ['submit-rate', 'no event', none, 'event_not_found'],
]

test.each(
  everyProfile.flatMap((row) => (['reference', 'deployed'] as const).map((profile) => [...row, profile] as const)),
)('%s with %s is refused for %s: %s, by a deployment of the kind %s', (name, _, facts, code, profile) => {
  const issues = codesOf(name, facts, profile)
  expect(issues.map((issue) => issue.code)).toEqual(code === null ? [] : [code])
  for (const issue of issues) {
    const { cause, hint } = revertByCode(issue.code)
    expect(issue).toEqual({ code, message: cause, hint, blocking: true, step: 'the-step' })
  }
})

test.each<[Facts, string, string]>([
  [settled, 'event_expired', 'event_settled'],
  [{ core: { ...core, poolOpen: false, expiryDate: TIME } }, 'event_expired', 'pool_closed'],
  [{ core: { ...core, poolOpen: false, status: 1 } }, 'event_expired', 'event_settled'],
])('a purchase has the first reason of its kind of deployment', (facts, reference, deployed) => {
  const codes = (['reference', 'deployed'] as const).map(
    (profile) => codesOf('buy-protection', facts, profile)[0]?.code,
  )
  expect(codes).toEqual([reference, deployed])
})
