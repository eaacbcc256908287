import { type Address, createPublicClient, type Hex, http, type PublicClient } from 'viem'
import type { LocalAccount } from 'viem/accounts'

/** An error answer of the API: clients switch on `code`. */
export class ApiError extends Error {
  readonly code: string
  readonly status: number
  constructor(status: number, code: string, message: string) {
    super(`${status} ${code}: ${message}`)
    this.status = status
    this.code = code
  }
}

/** No server answers at the API's address. */
export class ApiUnreachable extends Error {
  constructor(baseUrl: string, options?: ErrorOptions) {
    super(`no API answers at ${baseUrl}`, options)
  }
}

type ChainInfo = { chainId: number; diamond: Address; usdc: Address; usdt: Address | null; rpcUrl: string }

/** A transaction as `eth_sendTransaction` takes it. */
type TransactionRequest = Record<'nonce' | 'to' | 'data' | 'gas' | 'maxFeePerGas' | 'maxPriorityFeePerGas', Hex>

type Plan = {
  summary: string
  executable: boolean
  issues: { code: string; message: string; hint: string; blocking: boolean }[]
  cost: { total: string } | null
  payout: { gross: string; fee: string; net: string } | null
  steps: { id: string; request?: TransactionRequest }[]
}

type Created = { id: number; owner: Address }[]
type Transaction = {
  status: 'unknown' | 'pending' | 'succeeded' | 'reverted'
  created: { eventIds: Created; depositIds: Created; positionIds: Created }
  revert: { code: string; reason: string; hint: string } | null
}

/** What an action did: its plan, and the result of its last transaction. */
export type Done = { readonly plan: Plan; readonly transaction: Transaction }

/** The API, and a node for what is not about the protocol. */
export type Client = {
  get<T>(path: string): Promise<T>
  post<T>(path: string, body: object): Promise<T>
  /** Plans an action, signs its transactions, broadcasts them and waits until each is mined and indexed. */
  act(signer: LocalAccount, action: string, intent: object): Promise<Done>
  readonly chain: ChainInfo
  readonly node: PublicClient
}

/** Two senders may use the same nonce at the same time; the later one plans and tries again. */
const lostNonce = /nonce|replacement transaction|underpriced/i
const MAX_ATTEMPTS = 5

/** A client of one chain; `baseUrl` without the `/v1`. */
export const createClient = async (baseUrl: string, chainId: number): Promise<Client> => {
  const call = async <T>(path: string, init?: RequestInit): Promise<T> => {
    const response = await fetch(`${baseUrl}/v1${path}`, init).catch((cause: unknown) => {
      throw new ApiUnreachable(baseUrl, { cause })
    })
    const body = (await response.json()) as { data: T; error: { code: string; message: string } }
    if (!response.ok) throw new ApiError(response.status, body.error.code, body.error.message)
    return body.data
  }
  const get = <T>(path: string): Promise<T> => call(path)
  const post = <T>(path: string, body: object): Promise<T> =>
    call(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

  const chain = (await get<ChainInfo[]>('/chains')).find((each) => each.chainId === chainId)
  if (chain === undefined) throw new Error(`the API does not list chain ${chainId}`)
  const node = createPublicClient({ transport: http(chain.rpcUrl), pollingInterval: 200 })

  const send = async (signer: LocalAccount, request: TransactionRequest): Promise<Transaction> => {
    const signedTx = await signer.signTransaction({
      chainId,
      to: request.to,
      data: request.data,
      nonce: Number(request.nonce),
      gas: BigInt(request.gas),
      maxFeePerGas: BigInt(request.maxFeePerGas),
      maxPriorityFeePerGas: BigInt(request.maxPriorityFeePerGas),
    })
    const { txHash } = await post<{ txHash: Hex }>('/tx/broadcast', { chainId, signedTx })
    const transaction = await get<Transaction>(`/transactions/${chainId}/${txHash}?waitMs=30000`)
    if (transaction.status === 'succeeded') return transaction
    const { code = 'no reason', hint = '' } = transaction.revert ?? {}
    throw new Error(`transaction ${txHash} is ${transaction.status}: ${code}. ${hint}`)
  }

  const attempt = async (signer: LocalAccount, action: string, intent: object): Promise<Done> => {
    const plan = await post<Plan>(`/plans/${action}`, { ...intent, chainId, from: signer.address })
    const [issue] = plan.issues.filter(({ blocking }) => blocking)
    if (issue !== undefined) throw new Error(`${action}: ${issue.code}: ${issue.message}. ${issue.hint}`)
    let transaction: Transaction | undefined
    for (const { id, request } of plan.steps) {
      if (request === undefined) throw new Error(`step ${id} of ${action} has no request`)
      transaction = await send(signer, request)
    }
    if (transaction === undefined) throw new Error(`${action} needs no transaction`)
    return { plan, transaction }
  }

  return {
    get,
    post,
    chain,
    node,
    async act(signer, action, intent) {
      for (let attempts = 1; ; attempts++) {
        try {
          return await attempt(signer, action, intent)
        } catch (error) {
          if (attempts === MAX_ATTEMPTS || !(error instanceof ApiError) || !lostNonce.test(error.message)) throw error
        }
      }
    },
  }
}
