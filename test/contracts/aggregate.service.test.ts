import { decodeFunctionResult, encodeFunctionData, type Hex, multicall3Abi, numberToHex } from 'viem'
import { expect, test } from 'vitest'
import { aggregateBytecode } from '../../src/abi/aggregate.generated.ts'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import { useProtocol } from '../support/use-protocol.ts'

const { client, create, diamond } = await useProtocol()

const total = encodeFunctionData({ abi: protocolAbi, functionName: 'getTotalHedgeEvents' })
/** A selector without a function. */
const nothing = '0xdeadbeef'

const call = (callData: Hex, allowFailure: boolean) => ({ target: diamond, allowFailure, callData })

/** The call contains the code: nothing is deployed. */
const aggregate = async (calls: readonly ReturnType<typeof call>[]) => {
  const data = encodeFunctionData({ abi: multicall3Abi, functionName: 'aggregate3', args: [calls] })
  const answer = await client.call({ code: aggregateBytecode, data })
  return decodeFunctionResult({ abi: multicall3Abi, functionName: 'aggregate3', data: answer.data ?? '0x' })
}

test('each view of an aggregate call returns its own result, even one that reverts', async () => {
  await create()
  const [one, reverted] = await aggregate([call(total, true), call(nothing, true)])
  expect(one).toEqual({ success: true, returnData: numberToHex(1, { size: 32 }) })
  expect(reverted?.success).toBe(false)
})

test('a view that must not fail makes the aggregate call fail', async () => {
  await expect(aggregate([call(total, false), call(nothing, false)])).rejects.toThrow('Call failed')
})
