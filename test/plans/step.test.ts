import { type Address, encodeAbiParameters, type Hex, keccak256, parseAbiParameters } from 'viem'
import { expect, test } from 'vitest'
import { actionStep, approval, digestOf } from '../../src/plans/steps/step.ts'
import { type ActionName, actions } from '../support/call-actions.ts'
import { DAI_AT, DIAMOND, deploymentOf, USDC_AT, WALLET } from '../support/plan-chain.ts'

const deployment = deploymentOf(8453)
const body = {
  chainId: 8453,
  eventId: 5n,
  depositId: 3n,
  positionId: 9n,
  amount: 1n,
  poolOpen: true,
  allowExternalLp: false,
}

test.each<[ActionName, object]>([
  ['deposit', { kind: 'event', id: 5n }],
  ['claim-premiums', { kind: 'deposit', id: 3n }],
  ['withdraw-capital', { kind: 'deposit', id: 3n }],
  ['claim-payout', { kind: 'position', id: 9n }],
  ['set-pool-settings', { kind: 'event', id: 5n }],
])('the step %s is a call of the protocol about the entity of its first argument', (name, entity) => {
  const { transaction, ...step } = actionStep('x', actions[name], body, deployment)
  expect(step).toEqual({ id: 'x', action: actions[name], entity })
  expect([transaction.to, transaction.function, transaction.value]).toEqual([DIAMOND, actions[name].function, '0'])
})

test('an action without an entity names none, even if its first argument is a number', () => {
  const action = { ...actions.deposit, entity: null }
  expect(actionStep('x', action, body, deployment).entity).toBeNull()
})

test('an approval is a call of the token, for the protocol', () => {
  const { transaction, ...step } = approval('reset', DAI_AT, 12n, deployment)
  expect(step).toEqual({ id: 'reset', action: null, entity: null })
  expect([transaction.to, transaction.chainId, transaction.args]).toEqual([
    DAI_AT,
    8453,
    { spender: DIAMOND, amount: '12' },
  ])
})

test('the digest is the hash of the chain, the wallet and the calls in their order', () => {
  const steps = [USDC_AT, DAI_AT].map((token) => approval('approve', token, 12n, deployment))
  const parameters = parseAbiParameters([
    'uint256 chainId, address from, Call[] calls',
    'struct Call { address to; uint256 value; bytes data; }',
  ])
  const hashOf = (chainId: bigint, from: Address, calls: readonly { to: Address; value: bigint; data: Hex }[]): Hex =>
    keccak256(encodeAbiParameters(parameters, [chainId, from, calls]))
  const calls = steps.map(({ transaction: { to, data } }) => ({ to, data, value: 0n }))
  expect(digestOf(8453, WALLET, steps)).toBe(hashOf(8453n, WALLET, calls))
  expect(digestOf(8453, WALLET, steps.toReversed())).toBe(hashOf(8453n, WALLET, calls.toReversed()))
  const paying = steps.map((step) => ({ ...step, transaction: { ...step.transaction, value: '3' } }))
  expect(digestOf(8453, WALLET, paying)).toBe(
    hashOf(
      8453n,
      WALLET,
      calls.map((call) => ({ ...call, value: 3n })),
    ),
  )
})
