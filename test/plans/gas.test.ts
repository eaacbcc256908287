import { type Address, decodeFunctionData, type Hex, parseAbi, size } from 'viem'
import { expect, test } from 'vitest'
import { NodeError } from '../../src/chain/rpc/errors.ts'
import { accountOf, accountRequests, gasCostOf, limitOf } from '../../src/plans/rehearsal/gas.ts'
import { approval } from '../../src/plans/steps/step.ts'
import { BLOCK, deploymentOf, planChain, USDC_AT, WALLET, type World } from '../support/plan-chain.ts'

const ORACLE = '0x420000000000000000000000000000000000000F'
const L1_BLOCK = '0x4200000000000000000000000000000000000015'
const abi = parseAbi([
  'function getL1FeeUpperBound(uint256) view returns (uint256)',
  'function getOperatorFee(uint256) view returns (uint256)',
  'function operatorFeeScalar() view returns (uint32)',
  'function operatorFeeConstant() view returns (uint64)',
])

type Fees = Readonly<Record<string, (argument: bigint) => bigint>>

/** Contracts of a network with these functions. */
const network =
  (fees: Fees): World['others'] =>
  (to: Address, data: Hex) => {
    const { functionName, args } = decodeFunctionData({ abi, data })
    const at = functionName.startsWith('operator') ? L1_BLOCK : ORACLE
    const answer = to === at ? fees[functionName]?.(args?.[0] ?? 0n) : undefined
    return answer === undefined ? undefined : `0x${answer.toString(16).padStart(64, '0')}`
  }

const steps = [1n, 2n ** 255n].map((amount) => approval('approve', USDC_AT, amount, deploymentOf(8453)))

const accountIn = async (world: Partial<World>) => {
  const { chain } = planChain(world)
  return accountOf(await chain.send(accountRequests(WALLET, steps, BLOCK.hash)))
}

const state = { nonce: 7n, coins: 500n, code: '0x', baseFee: 100n, tip: 3n } as const

test('the account has its nonce, coins and prices: twice the base fee and the tip', async () => {
  expect(await accountIn({ account: state })).toEqual({
    ...{ nonce: 7n, coins: 500n, isContract: false, maxFeePerGas: 203n, tip: 3n },
    ...{ dataFee: 0n, operatorFee: { base: 0n, rate: 0n } },
  })
})

test.each([
  ['0x', false],
  ['0x60', true],
  [`0xef0100${'11'.repeat(20)}`, false],
  ['0xef0101', true],
] as const)('an account with the code %s is a contract: %s', async (code, isContract) => {
  expect((await accountIn({ account: { ...state, code } })).isContract).toBe(isContract)
})

test.each([
  ['eth_getTransactionCount', { nonce: null }],
  ['eth_getBalance', { coins: null }],
  ['eth_getCode', { isContract: false }],
  ['eth_getBlockByHash', { maxFeePerGas: null, tip: 3n }],
  ['eth_maxPriorityFeePerGas', { maxFeePerGas: null, tip: null }],
])('what a node does not answer is unknown: %s', async (method, unknown) => {
  const failure = new NodeError({ code: -32_000, message: 'no answer' })
  const account = { ...state, code: '0x60' } as const
  const fails: World['fails'] = (request) => (request.method === method ? failure : undefined)
  expect(await accountIn({ account, fails })).toMatchObject(unknown)
})

test('the nonce counts transactions that are not mined yet, the rest is of the block', () => {
  const { nonce, coins, code } = accountRequests(WALLET, steps, BLOCK.hash)
  expect(nonce.params).toEqual([WALLET, 'pending'])
  expect([coins, code].map(({ params }) => params[1])).toEqual(
    Array(2).fill(expect.objectContaining({ blockHash: BLOCK.hash })),
  )
})

test('the fee for data is the sum over the steps, each of its calldata and 120 bytes', async () => {
  const asked: bigint[] = []
  const getL1FeeUpperBound = (bytes: bigint): bigint => {
    asked.push(bytes)
    return bytes * 10n
  }
  const { dataFee } = await accountIn({ others: network({ getL1FeeUpperBound }) })
  expect(steps.map(({ transaction }) => size(transaction.data))).toEqual([68, 68])
  expect([asked, dataFee]).toEqual([[188n, 188n], 3_760n])
})

test('a step whose fee for data is not answered adds nothing to those of the others', async () => {
  let asked = 0
  const others = network({ getL1FeeUpperBound: () => 50n })
  const second = (_: Address, data: Hex) => others(_, data)
  const fails: World['fails'] = ({ params }) => {
    const { to, data = '0x' } = (params[0] ?? {}) as { to?: string; data?: Hex }
    if (to !== ORACLE || decodeFunctionData({ abi, data }).functionName !== 'getL1FeeUpperBound') return undefined
    asked += 1
    return asked === 2 ? new NodeError({ code: -32_000, message: 'no answer' }) : undefined
  }
  expect((await accountIn({ others: second, fails })).dataFee).toBe(50n)
})

const perGas = (rate: bigint, base: bigint): Fees => ({ getOperatorFee: (gas) => (gas * rate) / 1_000_000n + base })
const parameters: Fees = { operatorFeeScalar: () => 2_500_000n, operatorFeeConstant: () => 900n }

test.each<[string, Fees, { base: bigint; rate: bigint }]>([
  ['of the oracle', perGas(1_000_003n, 70n), { base: 70n, rate: 1_000_003n }],
  ['of the oracle, whatever the parameters are', { ...perGas(4n, 5n), ...parameters }, { base: 5n, rate: 4n }],
  ['of the parameters, without a function of the oracle', parameters, { base: 900n, rate: 2_500_000n }],
  [
    'that falls with the gas is not negative',
    { getOperatorFee: (gas) => (gas === 0n ? 9n : 1n) },
    { base: 9n, rate: 0n },
  ],
  ['with one parameter only is none', { operatorFeeConstant: () => 900n }, { base: 0n, rate: 0n }],
  ['with the other parameter only is none', { operatorFeeScalar: () => 900n }, { base: 0n, rate: 0n }],
])('the fee for the operator %s', async (_, fees, expected) => {
  expect((await accountIn({ others: network(fees) })).operatorFee).toEqual(expected)
})

test('one point of the fee for the operator alone is no fee', async () => {
  const others = network(perGas(4n, 5n))
  for (const point of [0n, 1_000_000n]) {
    const fails: World['fails'] = ({ params }) => {
      const { to, data = '0x' } = (params[0] ?? {}) as { to?: string; data?: Hex }
      const isPoint = to === ORACLE && decodeFunctionData({ abi, data }).args?.[0] === point
      return isPoint ? new NodeError({ code: -32_000, message: 'no answer' }) : undefined
    }
    expect((await accountIn({ others, fails })).operatorFee).toEqual({ base: 0n, rate: 0n })
  }
})

test.each([
  [0n, 0n],
  [10n, 13n],
  [11n, 14n],
  [100_000n, 130_000n],
])('the limit for %d gas is %d', (gas, limit) => {
  expect(limitOf(gas)).toBe(limit)
})

const account = {
  ...{ nonce: 7n, coins: 500n, isContract: false, maxFeePerGas: 203n, tip: 3n, dataFee: 11n },
  operatorFee: { base: 70n, rate: 1_500_000n },
}

test('the cost of the gas is the sum of execution, data and operator, each step on its own', () => {
  // 1.5 wei per gas: 1 and 4, rounded down for each step.
  expect(gasCostOf(account, [1n, 3n])).toEqual({
    ...{ execution: 812n, dataFee: 11n, operatorFee: 145n, total: 968n },
  })
  expect(gasCostOf({ ...account, dataFee: 0n, operatorFee: { base: 0n, rate: 0n } }, [1n, 3n])).toEqual({
    ...{ execution: 812n, dataFee: 0n, operatorFee: 0n, total: 812n },
  })
})

test('the cost of the gas is unknown when the price or one limit is', () => {
  expect(gasCostOf({ ...account, maxFeePerGas: null }, [1n])).toBeNull()
  expect(gasCostOf(account, [1n, null])).toBeNull()
  expect(gasCostOf(account, [null])).toBeNull()
})
