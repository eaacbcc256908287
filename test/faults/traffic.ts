import { setTimeout as sleep } from 'node:timers/promises'
import { encodeFunctionData, type Hex, maxUint256, zeroHash } from 'viem'
import { z } from 'zod'
import { erc20Abi } from '../../src/abi/erc20.generated.ts'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import type { SandboxChain } from '../../src/sandbox/chain.ts'
import { createAccounts } from '../../src/sandbox/story/accounts.ts'
import { createRandom } from '../../src/sandbox/story/random.ts'
import { createRpc, hex } from './rpc.ts'
import { createTurns } from './turns.ts'

const USDC = 10n ** 6n

/**
 * One transaction in this many creates an event. The others use the newest event, so that no pool reaches its limits.
 */
const PER_EVENT = 25

const GAS = 2_000_000

/** Seconds until an event expires that is settled at once. */
const SHORT_TERM = 30

/** Ten tokens: the smallest amount that every deployment accepts. */
const LEAST = 10_000_000

type Call = { readonly from: Hex; readonly to: Hex; readonly data: Hex }

/** Blocks after which anvil reports a block as final: two epochs of 32 slots, and some more. */
const FINAL_AFTER = 70

/** Blocks that a node mines in one request. */
const PER_STRIDE = 100

/**
 * Seeded traffic on a chain that only this function mines: events, deposits and positions, and reorgs that reuse ids
 * for other entities. The node signs for its own accounts. While anvil mines, calls at the newest block may already see
 * the state of the next one. Other nodes do not do that, so callers and the miner take `turns`.
 *
 * @example
 * const traffic = await createTraffic({ chain, seed: 7 })
 * const replace = await traffic.fork()
 * await traffic.mine(3)
 * await replace()
 */
export const createTraffic = async ({ chain, seed }: { readonly chain: SandboxChain; readonly seed: number }) => {
  const node = createRpc(chain.rpcUrl)
  const turns = createTurns()
  const accounts = createAccounts()
  const wallets = [...accounts.users, ...accounts.extras].map(({ account }) => account.address)
  const [token] = chain.tokens
  if (token === undefined) throw new Error('the chain has no payment token')
  const { diamond } = chain
  let random = createRandom(seed)
  const minedAt = new Map<number, number>()

  const submit = async (calls: readonly Call[]): Promise<void> => {
    const answers = await node.batch(
      calls.map((call) => ({ method: 'eth_sendTransaction', params: [{ ...call, gas: hex(GAS) }] })),
    )
    for (const { error } of answers) if (error !== undefined) throw new Error(error.message)
  }

  const total = async (): Promise<bigint> => {
    const data = encodeFunctionData({ abi: protocolAbi, functionName: 'getTotalHedgeEvents' })
    return BigInt(String(await node.send('eth_call', [{ to: diamond, data }, 'latest'])))
  }

  /** A new event, and its opening where pools begin closed. Both are from one wallet, so the node keeps their order. */
  const newEvent = (next: bigint, expiryDate?: bigint): Call[] => {
    const from = random.pick(wallets)
    const open = encodeFunctionData({ abi: protocolAbi, functionName: 'setPoolSettings', args: [next, true, true] })
    return [
      { from, to: diamond, data: creation(expiryDate) },
      { from, to: diamond, data: open },
    ]
  }

  const creation = (expiryDate = BigInt(Math.floor(Date.now() / 1000) + random.int(20, 300) * 86_400)): Hex => {
    const initialRate = BigInt(random.int(1_000_000, 90_000_000))
    const params = {
      name: `Event ${random.int(0, 1_000_000)}`,
      underlying: random.pick(['USD/GHS', 'USD/NGN', 'USD/KES']),
      strike: initialRate + 1_000_000n,
      payoutCap: initialRate + 3_000_000n,
      premiumRate: BigInt(random.int(1_000, 50_000)),
      expiryDate,
      allowExternalLp: true,
      initialLiquidity: BigInt(random.int(10_000, 99_999)) * USDC,
      initialRate,
      strikeAbove: true,
      paymentToken: token.address,
      signature: '0x',
      quoteTimestamp: 0n,
      quoteNonce: zeroHash,
    } as const
    return encodeFunctionData({ abi: protocolAbi, functionName: 'createEvent', args: [params] })
  }

  const deposit = (event: bigint): Hex =>
    encodeFunctionData({
      abi: protocolAbi,
      functionName: 'deposit',
      args: [event, BigInt(random.int(LEAST, 900_000_000))],
    })

  const purchase = (event: bigint): Hex =>
    encodeFunctionData({
      abi: protocolAbi,
      functionName: 'buyProtection',
      args: [event, BigInt(random.int(LEAST, 900_000_000)), maxUint256, maxUint256],
    })

  const fromAny = (data: Hex): Call => ({ from: random.pick(wallets), to: diamond, data })

  /** A deposit into the newest event or a purchase of its protection. */
  const act = (event: bigint): Call[] => [fromAny(random.int(0, 1) === 0 ? deposit(event) : purchase(event))]

  /** Mines one block with `count` transactions, and a deposit into `event` if there is one; returns its height. */
  const mine = async (count = 0, event?: bigint): Promise<number> => {
    if (count > 0) {
      let events = await total()
      const calls = Array.from({ length: count }, () => {
        if (events > 0n && random.int(1, PER_EVENT) > 1) return act(events)
        events += 1n
        return newEvent(events)
      })
      await submit(calls.flat())
    }
    if (event !== undefined) await submit([fromAny(deposit(event))])
    await turns.mine(() => node.send('evm_mine'))
    const at = Date.now()
    const head = await node.blockNumber()
    minedAt.set(head, at)
    return head
  }

  /** Mines a block with a new event and returns its id. Later traffic uses a newer event. */
  const createEvent = async (expiryDate?: bigint): Promise<bigint> => {
    for (const expiry of [expiryDate, undefined]) {
      await submit(newEvent((await total()) + 1n, expiry))
      await mine()
    }
    return (await total()) - 1n
  }

  /** Mines an event with a hedger, its short term and its settlement at a random price. Returns its block. */
  const settle = async (): Promise<number> => {
    await mine()
    const { timestamp } = z
      .object({ timestamp: z.string() })
      .parse(await node.send('eth_getBlockByNumber', ['latest', false]))
    const event = await createEvent(BigInt(timestamp) + BigInt(SHORT_TERM))
    await submit([fromAny(purchase(event))])
    await mine()
    await node.send('evm_increaseTime', [SHORT_TERM])
    await mine()
    const args = [event, BigInt(random.int(1_000_000, 94_000_000))] as const
    const data = encodeFunctionData({ abi: protocolAbi, functionName: 'settleEvent', args })
    await submit([{ from: accounts.owner.account.address, to: diamond, data }])
    return mine()
  }

  /** Mines a block every `everyMs` until the signal aborts, with about `perSecond` transactions a second. */
  const run = async (options: { everyMs: number; perSecond: number; signal: AbortSignal }): Promise<void> => {
    let due = performance.now()
    let owed = 0
    while (!options.signal.aborted) {
      due += options.everyMs
      owed += (options.perSecond * options.everyMs) / 1000
      const count = random.int(0, Math.floor(owed * 2))
      owed = Math.max(0, owed - count)
      await mine(count)
      await sleep(Math.max(0, due - performance.now()))
    }
  }

  /** Mines empty blocks. Each is a turn of its own: a node that mines many at once answers no call for seconds. */
  const mineEmpty = async (blocks: number): Promise<void> => {
    for (let at = 0; at < blocks; at += 1) await turns.mine(() => node.send('evm_mine'))
  }

  /** Mines many blocks at once, with transactions only in the first of every `PER_STRIDE`; returns the height. */
  const mineMany = async (blocks: number): Promise<number> => {
    let head = 0
    for (let left = blocks; left > 0; left -= PER_STRIDE) {
      head = await mine(2)
      const empty = Math.min(left, PER_STRIDE) - 1
      if (empty > 0) await turns.mine(() => node.send('anvil_mine', [hex(empty)]))
      head += empty
    }
    return head
  }

  /**
   * Remembers the newest block. The returned function replaces the blocks after it with one block more, about half of
   * them with other transactions, and returns the new height. It is slow, so hold the proxy meanwhile. It restores a
   * snapshot, because anvil's own rollback finds states empty that it moved to disk.
   */
  const fork = async (): Promise<(grow?: (blocks: number) => Promise<number>) => Promise<number>> => {
    const ancestor = await node.blockNumber()
    const snapshot = await node.send('evm_snapshot')
    const byOnes = async (blocks: number): Promise<number> => {
      // The first must differ, or it would be the same block again.
      let head = await mine(2)
      for (let at = 1; at < blocks; at += 1) head = await mine(random.int(0, 1) * random.int(1, 3))
      return head
    }
    return async (grow = byOnes) => {
      const depth = (await node.blockNumber()) - ancestor
      await turns.mine(() => node.send('evm_revert', [snapshot]))
      await grow(depth)
      return mine(2)
    }
  }

  await node.send('evm_setBlockGasLimit', [hex(1_000_000_000)])
  const prepare = wallets.flatMap((from) => [
    {
      from,
      to: token.address,
      data: encodeFunctionData({ abi: erc20Abi, functionName: 'mint', args: [from, 10n ** 12n * USDC] }),
    },
    {
      from,
      to: token.address,
      data: encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [diamond, maxUint256] }),
    },
  ])
  await node.send('evm_setAutomine', [false])
  await submit(prepare)
  await node.send('evm_mine')

  return {
    node,
    turns,
    wallets,
    mine,
    mineEmpty,
    mineMany,
    createEvent,
    settle,
    /** Makes every block so far final. */
    makeFinal: () => mineEmpty(FINAL_AFTER),
    run,
    fork,
    /** When a block with transactions was mined, in Unix milliseconds. */
    minedAt: (block: number): number => minedAt.get(block) ?? 0,
    /** Brings the chain's clock to the present; blocks a second apart keep it there. */
    async toPresent(): Promise<void> {
      await node.send('evm_setNextBlockTimestamp', [Math.floor(Date.now() / 1000)])
      await mine()
    },
    /** Continues as the traffic of another seed. */
    reseed(next: number): void {
      random = createRandom(next)
    },
  }
}

export type Traffic = Awaited<ReturnType<typeof createTraffic>>
