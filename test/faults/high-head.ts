import { keccak256, numberToHex } from 'viem'
import { createRpc, heightOf, hex, type RpcAnswer, type RpcCall } from './rpc.ts'
import { beyondHead } from './stale.ts'

/** A block that no chain has, the same each time. */
const madeUp = (number: bigint, timestamp: number) => ({
  number: hex(number),
  hash: keccak256(numberToHex(number)),
  parentHash: keccak256(numberToHex(number - 1n)),
  timestamp: hex(timestamp),
})

/**
 * A node that reports blocks above its real head, consistently by tag and by number. It has neither state nor logs of
 * them: it refuses the logs, or returns none.
 */
export const createHighHead = (height: (head: number) => bigint, target: string, refuses: boolean) => {
  const node = createRpc(target)
  const answerOne = async (
    { id, method, params }: RpcCall,
    head: { number: number; timestamp: number },
  ): Promise<RpcAnswer> => {
    const top = height(head.number)
    if (method === 'eth_blockNumber') return { id, result: hex(top) }
    if (method === 'eth_getBlockByNumber') {
      const [wanted] = params
      const number = wanted === 'latest' ? top : heightOf(wanted) === undefined ? 0n : BigInt(String(wanted))
      if (number > top) return { id, result: null }
      if (number > BigInt(head.number)) return { id, result: madeUp(number, head.timestamp) }
    }
    const { toBlock } = Object(params[0])
    if (method === 'eth_getLogs' && (heightOf(toBlock) ?? Number.POSITIVE_INFINITY) > head.number)
      return refuses ? { id, error: beyondHead } : { id, result: [] }
    return { ...(await node.batch([{ method, params }]))[0], id }
  }
  return async (calls: readonly RpcCall[]): Promise<RpcAnswer[]> => {
    const head = await node.block(await node.blockNumber())
    if (head === null) throw new Error('the node has no newest block')
    return Promise.all(calls.map((call) => answerOne(call, head)))
  }
}
