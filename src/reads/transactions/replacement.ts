import { LRUCache } from 'lru-cache'
import type { Address, Hex } from 'viem'
import type { Chain } from '../../chain/chain.ts'
import { type Block, getBlock } from '../../chain/rpc/requests.ts'
import { getBlockTransactions, getNonce } from '../../chain/rpc/transactions.ts'
import type { Outcome } from '../../chain/rpc/transport.ts'
import { createConcurrencyLimit } from '../../lib/concurrency-limit.ts'
import { isUnavailable, unavailable } from '../../lib/errors.ts'
import { createSingleFlight } from '../../lib/single-flight.ts'
import type { ChainId } from '../../protocol/chains.ts'

/** A height above every block. Asking for a head that high asks the nodes. */
const UNREACHABLE_HEIGHT = 2n ** 63n

/** The sender and the nonce of a transaction. Only one transaction with both can be mined. */
export type Sender = { readonly from: Address; readonly nonce: bigint }

/** Transactions of which the sender is kept. */
const KEPT = 20_000

/**
 * Creates the memory of the senders of transactions that this process has seen. Nodes forget a transaction once another
 * one replaces it, also when a reorg has removed its block.
 */
export const createSenders = () => {
  const senders = new LRUCache<string, Sender>({ max: KEPT })
  const keyOf = (chainId: ChainId, hash: Hex): string => `${chainId} ${hash}`
  return {
    keep: (chainId: ChainId, hash: Hex, { from, nonce }: Sender): void =>
      void senders.set(keyOf(chainId, hash), { from, nonce }),
    get: (chainId: ChainId, hash: Hex): Sender | undefined => senders.get(keyOf(chainId, hash)),
  }
}

export type Senders = ReturnType<typeof createSenders>

/** Whether the newest block, or an earlier one, has a transaction with this sender and nonce. */
export const isNonceUsed = async (chain: Chain, { from, nonce }: Sender, signal: AbortSignal): Promise<boolean> => {
  const { count } = await chain.send({ count: getNonce(from, 'latest') }, { signal })
  return count.ok && count.value > nonce
}

/** How far back a replacement is looked for, and how many blocks are asked about in one batch. */
const BLOCKS = 4_096n
const PER_BATCH = 15n

/** Whether a node no longer has the state of a block. Another error is not about the block. */
const isStateGone = (count: Outcome<bigint>): boolean => !count.ok && count.error.fault.kind === 'missing'

/** The block in which a nonce was used, and the transaction that used it; null when it is not known. */
type Used = { readonly block: Pick<Block, 'number' | 'hash'>; readonly by: Hex | null }

/**
 * Finds the transaction that was mined with a sender and nonce, in one of the newest blocks. It is not known when it is
 * older, or when no node has the state of those blocks any more. Undefined when it is in a block after the known head,
 * or when the nodes do not return what shows it.
 */
const minedWith = async (chain: Chain, { from, nonce }: Sender): Promise<Used | undefined> => {
  // The nodes may be ahead of the known head.
  const head = await chain.head(UNREACHABLE_HEIGHT)
  const { count: newest } = await chain.send({ count: getNonce(from, head.number) })
  if (!newest.ok || newest.value <= nonce) return undefined
  // The nonce was used after block `before`, up to block `by`.
  let by = head.number
  let before = by > BLOCKS ? by - BLOCKS : -1n
  while (by - before > 1n) {
    const step = (by - before) / (PER_BATCH + 1n) || 1n
    const numbers: bigint[] = []
    for (let number = before + step; number < by && numbers.length < PER_BATCH; number += step) numbers.push(number)
    const { counts } = await chain.send({ counts: numbers.map((number) => getNonce(from, number)) })
    if (counts.some((count) => !count.ok && !isStateGone(count))) return undefined
    const used = counts.findIndex((count) => count.ok && count.value > nonce)
    // Blocks whose state is gone are older than those whose state is known.
    const last = used === -1 ? numbers.at(-1) : numbers[used - 1]
    by = numbers[used] ?? by
    before = last ?? before
  }
  const { block } = await chain.send({ block: getBlockTransactions(by) })
  if (!block.ok || block.value === null) return undefined
  const sender = from.toLowerCase()
  const { hash, transactions } = block.value
  const found = transactions.find((it) => it.from.toLowerCase() === sender && it.nonce === nonce)
  return { block: { number: by, hash }, by: found?.hash ?? null }
}

/** Whether the chain still has a block. */
const isOnChain = async (chain: Chain, { number, hash }: Used['block']): Promise<boolean> => {
  const { block } = await chain.send({ block: getBlock(number) })
  return block.ok && block.value?.hash === hash
}

/** Replacements that are kept, and for how long one that is not known, in milliseconds: nodes may be late. */
const FOUND = { max: 1_000 }
const NOT_FOUND_MS = 5_000

/** Most replacements that are looked for at the same time, and most that wait. */
const LIMITS = { atOnce: 4, waiting: 64 }

/**
 * Finds the transactions that were mined with a sender and nonce, each once for as long as the chain has its block.
 * `now` is a monotonic clock in milliseconds.
 */
export const createReplacements = (now = () => performance.now()) => {
  const found = new LRUCache<string, Used>({ ...FOUND, ttlResolution: 0, perf: { now } })
  const once = createSingleFlight<Hex | null | undefined>()
  const limited = createConcurrencyLimit({
    ...LIMITS,
    refuse: () => unavailable('too many replaced transactions are looked for at once: retry after 1 s'),
  })

  /** Null when it is not known, undefined when it is too early to know; see `minedWith`. */
  return async (chain: Chain, sender: Sender): Promise<Hex | null | undefined> => {
    const key = `${chain.chainId} ${sender.from} ${sender.nonce}`
    return once(key, async () => {
      try {
        const known = found.get(key)
        // A reorg may have removed the block.
        if (known !== undefined && (await isOnChain(chain, known.block))) return known.by
        const used = await limited(() => minedWith(chain, sender))
        if (used !== undefined) found.set(key, used, used.by === null ? { ttl: NOT_FOUND_MS } : {})
        return used?.by
      } catch (fault) {
        // The transaction itself may have used the nonce, so nothing is known.
        if (isUnavailable(fault)) return undefined
        throw fault
      }
    })
  }
}
