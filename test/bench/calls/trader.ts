import { encodeFunctionData, type Hex, maxUint256 } from 'viem'
import { protocolAbi } from '../../../src/abi/protocol.generated.ts'
import { decodeLog } from '../../../src/protocol/abi/logs.ts'
import type { SandboxChain } from '../../../src/sandbox/chain.ts'
import { createAccounts, type Wallet } from '../../../src/sandbox/story/accounts.ts'
import { createActions } from '../../../src/sandbox/story/actions.ts'

/** Transactions until a new event takes them: a pool accepts 100 deposits. */
const PER_EVENT = 150

const GAS = { gas: 5_000_000n, maxFeePerGas: 100_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n }

/** A position or deposit, its transaction, and when its sender had the receipt (`performance.now()`). */
export type Made = {
  readonly list: 'positions' | 'deposits'
  readonly id: bigint
  readonly hash: Hex
  readonly wallet: string
  readonly minedAt: number
}

/** A hedger and a provider of liquidity on a chain, which they reach directly, not through a counting proxy. */
export const createTrader = async (chain: SandboxChain) => {
  const actions = createActions(chain)
  const accounts = createAccounts()
  const [creator, provider, hedger] = accounts.users
  const [token] = chain.tokens
  if (!creator || !provider || !hedger || !token) throw new Error('the chain has no users or no payment token')
  const units = (whole: number): bigint => BigInt(whole) * 10n ** BigInt(token.decimals)
  for (const wallet of [creator, provider, hedger]) {
    await actions.mint(wallet, token.address, units(100_000_000))
    await actions.approve(wallet, token.address)
  }

  const createEvent = async (): Promise<bigint> => {
    const { eventId } = await actions.createEvent(creator, {
      ...{ name: 'Euro floor', underlying: 'EUR/USD', strike: 1_065_000n, payoutCap: 1_020_000n, premiumRate: 12_000n },
      ...{ expiry: Math.floor(Date.now() / 1_000) + 90 * 86_400, allowExternalLp: true, strikeAbove: false },
      ...{ initialLiquidity: units(1_000_000), initialRate: 1_085_000n, paymentToken: token.address },
    })
    return eventId
  }
  let eventId = await createEvent()
  let nth = 0

  const send = async (wallet: Wallet, data: Hex) => {
    const nonce = await actions.client.getTransactionCount({ address: wallet.account.address, blockTag: 'pending' })
    const { chainId, diamond: to } = chain
    const serializedTransaction = await wallet.account.signTransaction({
      ...{ chainId, type: 'eip1559', to, data, nonce },
      ...GAS,
    })
    const receipt = await actions.client.sendRawTransactionSync({ serializedTransaction })
    if (receipt.status !== 'success') throw new Error(`chain ${chainId} reverted ${receipt.transactionHash}`)
    return { receipt, minedAt: performance.now() }
  }

  return {
    chain,
    /** The event of the newest transactions. */
    eventId: (): bigint => eventId,
    wallets: { provider: provider.account.address, hedger: hedger.account.address },
    height: (): Promise<bigint> => actions.client.getBlockNumber(),
    /** Mines empty blocks, and one with the present time. */
    async mine(blocks: number): Promise<void> {
      await actions.node.mine({ blocks })
      await actions.mineNow()
    },
    /** The hedger buys protection or the provider deposits, in turn. */
    async trade(): Promise<Made> {
      nth += 1
      if (nth % PER_EVENT === 0) eventId = await createEvent()
      const isPurchase = nth % 2 === 0
      const wallet = isPurchase ? hedger : provider
      const data = isPurchase
        ? encodeFunctionData({
            abi: protocolAbi,
            functionName: 'buyProtection',
            args: [eventId, units(20), maxUint256, maxUint256],
          })
        : encodeFunctionData({ abi: protocolAbi, functionName: 'deposit', args: [eventId, units(20)] })
      const { receipt, minedAt } = await send(wallet, data)
      const made = receipt.logs.map(decodeLog).find((it) => it?.kind === 'position' || it?.kind === 'deposit')
      if (made?.kind !== 'position' && made?.kind !== 'deposit')
        throw new Error(`${receipt.transactionHash} created no position and no deposit`)
      return {
        ...{ list: `${made.kind}s`, id: made.id, hash: receipt.transactionHash },
        ...{ wallet: wallet.account.address, minedAt },
      }
    },
  }
}

export type Trader = Awaited<ReturnType<typeof createTrader>>
