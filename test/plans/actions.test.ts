import { expect, test } from 'vitest'
import type { z } from 'zod'
import type { Facts } from '../../src/plans/steps/facts.ts'
import { builderOf } from '../../src/tx/compiled.ts'
import { type ActionName, actions } from '../support/call-actions.ts'
import { position } from '../support/plan-chain.ts'

test.each([
  ['create-event', 'createEvent', null, 'spends', 'eventId', []],
  ['deposit', 'deposit', 'event', 'spends', 'depositId', []],
  ['buy-protection', 'buyProtection', 'event', 'spends', 'positionId', ['maxCost', 'deadline']],
  ['claim-payout', 'claimPayout', 'position', 'pays', undefined, []],
  ['claim-premiums', 'claimPremiums', 'deposit', 'pays', undefined, []],
  ['withdraw-capital', 'withdrawCapital', 'deposit', 'pays', undefined, []],
  ['withdraw-creator-earnings', 'withdrawCreatorEarnings', 'event', 'pays', undefined, []],
  ['set-pool-settings', 'setPoolSettings', 'event', 'neither', undefined, []],
  ['submit-rate', 'submitRate', 'event', 'neither', undefined, []],
] as const)('%s calls %s, about an entity (%s), and %s; it creates %s and works out %o', (name, ...expected) => {
  const action = actions[name]
  const { shape } = action.body as unknown as z.ZodObject
  const derived = Object.keys(builderOf(action.function).fields).filter((field) => !(field in shape))
  const moves = [...(action.spends ? ['spends'] : []), ...(action.pays ? ['pays'] : [])].join() || 'neither'
  expect([action.function, action.entity, moves, action.creates, derived]).toEqual(expected)
})

test('what claims pay before fees', () => {
  const grossOf = (name: ActionName, facts: Facts) => actions[name].pays?.gross(facts)
  expect(grossOf('claim-payout', { position })).toBe(1_000n)
  expect(grossOf('claim-payout', { position: { ...position, status: 3 } })).toBe(0n)
  expect([grossOf('claim-payout', {}), grossOf('claim-premiums', {})]).toEqual([0n, 0n])
  expect([grossOf('claim-premiums', { pending: 8n }), grossOf('withdraw-capital', {})]).toEqual([8n, null])
})
