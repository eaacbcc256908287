import { z } from 'zod'

/** One call of a JSON-RPC batch. */
export type RpcCall = { readonly id: number; readonly method: string; readonly params: readonly unknown[] }

const Answer = z.object({
  id: z.number(),
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string() }).optional(),
})
export type RpcAnswer = z.output<typeof Answer>

const BlockShape = z.object({ number: z.string(), hash: z.string(), timestamp: z.string() })

/**
 * JSON-RPC without any of the product's code, so that the product can be compared with the node's answers. Each method
 * throws the node's reason.
 *
 * @example const head = await createRpc(anvil.url).blockNumber()
 */
export const createRpc = (url: string) => {
  const batch = async (calls: readonly { method: string; params: readonly unknown[] }[]): Promise<RpcAnswer[]> => {
    const body = JSON.stringify(calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call })))
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const answers = z.array(Answer).parse(await response.json())
    return answers.toSorted((a, b) => a.id - b.id)
  }
  const send = async (method: string, params: readonly unknown[] = []): Promise<unknown> => {
    const [answer] = await batch([{ method, params }])
    if (answer?.error !== undefined) throw new Error(`${method}: ${answer.error.message}`)
    return answer?.result
  }
  return {
    url,
    batch,
    send,
    blockNumber: async (): Promise<number> => Number(z.string().parse(await send('eth_blockNumber'))),
    /** The header at a height; null when the node has no block there. */
    async block(number: number) {
      const found = BlockShape.nullable().parse(await send('eth_getBlockByNumber', [hex(number), false]))
      return found && { number, hash: found.hash, timestamp: Number(found.timestamp) }
    },
  }
}

export type Rpc = ReturnType<typeof createRpc>

export const hex = (value: number | bigint): `0x${string}` => `0x${value.toString(16)}`

/** The height in a parameter; undefined for a tag or any other value. */
export const heightOf = (value: unknown): number | undefined =>
  typeof value === 'string' && /^0x[0-9a-f]+$/i.test(value) ? Number(value) : undefined
