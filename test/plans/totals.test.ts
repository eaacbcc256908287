import { type Address, decodeFunctionData, type Hex, parseAbi, size } from 'viem'
import { expect, test } from 'vitest'
import { MAX_UINT256 } from '../../src/lib/fixed.ts'
import type { Plan } from '../../src/plans/answer/schema.ts'
import { planner } from '../support/plan-actions.ts'
import {
  core,
  DAI_AT,
  deploymentOf,
  feeConfig,
  range,
  stats,
  TIME,
  USDC_AT,
  type World,
} from '../support/plan-chain.ts'

/* What a plan costs in all: the gas, the network's fees, and each token. */

const oracleAbi = parseAbi(['function getL1FeeUpperBound(uint256) view returns (uint256)'])

/** Wei that the network takes for each byte of an unsigned transaction. */
const WEI_PER_BYTE = 1_000n

/** A network that takes a fee for the data. */
const withDataFee = (to: Address, data: Hex): Hex | undefined => {
  if (to !== '0x420000000000000000000000000000000000000F') return undefined
  try {
    const { args } = decodeFunctionData({ abi: oracleAbi, data })
    return `0x${(args[0] * WEI_PER_BYTE).toString(16).padStart(64, '0')}`
  } catch {
    return undefined
  }
}

const COST = 204n

/** Event 5 in USDC, in which 10,000 units cost 200 and a fee of 4. */
const world = (chosen: Partial<World> = {}): Partial<World> => ({
  balances: { [USDC_AT]: 1_000n },
  views: {
    getHedgeEventCore: () => core,
    getHedgeEventRange: () => range,
    getHedgeEventStats: () => stats,
    getEventPaymentToken: () => USDC_AT,
    getHedgeFeeConfig: () => feeConfig,
  },
  calls: { buyProtection: () => ({ takes: { [USDC_AT]: COST }, returns: 12n }) },
  gasUsed: { approve: 40_000n, buyProtection: 160_000n },
  ...chosen,
})

const buy = (chosen: Partial<World>, more: object = {}): Promise<Plan> =>
  planner(world(chosen))('buy-protection', { eventId: 5n, notional: 10_000n, ...more })

/** Gas limits: 40,000 and 160,000 gas, before refunds of a fifth, with the margin of 30 %. */
const LIMITS = [65_000n, 260_000n]
/** Twice the base fee of 100, and the tip of 3. */
const WEI_PER_GAS = 203n
const EXECUTION = 325_000n * WEI_PER_GAS

/** The fee of each step, for its calldata and 120 bytes around it. */
const dataFeeOf = ({ steps }: Plan): bigint =>
  steps.reduce((sum, { transaction }) => sum + WEI_PER_BYTE * BigInt(size(transaction.data as Hex) + 120), 0n)

test.each([
  ['a network with a fee for data', 8453, withDataFee, true],
  ['a network without one', 56, () => undefined, false],
] as const)('the total of the gas on %s is the sum of its parts', async (_, chainId, others, hasDataFee) => {
  const plan = await buy({ deployment: deploymentOf(chainId), others })
  expect(plan.steps.map(({ id }) => id)).toEqual(['approve', 'buy-protection'])
  expect(plan.steps.map(({ request }) => request?.gas)).toEqual(LIMITS.map((gas) => `0x${gas.toString(16)}`))
  const dataFee = hasDataFee ? dataFeeOf(plan) : 0n
  // An approval has 68 bytes of calldata and a purchase 132.
  expect(dataFee).toBe(hasDataFee ? 440_000n : 0n)
  expect(plan.gasCost).toEqual({
    ...{ execution: String(EXECUTION), dataFee: String(dataFee), operatorFee: '0' },
    ...{ total: String(EXECUTION + dataFee), symbol: hasDataFee ? 'ETH' : 'BNB' },
  })
})

test.each([
  ['exactly cover', 0n, []],
  ['lack one wei of', 1n, ['insufficient_gas_funds']],
] as const)('coins that %s the gas and the fee for data', async (_, missing, codes) => {
  const need = EXECUTION + 440_000n
  const account = { nonce: 7n, coins: need - missing, code: '0x', baseFee: 100n, tip: 3n } as const
  const { issues, executable } = await buy({ others: withDataFee, account, allowances: {} })
  const others = issues.filter(({ code }) => code !== 'insufficient_allowance')
  expect([others.map(({ code }) => code), executable]).toEqual([codes, true])
  for (const issue of others)
    expect(issue).toMatchObject({ have: String(need - 1n), need: String(need), blocking: false })
})

test('the cost in tokens, the approval and the limit of a purchase are exact', async () => {
  const plan = await buy({}, { maxCostBps: 250 })
  // 2.5 % of 204 is 5.1.
  expect(plan.cost).toEqual({
    ...{ premium: '200', platformFee: '4', total: '204', maxCost: '209', exact: true },
    ...{ token: USDC_AT, symbol: 'USDC', decimals: 6 },
  })
  expect(plan.steps.map(({ transaction: { args } }) => args)).toEqual([
    { spender: expect.any(String), amount: '209' },
    { eventId: '5', notional: '10000', maxCost: '209', deadline: String(TIME + 600n) },
  ])
  expect(plan.steps.map(({ transaction, request }) => [transaction.value, request?.value])).toEqual([
    ['0', '0x0'],
    ['0', '0x0'],
  ])
  expect(plan.effects.created).toEqual({ positionId: 12, predicted: true })
  expect(plan.effects.balanceChanges.map(({ account, amount }) => [account === plan.from, amount])).toEqual([
    [true, '-204'],
    [false, '204'],
  ])
  expect(plan.issues).toEqual([
    expect.objectContaining({ code: 'insufficient_allowance', have: '0', need: '209', blocking: false }),
  ])
})

test.each([
  ['exact', '209'],
  ['unlimited', String(MAX_UINT256)],
])('an approval that is %s', async (approval, amount) => {
  const { steps } = await buy({}, { maxCostBps: 250, approval })
  expect(steps[0]?.transaction.args.amount).toBe(amount)
})

test.each([
  [204n, ['buy-protection']],
  [203n, ['approve', 'buy-protection']],
])('an allowance of %d for a cost of 204', async (allowance, ids) => {
  const { steps, issues } = await buy({ allowances: { [USDC_AT]: allowance } })
  expect(steps.map(({ id }) => id)).toEqual(ids)
  expect(issues.map(({ have, need }) => [have, need])).toEqual(ids.length === 1 ? [] : [['203', '204']])
})

test.each([
  [204n, []],
  [203n, ['insufficient_balance']],
])('a balance of %d for a cost of 204', async (balance, codes) => {
  const { issues, executable, cost } = await buy({
    balances: { [USDC_AT]: balance },
    allowances: { [USDC_AT]: 1_000n },
  })
  expect([issues.map(({ code }) => code), executable, cost?.total]).toEqual([codes, codes.length === 0, '204'])
})

test('claims in several tokens have the total of each token, and no sum', async () => {
  const plan = await planner({
    ...world({ balances: { [USDC_AT]: 5n, [DAI_AT]: 7n } }),
    calls: { withdrawCreatorEarnings: () => ({ takes: { [USDC_AT]: -30n, [DAI_AT]: -40n } }) },
    views: { ...world().views, getHedgeEventCore: () => ({ ...core, creator: core.creator }) },
    deployment: deploymentOf(8453, { usdt: DAI_AT, paymentDecimals: { USDC: 6, USDT: 18 } }),
  })('withdraw-creator-earnings', { eventId: 5n })
  const changes = plan.effects.balanceChanges.map(({ account, token, amount }) => [
    account === plan.from,
    token,
    amount,
  ])
  expect(changes).toEqual([
    [true, USDC_AT, '30'],
    [true, DAI_AT, '40'],
    [false, USDC_AT, '-30'],
    [false, DAI_AT, '-40'],
  ])
  expect(plan.payout).toMatchObject({ gross: '30', fee: '0', net: '30', token: USDC_AT })
})
