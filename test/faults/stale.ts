import { createRpc, heightOf, hex, type RpcAnswer, type RpcCall } from './rpc.ts'

const tags = ['latest', 'pending', 'safe', 'finalized']

/** How nodes refuse logs past their head. */
export const beyondHead = { code: -32602, message: 'block range extends beyond current head block' } as const

/**
 * A node in its state of some blocks ago. None of its answers shows that it lags, and it silently omits logs past its
 * head, as load-balanced nodes do, or `refuses` them.
 */
export const createStale = (behind: number, target: string, refuses = false) => {
  const node = createRpc(target)
  const unknownBlock = (id: number): RpcAnswer => ({ id, error: { code: -32000, message: 'header not found' } })
  const answerOne = async (call: RpcCall, head: number): Promise<RpcAnswer> => {
    const { id, method, params } = call
    const clamp = (value: unknown): unknown => (typeof value === 'string' && tags.includes(value) ? hex(head) : value)
    if (method === 'eth_blockNumber') return { id, result: hex(head) }
    if (method === 'eth_getBlockByNumber' && (heightOf(params[0]) ?? 0) > head) return { id, result: null }
    if (method === 'eth_getLogs') {
      const filter = { ...Object(params[0]) }
      const isBeyond = [filter.fromBlock, filter.toBlock].some((block) => (heightOf(block) ?? 0) > head)
      if (refuses && isBeyond) return { id, error: beyondHead }
      if ((heightOf(filter.fromBlock) ?? 0) > head) return { id, result: [] }
      const to = Math.min(heightOf(filter.toBlock) ?? head, head)
      return { ...(await node.batch([{ method, params: [{ ...filter, toBlock: hex(to) }] }]))[0], id }
    }
    const by = params.find((it) => typeof it === 'object' && it !== null && 'blockHash' in it)
    if (by !== undefined) {
      const [found] = await node.batch([{ method: 'eth_getBlockByHash', params: [Object(by).blockHash, false] }])
      const number = heightOf(Object(found?.result).number)
      if (number === undefined || number > head) return unknownBlock(id)
    }
    return { ...(await node.batch([{ method, params: params.map(clamp) }]))[0], id }
  }
  return async (calls: readonly RpcCall[]): Promise<RpcAnswer[]> => {
    const head = Math.max(0, (await node.blockNumber()) - behind)
    return Promise.all(calls.map((call) => answerOne(call, head)))
  }
}
