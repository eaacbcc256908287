import {
  type Address,
  createPublicClient,
  createTestClient,
  encodeFunctionData,
  type Hex,
  http,
  maxUint256,
  type PublicClient,
  type TransactionReceipt,
  zeroHash,
} from 'viem'
import { erc20Abi } from '../../abi/erc20.generated.ts'
import { protocolAbi } from '../../abi/protocol.generated.ts'
import { decodeLog } from '../../protocol/abi/logs.ts'
import type { Wallet } from './accounts.ts'

export type PaymentToken = { readonly symbol: string; readonly address: Address; readonly decimals: number }

/** A sandbox chain with the protocol on it. */
export type ProtocolChain = {
  readonly chainId: number
  readonly rpcUrl: string
  readonly diamond: Address
  readonly tokens: readonly PaymentToken[]
}

/**
 * The creator's choices for an event; rates and prices in 1e6, `initialLiquidity` in the token's units, `expiry` in
 * Unix seconds.
 */
export type NewEvent = {
  readonly name: string
  readonly underlying: string
  readonly strike: bigint
  readonly payoutCap: bigint
  readonly premiumRate: bigint
  readonly expiry: number
  readonly allowExternalLp: boolean
  readonly initialLiquidity: bigint
  readonly initialRate: bigint
  readonly strikeAbove: boolean
  readonly paymentToken: Address
}

/** The state of an event that the choice of an action needs; rates in 1e6, `expiry` in Unix seconds. */
export type EventNow = {
  readonly id: bigint
  readonly name: string
  readonly strike: bigint
  readonly payoutCap: bigint
  readonly premiumRate: bigint
  readonly expiry: number
  readonly poolOpen: boolean
  readonly allowExternalLp: boolean
  readonly initialRate: bigint
  readonly strikeAbove: boolean
  readonly settled: boolean
}

/** Gas limit above the need of every call here. Unused gas costs nothing, and no estimate is needed. */
const GAS = 5_000_000n

const FEES = { maxFeePerGas: 100_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n }

/** The deposit or position that a transaction created, for both names of the log. Throws when it created none. */
const created = (kind: 'deposit' | 'position', { transactionHash, logs }: TransactionReceipt) => {
  const made = logs.map(decodeLog).find((it) => it?.kind === kind)
  if (made?.kind !== 'deposit' && made?.kind !== 'position') throw new Error(`${transactionHash} created no ${kind}`)
  return made
}

/**
 * The actions of the sandbox's accounts on one chain: signed transactions through the node's JSON-RPC. Every action
 * resolves when its transaction succeeded and throws the node's reason otherwise.
 *
 * @example
 * const actions = createActions(chain)
 * const eventId = await actions.createEvent(wallet, event)
 */
export const createActions = (chain: ProtocolChain) => {
  const transport = http(chain.rpcUrl, { timeout: 20_000, retryCount: 0 })
  const client: PublicClient = createPublicClient({ transport, cacheTime: 0 })
  const node = createTestClient({ mode: 'anvil', transport })
  const { diamond } = chain

  const send = async (wallet: Wallet, to: Address, data: Hex): Promise<TransactionReceipt> => {
    // Read every time, because another user of this account also increases its nonce.
    const nonce = await client.getTransactionCount({ address: wallet.account.address, blockTag: 'pending' })
    const request = { chainId: chain.chainId, type: 'eip1559', to, data, nonce, gas: GAS, ...FEES } as const
    const serializedTransaction = await wallet.account.signTransaction(request)
    const receipt = await client.sendRawTransactionSync({ serializedTransaction })
    if (receipt.status === 'success') return receipt
    // Throws the reason.
    await client.call({ account: wallet.account.address, to, data, blockNumber: receipt.blockNumber })
    throw new Error(
      `${receipt.transactionHash} reverted, but a call at its block succeeds: its state changed within the block`,
    )
  }

  const abi = protocolAbi
  const write = (wallet: Wallet, data: Hex): Promise<TransactionReceipt> => send(wallet, diamond, data)
  const read = { address: diamond, abi } as const

  const event = async (eventId: bigint): Promise<EventNow> => {
    const [core, range, stats] = await Promise.all([
      client.readContract({ ...read, functionName: 'getHedgeEventCore', args: [eventId] }),
      client.readContract({ ...read, functionName: 'getHedgeEventRange', args: [eventId] }),
      client.readContract({ ...read, functionName: 'getHedgeEventStats', args: [eventId] }),
    ])
    return {
      id: core[0],
      name: core[2],
      strike: core[4],
      payoutCap: range[1],
      premiumRate: core[5],
      expiry: Number(core[6]),
      poolOpen: core[8],
      allowExternalLp: core[9],
      initialRate: core[10],
      strikeAbove: core[11],
      settled: stats[2] > 0n,
    }
  }

  return {
    chain,
    client,
    node,

    /** An event; its id is 0 when it does not exist. */
    event,

    /** Unix seconds of the newest block. */
    now: async (): Promise<number> => Number((await client.getBlock()).timestamp),

    /** Anyone can mint the test tokens. */
    mint: (wallet: Wallet, token: Address, amount: bigint) =>
      send(
        wallet,
        token,
        encodeFunctionData({ abi: erc20Abi, functionName: 'mint', args: [wallet.account.address, amount] }),
      ),

    /** Allows the protocol to pull any amount of the token. */
    approve: (wallet: Wallet, token: Address) =>
      send(wallet, token, encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [diamond, maxUint256] })),

    balance: (token: Address, of: Address): Promise<bigint> =>
      client.readContract({ address: token, abi: erc20Abi, functionName: 'balanceOf', args: [of] }),

    /** Mines a block with the present time, so that the newest block is as recent as on a live chain. */
    async mineNow(): Promise<void> {
      await this.warp(Math.floor(Date.now() / 1000))
      await node.mine({ blocks: 1 })
    },

    /** Moves the node's clock so that the next block has this time, in Unix seconds. A time in the past is ignored. */
    async warp(time: number): Promise<void> {
      if (BigInt(time) > (await client.getBlock()).timestamp)
        await node.setNextBlockTimestamp({ timestamp: BigInt(time) })
    },

    /** Moves the node's clock ahead and mines a block, which has the new time. */
    async advance(seconds: number): Promise<void> {
      await node.increaseTime({ seconds })
      await node.mine({ blocks: 1 })
    },

    /**
     * Replaces the newest blocks by as many without transactions, and mines another one, as the chain that wins has more
     * blocks. The time of the chain goes on: the node alone would continue from the time of the common block.
     */
    async reorg(blocks: number): Promise<void> {
      const { timestamp } = await client.getBlock()
      await client.request<{ Method: 'anvil_reorg'; Parameters: [number, []]; ReturnType: null }>({
        method: 'anvil_reorg',
        params: [blocks, []],
      })
      await this.warp(Number(timestamp) + 1)
      await this.mineNow()
    },

    /** Resolves to the ids of the event and of its creator's deposit. */
    async createEvent(wallet: Wallet, event: NewEvent): Promise<{ eventId: bigint; depositId: bigint }> {
      const { expiry, ...rest } = event
      const unsigned = { signature: '0x', quoteTimestamp: 0n, quoteNonce: zeroHash } as const
      const params = { ...rest, expiryDate: BigInt(expiry), ...unsigned }
      const data = encodeFunctionData({ abi, functionName: 'createEvent', args: [params] })
      const { eventId, id } = created('deposit', await write(wallet, data))
      return { eventId, depositId: id }
    },

    /** Resolves to the deposit's id. */
    async deposit(wallet: Wallet, eventId: bigint, amount: bigint): Promise<bigint> {
      const data = encodeFunctionData({ abi, functionName: 'deposit', args: [eventId, amount] })
      return created('deposit', await write(wallet, data)).id
    },

    /** The newest events, ordered from the oldest to the newest. */
    async newestEvents(count: number): Promise<EventNow[]> {
      const total = Number(await client.readContract({ ...read, functionName: 'getTotalHedgeEvents' }))
      const first = Math.max(1, total - count + 1)
      return Promise.all(Array.from({ length: total - first + 1 }, (_, i) => event(BigInt(first + i))))
    },

    positionsOf: (wallet: Wallet): Promise<readonly bigint[]> =>
      client.readContract({ ...read, functionName: 'getHedgerPositionIds', args: [wallet.account.address] }),

    depositsOf: (wallet: Wallet): Promise<readonly bigint[]> =>
      client.readContract({ ...read, functionName: 'getLpDepositIds', args: [wallet.account.address] }),

    /** True when the deposit is not withdrawn and its event is settled. */
    async isWithdrawable(depositId: bigint): Promise<boolean> {
      const deposit = await client.readContract({ ...read, functionName: 'getHedgeLpDeposit', args: [depositId] })
      return !deposit[7] && (await event(deposit[1])).settled
    },

    /** Additional notional the event's pool can still write, in token units. */
    async capacity(eventId: bigint): Promise<bigint> {
      const utilization = await client.readContract({ ...read, functionName: 'getPoolUtilization', args: [eventId] })
      return utilization[2]
    },

    /**
     * Buys protection at the event's rate, with a maximum cost 20 % above the premium for fees. Resolves to the
     * position's id.
     */
    async buy(wallet: Wallet, eventId: bigint, notional: bigint): Promise<bigint> {
      const [{ premiumRate }, block] = await Promise.all([event(eventId), client.getBlock()])
      const premium = (notional * premiumRate) / 1_000_000n
      const maxCost = premium + premium / 5n + 1n
      // Days ahead: while past blocks are mined, the next block may be much later than the newest.
      const deadline = block.timestamp + 100n * 86_400n
      const data = encodeFunctionData({
        abi,
        functionName: 'buyProtection',
        args: [eventId, notional, maxCost, deadline],
      })
      return created('position', await write(wallet, data)).id
    },

    /** True when the event settled in favour of the position and the payout is not claimed. */
    async isClaimable(positionId: bigint): Promise<boolean> {
      const position = await client.readContract({ ...read, functionName: 'getHedgePosition', args: [positionId] })
      const [, eventId, , , , , payoutAmount, , claimed] = position
      return payoutAmount > 0n && !claimed && (await event(eventId)).settled
    },

    /** Gross unclaimed premiums of a deposit, in token units. */
    pendingPremiums: (depositId: bigint): Promise<bigint> =>
      client.readContract({ ...read, functionName: 'pendingPremiums', args: [depositId] }),

    submitRate: (wallet: Wallet, eventId: bigint, price: bigint) =>
      write(wallet, encodeFunctionData({ abi, functionName: 'submitRate', args: [eventId, price] })),

    settle: (admin: Wallet, eventId: bigint, price: bigint) =>
      write(admin, encodeFunctionData({ abi, functionName: 'settleEvent', args: [eventId, price] })),

    setPool: (wallet: Wallet, eventId: bigint, open: boolean, externalLp: boolean) =>
      write(wallet, encodeFunctionData({ abi, functionName: 'setPoolSettings', args: [eventId, open, externalLp] })),

    claimPayout: (wallet: Wallet, positionId: bigint) =>
      write(wallet, encodeFunctionData({ abi, functionName: 'claimPayout', args: [positionId] })),

    claimPremiums: (wallet: Wallet, depositId: bigint) =>
      write(wallet, encodeFunctionData({ abi, functionName: 'claimPremiums', args: [depositId] })),

    withdrawCapital: (wallet: Wallet, depositId: bigint) =>
      write(wallet, encodeFunctionData({ abi, functionName: 'withdrawCapital', args: [depositId] })),

    withdrawCreatorEarnings: (wallet: Wallet, eventId: bigint) =>
      write(wallet, encodeFunctionData({ abi, functionName: 'withdrawCreatorEarnings', args: [eventId] })),
  }
}

export type Actions = ReturnType<typeof createActions>
