import { type Address, encodeFunctionData, encodeFunctionResult, type Hex } from 'viem'
import { describe, expect, test } from 'vitest'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import { balanceChanges, costOf, payoutOf, sumOf } from '../../src/plans/answer/amounts.ts'
import type { Payout } from '../../src/plans/answer/schema.ts'
import type { Price } from '../../src/plans/draft/price.ts'
import { createdBy, createdReads } from '../../src/plans/rehearsal/created.ts'
import type { Rehearsal, StepResult } from '../../src/plans/steps/rehearse.ts'
import { actionStep, approval } from '../../src/plans/steps/step.ts'
import { type ActionName, actions } from '../support/call-actions.ts'
import { DAI_AT, DIAMOND, deploymentOf, position, stats, USDC_AT, WALLET } from '../support/plan-chain.ts'

const usdc = { token: USDC_AT, symbol: 'USDC', decimals: 6 }
const dai = { token: DAI_AT, symbol: 'DAI', decimals: 18 }
const deployment = deploymentOf(8453)
const terms = {
  ...{ name: 'Cedi', underlying: 'USD/GHS', strike: 1n, payoutCap: 2n, premiumRate: 3n, expiry: 4n },
  ...{ allowExternalLp: true, initialLiquidity: 70n, initialRate: 1n, strikeAbove: true, paymentToken: USDC_AT },
  ...{ signature: '0x', quoteTimestamp: 0n, quoteNonce: `0x${'0'.repeat(64)}` },
}
const body = { chainId: 8453, eventId: 5n, depositId: 3n, positionId: 9n, amount: 1n, notional: 1n, maxCost: 1n }
const step = (name: ActionName) => actionStep(name, actions[name], { ...body, ...terms, deadline: 1n }, deployment)

const word = (value: bigint): Hex => `0x${value.toString(16).padStart(64, '0')}`
const result = (more: Partial<StepResult> = {}): StepResult => ({
  ...{ ok: true, data: word(12n), gas: 1n, changes: new Map() },
  ...more,
})
const rehearsed = (more: Partial<NonNullable<Rehearsal>> = {}): NonNullable<Rehearsal> => ({
  ...{ method: 'eth_simulateV1', steps: [result()], answering: new Set(), ofProtocol: new Map(), after: [] },
  ...more,
})
const answered = (functionName: 'getHedgePosition' | 'getEventDepositIds', value: unknown) => [
  { ok: true, gas: 1n, data: encodeFunctionResult({ abi: protocolAbi, functionName, result: value as never }) },
]

describe('what a step creates', () => {
  const calldata = (functionName: 'getHedgePosition' | 'getEventDepositIds', id: bigint) => [
    { to: DIAMOND, data: encodeFunctionData({ abi: protocolAbi, functionName, args: [id] }) },
  ]
  test.each([
    ['buy-protection', 12n, calldata('getHedgePosition', 12n)],
    ['create-event', 12n, calldata('getEventDepositIds', 12n)],
    ['deposit', 12n, []],
    ['claim-payout', 12n, []],
    ['buy-protection', null, []],
  ] as const)('%s of the id %s is read with the right view', (name, id, calls) => {
    expect(createdReads(step(name), id, DIAMOND)).toEqual(calls)
  })

  test('no step reads nothing', () => {
    expect(createdReads(undefined, 12n, DIAMOND)).toEqual([])
  })

  test.each([
    ['buy-protection', { positionId: 12 }],
    ['deposit', { depositId: 12 }],
    ['create-event', { eventId: 12 }],
    ['set-pool-settings', {}],
  ] as const)('%s has its id', (name, created) => {
    expect(createdBy(step(name), rehearsed())).toEqual(created)
  })

  test('an event with a seed also has its first deposit, one without a seed has none', () => {
    const seeded = rehearsed({ after: answered('getEventDepositIds', [44n, 45n]) })
    expect(createdBy(step('create-event'), seeded)).toEqual({ eventId: 12, depositId: 44 })
    for (const none of [
      answered('getEventDepositIds', []),
      [{ ok: true, data: '0x', gas: 1n } as const],
      [{ ok: false, data: '0x', gas: 1n } as const],
    ])
      expect(createdBy(step('create-event'), rehearsed({ after: none }))).toEqual({ eventId: 12 })
    expect(createdBy(step('deposit'), seeded)).toEqual({ depositId: 12 })
  })

  test('nothing is created by a step that reverts, by the last step only, and without a simulation', () => {
    const reverted = result({ ok: false })
    expect(createdBy(step('deposit'), rehearsed({ steps: [result(), reverted] }))).toEqual({})
    expect(createdBy(step('deposit'), rehearsed({ steps: [reverted, result({ data: word(13n) })] }))).toEqual({
      depositId: 13,
    })
    expect(createdBy(step('deposit'), null)).toEqual({})
  })
})

describe('a cost', () => {
  const price: Price = {
    ...{ token: USDC_AT, total: 204n, premium: 200n, exact: true, gas: 1n, balance: 1n, allowance: 1n },
    needsReset: false,
  }
  const recorded = [9n, 5n, WALLET, 10_000n, 199n, 2n, 0n, 0, false]
  const bought = rehearsed({ after: answered('getHedgePosition', recorded) })

  test('has the premium that the chain records for a purchase', () => {
    expect(costOf(price, 209n, usdc, step('buy-protection'), bought)).toEqual({
      ...{ premium: '199', platformFee: '5', total: '204', maxCost: '209', exact: true, ...usdc },
    })
  })

  test.each([
    ['without a simulation', null],
    ['that reverts', { ...bought, steps: [result(), result({ ok: false })] }],
    ['whose position was not read', rehearsed()],
    ['whose view returned no bytes', rehearsed({ after: [{ ok: true, data: '0x', gas: 1n }] })],
  ])('of a purchase %s has the premium by the formula', (_, rehearsal) => {
    expect(costOf(price, 204n, usdc, step('buy-protection'), rehearsal)).toMatchObject({
      premium: '200',
      platformFee: '4',
    })
  })

  test('of a new event has what is no seed as its fee', () => {
    const created = { ...price, total: 75n, premium: null, exact: false }
    expect(costOf(created, 75n, usdc, step('create-event'), bought)).toMatchObject({
      ...{ premium: null, platformFee: '5', total: '75', exact: false },
    })
  })

  test('of a deposit has no fee', () => {
    const deposited = { ...price, total: 75n, premium: null }
    expect(costOf(deposited, 75n, usdc, step('deposit'), rehearsed())).toMatchObject({
      premium: null,
      platformFee: null,
    })
  })

  test('has no negative part when a token moves less than it was asked to', () => {
    expect(costOf({ ...price, total: 150n }, 150n, usdc, step('buy-protection'), null).platformFee).toBe('0')
    expect(costOf({ ...price, total: 60n, premium: null }, 60n, usdc, step('create-event'), null).platformFee).toBe('0')
  })
})

describe('a payout', () => {
  const gained = (amount: bigint) =>
    result({
      changes: new Map<Address, bigint>([
        [USDC_AT, amount],
        [DAI_AT, 5n],
      ]),
    })
  const facts = { position, pending: 40n, stats: { ...stats, creatorEarnings: 30n } }

  test.each([
    ['claim-payout', 980n, { gross: '1000', fee: '20', net: '980' }],
    ['claim-payout', 1_000n, { gross: '1000', fee: '0', net: '1000' }],
    ['claim-payout', 1_001n, { gross: '1000', fee: '0', net: '1001' }],
    ['claim-payout', -1n, { gross: '1000', fee: '1000', net: '0' }],
    ['claim-premiums', 39n, { gross: '40', fee: '1', net: '39' }],
    ['withdraw-capital', 77n, { gross: '77', fee: '0', net: '77' }],
    // Earlier steps have added to the earnings.
    ['withdraw-creator-earnings', 35n, { gross: '35', fee: '0', net: '35' }],
  ] as const)('of %s with a gain of %d', (name, gain, parts) => {
    expect(payoutOf(step(name), facts, gained(gain), usdc)).toEqual({ ...parts, ...usdc })
  })

  test('without a gain has nothing', () => {
    expect(payoutOf(step('withdraw-capital'), facts, result(), usdc)).toMatchObject({ gross: '0', fee: '0', net: '0' })
  })

  test('is null for a step that pays nothing, reverts, was not simulated or has no known token', () => {
    expect(payoutOf(step('deposit'), facts, gained(1n), usdc)).toBeNull()
    expect(payoutOf(approval('approve', USDC_AT, 1n, deployment), facts, gained(1n), usdc)).toBeNull()
    expect(payoutOf(step('claim-payout'), facts, { ...gained(1n), ok: false }, usdc)).toBeNull()
    expect(payoutOf(step('claim-payout'), facts, undefined, usdc)).toBeNull()
    expect(payoutOf(step('claim-payout'), facts, gained(1n), undefined)).toBeNull()
  })

  const of = (token: typeof usdc, gross: string, fee: string, net: string): Payout => ({ gross, fee, net, ...token })
  test('is the sum of its parts within one token', () => {
    expect(sumOf([of(usdc, '10', '3', '7'), null, of(usdc, '100', '20', '80')])).toEqual(of(usdc, '110', '23', '87'))
    expect(sumOf([null, of(dai, '10', '3', '7')])).toEqual(of(dai, '10', '3', '7'))
    expect([sumOf([]), sumOf([null]), sumOf([of(usdc, '1', '0', '1'), of(dai, '1', '0', '1')])]).toEqual([
      null,
      null,
      null,
    ])
  })
})

describe('the changes of balances', () => {
  const known = new Map([usdc, dai].map((token) => [token.token, token]))
  const steps = [
    new Map<Address, bigint>([
      [USDC_AT, -10n],
      [DAI_AT, 4n],
    ]),
    new Map<Address, bigint>([
      [USDC_AT, -5n],
      [DAI_AT, -4n],
      [DIAMOND, 1n],
    ]),
  ].map((changes) => result({ changes }))

  test('are the sums over all steps, of known tokens, without those that come to nothing', () => {
    const rehearsal = rehearsed({
      steps,
      ofProtocol: new Map<Address, bigint>([
        [USDC_AT, 15n],
        [DAI_AT, 0n],
      ]),
    })
    expect(balanceChanges(rehearsal, [WALLET, DIAMOND], known)).toEqual([
      { account: WALLET, ...usdc, amount: '-15' },
      { account: DIAMOND, ...usdc, amount: '15' },
    ])
  })

  test('are unknown without a simulation', () => {
    expect(balanceChanges(null, [WALLET, DIAMOND], known)).toEqual([])
  })
})
