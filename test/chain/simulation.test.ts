import { encodeFunctionResult, type Hex, zeroAddress, zeroHash } from 'viem'
import { describe, expect, test } from 'vitest'
import { callSequenceAbi } from '../../src/abi/call-sequence.generated.ts'
import { NodeError } from '../../src/chain/rpc/errors.ts'
import { baseFeeOf, callSequence, type Sequence, simulateBlock } from '../../src/chain/rpc/simulation.ts'

const sequence: Sequence = {
  from: zeroAddress,
  calls: [{ to: zeroAddress, data: '0x' }],
  blockHash: zeroHash,
  time: 1n,
  overrides: {},
}

const gasOf = () => 10_000_000n

const DATA: Hex = '0x08c379a0'

const parsed = (call: object) => simulateBlock(sequence, gasOf).parse([{ calls: [{ gasUsed: '0x5208', ...call }] }])

describe('the results of eth_simulateV1', () => {
  test('anvil returns the data of a revert in returnData', () => {
    const error = { code: -3_200, message: 'execution failed' }
    expect(parsed({ status: '0x0', returnData: DATA, error })).toMatchObject([{ ok: false, data: DATA }])
  })
  test('geth returns the data of a revert in the error', () => {
    const error = { code: 3, message: 'execution reverted', data: DATA }
    expect(parsed({ status: '0x0', returnData: '0x', error })).toMatchObject([{ ok: false, data: DATA }])
  })
  test.each([undefined, null, {}, { code: -32_015, message: 'out of gas' }, { data: '' }, { data: 'Reverted' }])(
    'a failure without data has none: %o',
    (error) => {
      expect(parsed({ status: '0x0', returnData: '0x', error })).toMatchObject([{ ok: false, data: '0x' }])
    },
  )
  test('the data of a call that succeeds is what it returned', () => {
    expect(parsed({ status: '0x1', returnData: DATA })).toEqual([{ ok: true, data: DATA, gas: 26_250n }])
  })
  test('an answer without a result of each call is rejected', () => {
    expect(() => simulateBlock(sequence, gasOf).parse([{ calls: [] }])).toThrow(RangeError)
    expect(() => simulateBlock(sequence, gasOf).parse([])).toThrow()
  })
})

test('a node that ignores the overrides of an eth_call lacks them', () => {
  expect(() => callSequence(sequence, gasOf).parse('0x')).toThrow(NodeError)
})

test('a call counts its calldata, 4 for a zero and 16 for another byte, and what an earlier call of the contract paid', () => {
  const [one, two] = [`0x${'01'.repeat(20)}`, `0x${'02'.repeat(20)}`] as const
  const calls = [
    { to: one, data: '0x000001' as const },
    { to: two, data: '0x' as const },
    { to: one, data: '0x0102' as const },
  ]
  const results = calls.map(() => ({ ok: true, gasUsed: 1_000n, data: '0x' as const }))
  const raw = encodeFunctionResult({ abi: callSequenceAbi, functionName: 'run', result: results })
  const gas = callSequence({ ...sequence, calls }, gasOf)
    .parse(raw)
    .map((result) => result.gas)
  const base = 1_000n + 21_000n
  expect(gas).toEqual([base + 24n + 20_000n, base + 20_000n, base + 32n + 70_000n])
})

test('a block without a base fee has the fee 0', () => {
  const { parse } = baseFeeOf(zeroHash)
  expect([parse({}), parse({ baseFeePerGas: '0x7' })]).toEqual([0n, 7n])
})
