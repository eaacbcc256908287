import { expect, test } from 'vitest'
import { lastSecondOfClaims } from '../../src/plans/answer/last-second.ts'
import type { Facts } from '../../src/plans/steps/facts.ts'
import { actionStep } from '../../src/plans/steps/step.ts'
import { type ActionName, actions } from '../support/call-actions.ts'
import { deploymentOf, position, stats } from '../support/plan-chain.ts'

const step = (name: ActionName) =>
  actionStep(name, actions[name], { chainId: 8453, positionId: 9n, depositId: 3n }, deploymentOf(8453))
const payout = step('claim-payout')

/** 90 days from the settlement. */
const GRACE = 7_776_000n

const settledAt = (time: bigint): Facts => ({ position, stats: { ...stats, settledAt: time } })

test.each([
  ['one payout', [payout], [settledAt(1_000n)], 1_000n + GRACE - 1n],
  ['the earliest of several', [payout, payout, payout], [3n, 1n, 2n].map(settledAt), GRACE],
  ['no step', [], [], null],
  ['premiums alone', [step('claim-premiums')], [settledAt(1_000n)], null],
  ['premiums before a payout', [step('claim-premiums'), payout], [1n, 2n].map(settledAt), 1n + GRACE],
  ['a position that pays nothing', [payout], [{ ...settledAt(1n), position: { ...position, status: 2 } }], null],
  ['a payout of unknown settlement', [payout], [{ position }], null],
] as const)('claims of %s are certain until %#', (_, steps, facts, end) => {
  expect(lastSecondOfClaims(steps, facts, 0n)).toBe(end)
})

test.each([
  [GRACE, GRACE],
  [GRACE + 1n, GRACE + 1n],
  [GRACE - 1n, GRACE],
])('the last second is not before the time %d of the plan', (time, end) => {
  expect(lastSecondOfClaims([payout], [settledAt(1n)], time)).toBe(end)
})
