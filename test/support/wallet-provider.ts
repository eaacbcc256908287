import { type EIP1193Provider, type Hex, numberToHex, type PrivateKeyAccount } from 'viem'
import { batchOf } from './entry-point.ts'

type Request = { readonly method: string; readonly params?: readonly unknown[] }
type Call = { readonly to: Hex; readonly data: Hex; readonly value: Hex }
type Batch = { readonly id?: string; readonly from: Hex; readonly calls: readonly Call[] }

/** An answer of the wallet in place of its own, which `own` returns. */
type Answer = (own: () => Promise<unknown>, params: readonly unknown[]) => unknown

/** An error as wallets return it. */
export const walletFault = (code: number, message = `error ${code}`): Error =>
  Object.assign(new Error(message), { code })

/**
 * A wallet as a browser has it: an EIP-1193 provider with one account, which the node keeps the key of. With `batches` it has
 * EIP-5792: it sends the calls one by one, or as one transaction when it is `atomic`, for which the account has the code
 * of `batchCode`. `rejects` makes its user reject everything that has to be signed. `answers` replace those of a method.
 */
export const createWalletProvider = (options: {
  /** The URL of its node, or a function that answers as the node does. */
  readonly node: string | ((method: string, params: readonly unknown[]) => Promise<unknown>)
  readonly account: Pick<PrivateKeyAccount, 'address'>
  readonly batches?: boolean
  readonly atomic?: boolean
  readonly rejects?: boolean
  readonly answers?: Readonly<Record<string, Answer>>
}) => {
  const { account, batches = false, atomic = false, rejects = false, answers = {} } = options
  const requested: string[] = []
  /** The requests of transactions and batches. */
  const sent: unknown[] = []
  const batchesSent = new Map<string, Hex[]>()

  const node = async (method: string, params: readonly unknown[] = []): Promise<unknown> => {
    if (typeof options.node === 'function') return options.node(method, params)
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const response = await fetch(options.node, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    const { result, error } = (await response.json()) as { result?: unknown; error?: { code: number; message: string } }
    if (error !== undefined) throw walletFault(error.code, error.message)
    return result
  }

  const capabilities = async (): Promise<unknown> => ({
    [numberToHex(Number(await node('eth_chainId')))]: { atomic: { status: atomic ? 'supported' : 'unsupported' } },
  })

  const sendCalls = async ({ id: given, from, calls }: Batch): Promise<{ readonly id: string }> => {
    const id = given ?? numberToHex(batchesSent.size + 1, { size: 32 })
    if (batchesSent.has(id)) throw walletFault(5720, 'duplicate id')
    const data = batchOf(calls.map((call) => [call.to, call.data]))
    const transactions = atomic ? [{ from, to: from, data }] : calls.map((call) => ({ from, ...call }))
    const hashes: Hex[] = []
    batchesSent.set(id, hashes)
    for (const transaction of transactions) hashes.push((await node('eth_sendTransaction', [transaction])) as Hex)
    return { id }
  }

  const statusOf = async (id: string): Promise<unknown> => {
    const hashes = batchesSent.get(id)
    if (hashes === undefined) throw walletFault(5730, 'unknown bundle id')
    const receipts = await Promise.all(hashes.map((hash) => node('eth_getTransactionReceipt', [hash])))
    return { id, status: receipts.includes(null) ? 100 : 200, atomic, receipts: receipts.filter((it) => it !== null) }
  }

  const own = async (method: string, params: readonly unknown[]): Promise<unknown> => {
    if (method === 'eth_accounts' || method === 'eth_requestAccounts') return [account.address]
    const isSent = method === 'eth_sendTransaction' || method === 'wallet_sendCalls'
    if (rejects && isSent && (batches || method === 'eth_sendTransaction'))
      throw walletFault(4001, 'User rejected the request.')
    if (isSent) sent.push(params[0])
    if (!method.startsWith('wallet_')) return node(method, params)
    if (batches && method === 'wallet_getCapabilities') return capabilities()
    if (batches && method === 'wallet_getCallsStatus') return statusOf(String(params[0]))
    if (batches && method === 'wallet_sendCalls') return sendCalls(params[0] as Batch)
    throw walletFault(-32601, `the method ${method} does not exist`)
  }

  const request = async ({ method, params = [] }: Request): Promise<unknown> => {
    requested.push(method)
    return (answers[method] ?? ((itself) => itself()))(() => own(method, params), params)
  }
  return { requested, sent, provider: { request } as Pick<EIP1193Provider, 'request'>, request }
}
