import { decodeErrorResult, type Hex, isHex, multicall3Abi, size } from 'viem'
import { aggregateBytecode } from '../../../abi/aggregate.generated.ts'
import { truncate } from '../../../lib/http/truncate.ts'
import { contractFunction } from '../../../protocol/abi/contract-function.ts'
import { callOfCode } from '../code-call.ts'
import { NodeError } from '../errors.ts'
import type { Request, View, ViewRequest } from '../requests.ts'
import type { Outcome } from '../transport.ts'
import type { Merging } from './merging.ts'

/** Multicall3, at the same address on every chain that has it. */
const MULTICALL3 = '0xcA11bde05977b3631167028862bE2a173976CA11'

const aggregate = contractFunction(multicall3Abi, 'aggregate3')

/**
 * Answers in the order of the calls; null for an ambiguous one. Null as a whole when there is no contract at the
 * address.
 */
export type Answers = readonly (Outcome<unknown> | null)[] | null

/**
 * The bytes of one call within a merged one: offset, target, `allowFailure`, and its padded calldata with offset and
 * length.
 */
export const bytesOf = ({ data }: View): number => 32 * (5 + Math.ceil(size(data) / 32))

const transaction = (by: Merging['by'], views: readonly View[]): { readonly to?: Hex; readonly data: Hex } => {
  const calls = views.map(({ to, data }) => ({ target: to, allowFailure: true, callData: data }))
  const data = aggregate.encode([calls])
  return by === 'contract' ? { to: MULTICALL3, data } : { data: callOfCode(aggregateBytecode, data) }
}

const reasonOf = (data: Hex): string => {
  try {
    const { errorName, args } = decodeErrorResult({ data })
    return errorName === 'Error' ? `: ${truncate(String(args[0]))}` : ''
  } catch {
    return ''
  }
}

/**
 * The answer to one of the calls. A failure without a reason is ambiguous: the other calls may have used up the gas.
 */
const answerOf = (request: Request<unknown>, success: boolean, data: Hex): Outcome<unknown> | null => {
  if (!success) {
    if (data === '0x') return null
    return { ok: false, error: new NodeError({ code: 3, message: `execution reverted${reasonOf(data)}`, data }) }
  }
  try {
    return { ok: true, value: request.parse(data) }
  } catch (failure) {
    return failure instanceof NodeError ? { ok: false, error: failure } : null
  }
}

/** Merges view calls of one block into one call to Multicall3, or to equivalent code that is sent along. */
export const multicall = (by: Merging['by'], calls: readonly ViewRequest[]): Request<Answers> => {
  const views = calls.map(({ view }) => view)
  return {
    method: 'eth_call',
    params: [transaction(by, views), { blockHash: views[0]?.blockHash }],
    views: views.length,
    parse(raw) {
      if (raw === '0x') return null
      if (!isHex(raw)) throw new TypeError('expected 0x hex')
      const results = aggregate.decode(raw)
      if (results.length !== calls.length) throw new RangeError('expected an answer to each call')
      return results.map(({ success, returnData }, at) => {
        const call = calls[at]
        return call === undefined ? null : answerOf(call, success, returnData)
      })
    },
  }
}
