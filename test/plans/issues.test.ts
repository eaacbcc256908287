import { describe, expect, test } from 'vitest'
import {
  accountIssues,
  changedTokenIssues,
  claimIssues,
  moneyIssues,
  revertIssue,
  simulationOf,
  tokenIssues,
} from '../../src/plans/answer/issues.ts'
import type { Price } from '../../src/plans/draft/price.ts'
import { actionStep, approval } from '../../src/plans/steps/step.ts'
import { actions } from '../support/call-actions.ts'
import { BLOCK, DAI_AT, deploymentOf, USDC_AT } from '../support/plan-chain.ts'

const deployment = deploymentOf(8453)
const usdc = { token: USDC_AT, symbol: 'USDC', decimals: 6 }
const approve = approval('approve', USDC_AT, 9n, deployment)
const deposit = actionStep('deposit', actions.deposit, { chainId: 8453, eventId: 5n, amount: 1n }, deployment)
const price: Price = {
  ...{ token: USDC_AT, total: 204n, premium: null, exact: true, gas: 1n, balance: 204n, allowance: 3n },
  needsReset: false,
}

describe('the issues of money', () => {
  test.each([
    [204n, []],
    [203n, ['insufficient_balance']],
    [null, []],
  ])('a balance of %s for 204', (balance, codes) => {
    expect(moneyIssues({ ...price, balance }, 209n, usdc, [deposit]).map(({ code }) => code)).toEqual(codes)
  })

  test('a balance that is too small has what there is and what is needed', () => {
    expect(moneyIssues({ ...price, balance: 203n }, 209n, usdc, [deposit])).toEqual([
      {
        ...{ code: 'insufficient_balance', blocking: true, have: '203', need: '204' },
        message: 'the wallet has a balance of 203 and needs 204 units of USDC',
        hint: 'Get more of the payment token, or send a smaller amount.',
      },
    ])
  })

  test('an approval of the plan is an issue that does not block, up to the maximum cost', () => {
    expect(moneyIssues(price, 209n, null, [approve, deposit])).toEqual([
      {
        ...{ code: 'insufficient_allowance', blocking: false, step: 'approve', have: '3', need: '209' },
        message: 'the wallet has an allowance of 3 and needs 209 units of the token',
        hint: 'The plan has the approval as a step.',
      },
    ])
    expect(moneyIssues({ ...price, allowance: null }, 209n, usdc, [approve, deposit])).toEqual([])
    expect(moneyIssues(price, 209n, usdc, [deposit])).toEqual([])
    const reset = approval('reset-approval', USDC_AT, 0n, deployment)
    expect(moneyIssues(price, 209n, usdc, [reset, deposit])).toEqual([])
  })

  test('without a price there is none', () => {
    expect([moneyIssues(null, 209n, usdc, [approve]), moneyIssues(price, null, usdc, [approve])]).toEqual([[], []])
  })
})

describe('the issues of the account', () => {
  const account = {
    ...{ nonce: 1n, coins: 500n, isContract: false, maxFeePerGas: 1n, tip: 1n, dataFee: 0n },
    operatorFee: { base: 0n, rate: 0n },
  }
  test.each([
    [500n, []],
    [501n, ['insufficient_gas_funds']],
    [null, []],
  ])('500 wei for a cost of %s', (cost, codes) => {
    expect(accountIssues(account, cost, 'ETH').map(({ code }) => code)).toEqual(codes)
  })

  test('are not about coins that are unknown', () => {
    expect(accountIssues({ ...account, coins: null }, 1n, 'ETH')).toEqual([])
  })

  test('name the coin, the cost and what there is', () => {
    expect(accountIssues(account, 501n, 'BNB')).toEqual([
      {
        ...{ code: 'insufficient_gas_funds', blocking: false, have: '500', need: '501' },
        message: 'the wallet has 500 wei and the steps may cost 501 wei',
        hint: 'Send BNB to the wallet, or let someone else pay for the gas.',
      },
    ])
  })

  test('name a contract', () => {
    expect(accountIssues({ ...account, isContract: true }, 500n, 'ETH')).toEqual([
      expect.objectContaining({ code: 'contract_account', blocking: false }),
    ])
  })
})

describe('what a step did', () => {
  const result = { gas: 1n, data: '0x', changes: new Map() } as const
  test('is a success, a revert with its reason, or unknown', () => {
    expect(simulationOf(deposit, { ...result, ok: true }, BLOCK)).toMatchObject({
      status: 'success',
      blockNumber: 1_000,
    })
    expect(simulationOf(deposit, { ...result, ok: false }, BLOCK)).toMatchObject({
      ...{ status: 'reverted', code: 'reverted_without_reason', blockNumber: 1_000 },
    })
    expect(simulationOf(deposit, undefined, BLOCK)).toMatchObject({
      status: 'unavailable',
      code: null,
      blockNumber: null,
    })
  })

  test('is an issue that blocks for a revert alone', () => {
    const none = { code: null, reason: null, hint: null, blockNumber: 1 }
    expect(revertIssue('s', { ...none, status: 'success' })).toEqual([])
    expect(revertIssue('s', { ...none, status: 'reverted', code: 'paused', reason: 'it is', hint: 'wait' })).toEqual([
      { code: 'paused', message: 'it is', hint: 'wait', blocking: true, step: 's' },
    ])
    expect(revertIssue('s', { ...none, status: 'reverted', code: 'paused' })).toMatchObject([
      { message: 'paused', hint: '' },
    ])
  })
})

describe('the issues of tokens', () => {
  const rehearsal = (answering: Parameters<Set<string>['add']>[0][]) =>
    ({ method: 'eth_simulateV1', steps: [], answering: new Set(answering), ofProtocol: new Map(), after: [] }) as never

  test('an approved address that did not answer is no token', () => {
    const other = approval('approve-dai', DAI_AT, 1n, deployment)
    expect(tokenIssues([approve, other, deposit], rehearsal([USDC_AT]))).toEqual([
      {
        ...{ code: 'not_a_token', blocking: true, step: 'approve-dai' },
        message: `no token answers at ${DAI_AT}`,
        hint: 'Check the address of the token and `chainId`.',
      },
    ])
    expect(tokenIssues([approve, other, deposit], rehearsal([USDC_AT, DAI_AT]))).toEqual([])
    expect(tokenIssues([approve, other], null)).toEqual([])
  })

  test.each([
    ['configuration', 'in the configuration of the service'],
    ['reading', 'before'],
  ] as const)('a token that the %s contradicts has both values', (by, text) => {
    const contradicts = { by, token: { ...usdc, symbol: null, decimals: null } }
    const issues = changedTokenIssues([
      { token: usdc, reading: { readAt: 1, contradicts } },
      { token: usdc, reading: { readAt: 1, contradicts: null } },
      { token: usdc, reading: undefined },
    ])
    expect(issues).toEqual([expect.objectContaining({ code: 'token_changed', blocking: false })])
    expect(issues[0]?.message).toBe(
      `the token ${USDC_AT} has 6 decimals and the symbol "USDC", and had no decimals and no symbol ${text}`,
    )
  })
})

test('a wallet that has nothing to claim has an issue that blocks', () => {
  expect(claimIssues([])).toEqual([expect.objectContaining({ code: 'nothing_to_claim', blocking: true })])
  expect(claimIssues([deposit])).toEqual([])
})
