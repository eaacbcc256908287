import { expect, test } from 'vitest'
import { type Action, type ActionName, actions } from '../../src/plans/actions.ts'

/** By name: the function, its subject, whether it spends, what it creates and pays, and what the plan works out. */
const expected: Record<ActionName, readonly [Action['function'], ...unknown[]]> = {
  'create-event': ['createEvent', null, true, 'eventId', null, []],
  deposit: ['deposit', 'event', true, 'depositId', null, []],
  'buy-protection': ['buyProtection', 'event', true, 'positionId', null, ['maxCost', 'deadline']],
  'claim-payout': ['claimPayout', 'position', false, null, 'payout', []],
  'claim-premiums': ['claimPremiums', 'deposit', false, null, 'premiums', []],
  'withdraw-capital': ['withdrawCapital', 'deposit', false, null, 'capital', []],
  'withdraw-creator-earnings': ['withdrawCreatorEarnings', 'event', false, null, 'creator-earnings', []],
  'set-pool-settings': ['setPoolSettings', 'event', false, null, null, []],
  'submit-rate': ['submitRate', 'event', false, null, null, []],
}

test('each action has its function, subject and effect', () => {
  const shown = Object.entries(actions).map(([name, action]) => [
    name,
    [action.function, action.subject, action.spends, action.creates, action.pays, action.derived],
  ])
  expect(Object.fromEntries(shown)).toEqual(expected)
})
