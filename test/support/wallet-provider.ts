import { type EIP1193Provider, type Hex, numberToHex, type PrivateKeyAccount } from 'viem'

type Request = { readonly method: string; readonly params?: readonly unknown[] }
type Call = { readonly to: Hex; readonly data: Hex; readonly value: Hex }
type Batch = { readonly from: Hex; readonly atomicRequired: boolean; readonly calls: readonly Call[] }

/**
 * A wallet as a browser has it: an EIP-1193 provider with one account, which the node keeps the key of. With `batches` it has
 * EIP-5792. `rejects` makes its user reject everything that has to be signed.
 */
export const createWalletProvider = (options: {
  readonly rpcUrl: string
  readonly account: Pick<PrivateKeyAccount, 'address'>
  readonly batches?: boolean
  readonly rejects?: boolean
}) => {
  const { rpcUrl, account, batches = false, rejects = false } = options
  const requested: string[] = []
  const batchesSent = new Map<string, Hex[]>()

  const node = async (method: string, params: readonly unknown[] = []): Promise<unknown> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const response = await fetch(rpcUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const { result, error } = (await response.json()) as { result?: unknown; error?: { code: number; message: string } }
    if (error !== undefined) throw Object.assign(new Error(error.message), { code: error.code })
    return result
  }

  const reject = (): never => {
    throw Object.assign(new Error('User rejected the request.'), { code: 4001 })
  }

  const capabilities = async (): Promise<unknown> => ({
    [numberToHex(Number(await node('eth_chainId')))]: { atomic: { status: 'unsupported' } },
  })

  const sendCalls = async ({ from, calls }: Batch): Promise<{ readonly id: string }> => {
    const hashes: Hex[] = []
    for (const call of calls) hashes.push((await node('eth_sendTransaction', [{ from, ...call }])) as Hex)
    const id = numberToHex(batchesSent.size + 1, { size: 32 })
    batchesSent.set(id, hashes)
    return { id }
  }

  const statusOf = async (id: string): Promise<unknown> => {
    const hashes = batchesSent.get(id) ?? []
    const receipts = await Promise.all(hashes.map((hash) => node('eth_getTransactionReceipt', [hash])))
    return { id, status: receipts.includes(null) ? 100 : 200, receipts: receipts.filter((it) => it !== null) }
  }

  const request = async ({ method, params = [] }: Request): Promise<unknown> => {
    requested.push(method)
    if (method === 'eth_accounts' || method === 'eth_requestAccounts') return [account.address]
    if (method === 'eth_sendTransaction' && rejects) return reject()
    if (!method.startsWith('wallet_')) return node(method, params)
    if (batches && method === 'wallet_getCapabilities') return capabilities()
    if (batches && method === 'wallet_getCallsStatus') return statusOf(String(params[0]))
    if (batches && method === 'wallet_sendCalls') return rejects ? reject() : sendCalls(params[0] as Batch)
    throw Object.assign(new Error(`the method ${method} does not exist`), { code: -32601 })
  }
  return { requested, provider: { request } as Pick<EIP1193Provider, 'request'>, request }
}
