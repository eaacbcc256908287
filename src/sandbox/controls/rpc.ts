import { z } from 'zod'

/** The methods of the wallet that its chain's node answers. Everything else that the wallet does needs no node. */
const methods = new Set([
  'eth_blockNumber',
  'eth_call',
  'eth_chainId',
  'eth_estimateGas',
  'eth_feeHistory',
  'eth_gasPrice',
  'eth_getBalance',
  'eth_getBlockByNumber',
  'eth_getCode',
  'eth_getLogs',
  'eth_getTransactionByHash',
  'eth_getTransactionCount',
  'eth_getTransactionReceipt',
  'eth_maxPriorityFeePerGas',
  'eth_sendTransaction',
])

const TIMEOUT_MS = 20_000

const Call = z.object({
  method: z.string().max(60),
  params: z.array(z.unknown()).max(5).default([]),
})

const Transaction = z.looseObject({ from: z.string().max(42) })

/** An error as EIP-1193 has it. */
const refused = (code: 4100 | 4200, message: string) => ({ error: { code, message } })

/**
 * Sends a call of the wallet to a node and resolves to its answer, a JSON-RPC response. The node has the keys of the
 * accounts: `from` of a transaction has to be one of `senders`. Throws when the call is malformed and when the node does
 * not answer.
 */
export const forward = async (rpcUrl: string, senders: readonly string[], body: unknown): Promise<unknown> => {
  const { method, params } = Call.parse(body)
  if (!methods.has(method)) return refused(4200, `the sandbox wallet has no method ${method}`)
  if (method === 'eth_sendTransaction') {
    const { from } = Transaction.parse(params[0])
    const isOwn = senders.some((sender) => sender.toLowerCase() === from.toLowerCase())
    if (params.length !== 1 || !isOwn) return refused(4100, `the sandbox wallet has no account ${from}`)
  }
  const response = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  return response.json()
}
