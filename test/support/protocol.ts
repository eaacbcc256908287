import {
  type Address,
  createPublicClient,
  createTestClient,
  decodeErrorResult,
  encodeFunctionData,
  type Hex,
  http,
  parseEventLogs,
  publicActions,
  RpcRequestError,
  type TransactionReceipt,
} from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { erc20Abi } from '../../src/abi/erc20.generated.ts'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import { startAnvil } from '../../src/sandbox/anvil.ts'
import { deployProtocol } from '../../src/sandbox/deploy.ts'

export const RATE = 1_000_000n
export const DAY = 86_400
export const zero32: Hex = `0x${'0'.repeat(64)}`
const MNEMONIC = 'test test test test test test test test test test test junk'

type Call = { readonly functionName: string; readonly args?: readonly unknown[] }

/** A log as `Name(first, second, …)`, so that a test reads like the documentation. */
export const logLine = (log: { eventName: string; args: unknown }): string =>
  `${log.eventName}(${Object.values(log.args as object).join(', ')})`

/** Fees of these tests: 5 tokens, 0.5 %, 1 %, 2 %, and a tenth of the fees to the creator. */
export const fees = { creation: 5n, hedger: 5_000n, payout: 10_000n, lp: 20_000n, loyalty: 100_000n }

/**
 * A node with the protocol, one 6-decimals and one 18-decimals token, and the roles of the stage. Accounts are unlocked on the node, so
 * that thousands of transactions need no signing here.
 */
export const startProtocol = async () => {
  const anvil = await startAnvil({ chainId: 8453 })
  const account = (addressIndex: number) => mnemonicToAccount(MNEMONIC, { addressIndex })
  const [owner, ...others] = Array.from({ length: 12 }, (_, index) => account(index).address)
  const [oracle1, oracle2, oracle3, creator, lp, hedger, stranger, lp2, hedger2] = others
  if (!owner || !oracle1 || !oracle2 || !oracle3 || !creator || !lp || !hedger || !stranger || !lp2 || !hedger2) {
    throw new Error('the mnemonic gives twelve accounts')
  }
  const { diamond, tokens } = await deployProtocol({
    rpcUrl: anvil.url,
    account: account(0),
    paymentTokens: [
      { symbol: 'USDC', name: 'USD Coin', decimals: 6 },
      { symbol: 'BIG', name: 'Eighteen', decimals: 18 },
    ],
    oracles: [oracle1, oracle2, oracle3],
    oracleAdmin: oracle3,
    fees: {
      creationFee: fees.creation * RATE,
      hedgerFeeRate: fees.hedger,
      payoutFeeRate: fees.payout,
      lpProfitFeeRate: fees.lp,
      creatorLoyaltyRate: fees.loyalty,
    },
  })
  const { USDC: usdc, BIG: big } = tokens
  if (!usdc || !big) throw new Error('two tokens were deployed')
  const transport = http(anvil.url, { retryCount: 0 })
  const node = createTestClient({ mode: 'anvil', transport, cacheTime: 0, pollingInterval: 10 }).extend(publicActions)
  const client = createPublicClient({ transport, cacheTime: 0 })

  const transact = async (from: Address, to: Address, data: Hex, value?: Hex): Promise<TransactionReceipt> => {
    const hash = await node.request({
      method: 'eth_sendTransaction' as never,
      params: [{ from, to, data, gas: '0x7a1200', ...(value && { value }) }] as never,
    })
    const receipt = await client.getTransactionReceipt({ hash })
    if (receipt.status !== 'success') throw new Error(`reverted: ${await reasonOf(from, to, data)}`)
    return receipt
  }

  /** The text a call reverts with now; `ok` when it does not. */
  const reasonOf = async (from: Address, to: Address, data: Hex): Promise<string> => {
    try {
      await node.request({ method: 'eth_call', params: [{ from, to, data }, 'latest'] })
      return 'ok'
    } catch (error) {
      if (!(error instanceof Error)) throw error
      const fault =
        'walk' in error && typeof error.walk === 'function'
          ? error.walk((e: unknown) => e instanceof RpcRequestError)
          : error
      const data: Hex | undefined = fault?.data
      if (data === undefined) return error.message
      if (data === '0x') return 'no reason'
      const { args, errorName } = decodeErrorResult({ abi: [...protocolAbi], data })
      return errorName === 'Error' ? String(args?.[0]) : `${errorName}(${args})`
    }
  }

  const encode = ({ functionName, args = [] }: Call): Hex =>
    encodeFunctionData({ abi: protocolAbi, functionName, args } as never)

  const send = async (from: Address, functionName: string, ...args: readonly unknown[]): Promise<TransactionReceipt> =>
    transact(from, diamond, encode({ functionName, args }))

  return {
    ...{ anvil, node, client, diamond, usdc, big, transact, reasonOf, encode, send },
    who: { owner, oracle1, oracle2, oracle3, creator, lp, hedger, stranger, lp2, hedger2 },
    /** Sends and gives the protocol's logs as lines, without those of tokens. */
    async act(from: Address, functionName: string, ...args: readonly unknown[]): Promise<string[]> {
      const receipt = await send(from, functionName, ...args)
      return parseEventLogs({ abi: protocolAbi, logs: receipt.logs })
        .filter((log) => log.address.toLowerCase() === diamond.toLowerCase())
        .map(logLine)
    },
    /** The text a call reverts with, `ok` when it does not. */
    refusal: (from: Address, functionName: string, ...args: readonly unknown[]): Promise<string> =>
      reasonOf(from, diamond, encode({ functionName, args })),
    read: <T>(functionName: string, ...args: readonly unknown[]): Promise<T> =>
      client.readContract({ address: diamond, abi: protocolAbi, functionName, args } as never) as Promise<T>,
    balance: (token: Address, of: Address): Promise<bigint> =>
      client.readContract({ address: token, abi: erc20Abi, functionName: 'balanceOf', args: [of] }),
    async now(): Promise<number> {
      return Number((await client.getBlock()).timestamp)
    },
    async warp(to: number): Promise<void> {
      await node.setNextBlockTimestamp({ timestamp: BigInt(to) })
      await node.mine({ blocks: 1 })
    },
    /** Gives an account tokens and lets the protocol take them. */
    async fund(token: Address, to: Address, amount: bigint, allowed = amount): Promise<void> {
      await transact(to, token, encodeFunctionData({ abi: erc20Abi, functionName: 'mint', args: [to, amount] }))
      await transact(
        to,
        token,
        encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [diamond, allowed] }),
      )
    },
  }
}

export type Protocol = Awaited<ReturnType<typeof startProtocol>>

/** The worked example's event, open for thirty days. */
export const exampleEvent = (paymentToken: Address, expiryDate: number, more: object = {}) => ({
  name: 'Cedi protection',
  underlying: 'USD/GHS',
  strike: 12_000_000n,
  payoutCap: 13_500_000n,
  premiumRate: 27_322n,
  expiryDate: BigInt(expiryDate),
  allowExternalLp: true,
  initialLiquidity: 10_000n * RATE,
  initialRate: 11_400_000n,
  strikeAbove: true,
  paymentToken,
  signature: '0x',
  quoteTimestamp: 0n,
  quoteNonce: zero32,
  ...more,
})
