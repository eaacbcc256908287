import { type Address, createPublicClient, type Hex, http, type PublicClient, type TransactionReceipt } from 'viem'
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

type BuiltTx = { to: Address; data: Hex; value: string; estimatedGas: string | null }
type ChainInfo = { chainId: number; diamond: Address; usdc: Address; usdt: Address | null; rpcUrl: string }

/** The API, a node for receipts, and the two steps every write takes: build, then sign here and broadcast. */
export type Client = {
  get<T>(path: string): Promise<T>
  post<T>(path: string, body: object): Promise<T>
  /** Builds a call, signs it with `signer`, broadcasts it and waits for its receipt. Throws when it reverts. */
  send(signer: LocalAccount, path: string, body: object): Promise<TransactionReceipt>
  readonly chain: ChainInfo
  readonly node: PublicClient
}

/** Two senders may use the same nonce at the same time; the later one requests a new nonce and tries again. */
const lostNonce = /nonce|replacement transaction|underpriced/i

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

  const signAndSend = async (signer: LocalAccount, built: BuiltTx): Promise<Hex> => {
    const nonce = await node.getTransactionCount({ address: signer.address, blockTag: 'pending' })
    const signedTx = await signer.signTransaction({
      chainId,
      nonce,
      to: built.to,
      data: built.data,
      value: BigInt(built.value),
      gas: (BigInt(built.estimatedGas ?? '1000000') * 3n) / 2n,
      ...(await node.estimateFeesPerGas()),
    })
    return (await post<{ txHash: Hex }>('/tx/broadcast', { chainId, signedTx })).txHash
  }

  return {
    get,
    post,
    chain,
    node,
    async send(signer, path, body) {
      const built = await post<BuiltTx>(path, { ...body, chainId, from: signer.address })
      for (let attempt = 1; ; attempt++) {
        try {
          const receipt = await node.waitForTransactionReceipt({
            hash: await signAndSend(signer, built),
            timeout: 60_000,
          })
          if (receipt.status !== 'success') throw new Error(`${path} reverted in ${receipt.transactionHash}`)
          return receipt
        } catch (error) {
          if (attempt === 5 || !(error instanceof ApiError) || !lostNonce.test(error.message)) throw error
        }
      }
    },
  }
}
