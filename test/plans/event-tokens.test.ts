import type { Address } from 'viem'
import { expect, test } from 'vitest'
import { createEventTokens } from '../../src/plans/steps/event-tokens.ts'
import { DAI_AT, USDC_AT } from '../support/plan-chain.ts'

test('the token of an event is kept for its chain, and becomes known to that chain alone', () => {
  const learnt: [number, Address][] = []
  const chain = (chainId: number) =>
    [chainId, { learnToken: (token: Address) => void learnt.push([chainId, token]) }] as const
  const tokens = createEventTokens(new Map([chain(8453), chain(56)]))
  expect(tokens.known(56, 5n)).toBeUndefined()
  tokens.learn(56, 5n, DAI_AT)
  tokens.learn(8453, 6n, USDC_AT)
  tokens.learn(1, 7n, USDC_AT)
  expect([tokens.known(56, 5n), tokens.known(8453, 5n), tokens.known(56, 6n), tokens.known(8453, 6n)]).toEqual([
    ...[DAI_AT, undefined, undefined, USDC_AT],
  ])
  expect(learnt).toEqual([
    [56, DAI_AT],
    [8453, USDC_AT],
  ])
})
