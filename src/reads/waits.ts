import { setMaxListeners } from 'node:events'
import { type Hex, isHex } from 'viem'
import type { Chain } from '../chain/chain.ts'
import { type Block, getBlock, getReceipt } from '../chain/requests.ts'
import type { Reached } from '../db/changes.ts'
import { isUnavailable, ServiceError, unavailable } from '../lib/errors.ts'
import { createSharedPoll, type SharedPoll } from '../lib/shared-poll.ts'
import type { ChainId } from '../protocol/chains.ts'
import type { Sources } from './read.ts'

/** Whose request waits. */
export type Waiter = {
  /** The address that limits count. */
  readonly client: string
  /** Aborts when the client is gone. */
  readonly gone: AbortSignal
}

/** A transaction by one endpoint: its block, and whether that is on the fork of the index and of the head. */
type Found = { readonly block: bigint; readonly isOnIndex: boolean; readonly isOnHead: boolean }

/** What a round saw of a chain: the index's newest block and, of those that were asked for, the head and the transactions. */
export type Sight = {
  readonly tip: Reached | undefined
  readonly head: Block | null
  readonly found: ReadonlyMap<string, Found>
  /** Why the nodes did not answer. */
  readonly fault: unknown
}

/** Refresh requests of a chain: the newest, and the oldest that waits. */
export type Notes = { readonly newest: bigint | null; readonly oldest: bigint | null }

/** The key of what asks for no transaction. */
export const HEAD = 'head'

/** How often nodes and database are asked, in milliseconds; a commit wakes those who wait for the index earlier. */
const ASK_EVERY_MS = 100
/** A commit is noticed without being polled for; this is for one that was missed. */
const TIP_EVERY_MS = 500

/** Transactions asked for at once, of each chain: no more than so many travel at a time. */
const AT_ONCE = 50

/** A height that no chain has: no head that is known is high enough, so it is asked for again. */
const NEVER_REACHED = 2n ** 63n

/** Seconds after which a client that may not wait should come back. */
const RETRY_AFTER = 1

type Deps = Pick<Sources, 'chains' | 'changes' | 'queries'> & {
  /** Waits at once, of all clients and of one. */
  readonly max: number
  readonly maxPerClient: number
  /** Aborts when the process is about to stop, which ends every wait. */
  readonly draining: AbortSignal
}

/** Asks a chain for its head and for transactions; each batch goes to one endpoint, so that its answers are of one fork. */
const lookAt = async (chain: Chain, tip: Reached | undefined, keys: readonly string[]): Promise<Sight> => {
  const hashes = keys.filter((key): key is Hex => isHex(key))
  try {
    const head = await chain.head(NEVER_REACHED)
    if (hashes.length === 0) return { tip, head, found: new Map(), fault: null }
    const [own, top, ...receipts] = await chain.send([
      getBlock(tip?.block.number ?? 0n),
      getBlock(head.number),
      ...hashes.map(getReceipt),
    ])
    const knows = (outcome: typeof own, block: Pick<Block, 'hash'> | undefined): boolean =>
      outcome?.ok === true && block !== undefined && outcome.value?.hash === block.hash
    const found = new Map<string, Found>()
    for (const [at, hash] of hashes.entries()) {
      const receipt = receipts[at]
      if (receipt?.ok !== true || receipt.value === null) continue
      const block = receipt.value.blockNumber
      const isOnIndex = knows(own, tip?.block) && block <= (tip?.block.number ?? -1n)
      found.set(hash, { block, isOnIndex, isOnHead: knows(top, head) && block <= head.number })
    }
    return { tip, head, found, fault: null }
  } catch (fault) {
    if (!isUnavailable(fault)) throw fault
    return { tip, head: null, found: new Map(), fault }
  }
}

/**
 * The waits for blocks and transactions. However many there are, a chain's nodes are asked for one transaction once a round, the database once
 * for all of a chain, and neither while there are no waits.
 */
export const createWaits = (deps: Deps) => {
  const { chains, changes, queries, max, maxPerClient, draining } = deps
  const own = new Map<string, number>()
  let open = 0
  let refused = 0
  // As many as there are waits.
  setMaxListeners(0, draining)

  const pollsOf = (chain: Chain) => {
    const { chainId } = chain
    const tipOf = (): Reached | undefined => changes.reached(chainId)
    return {
      nodes: createSharedPoll<Sight>({
        everyMs: ASK_EVERY_MS,
        atOnce: AT_ONCE,
        look: (keys) => lookAt(chain, tipOf(), keys),
      }),
      tips: createSharedPoll<Reached | undefined>({ everyMs: TIP_EVERY_MS, atOnce: 1, look: async () => tipOf() }),
      notes: createSharedPoll<Notes>({
        everyMs: ASK_EVERY_MS,
        atOnce: 1,
        look: async () => {
          const newest = await queries.newestNote(chainId)
          return { newest, oldest: newest === null ? null : await queries.oldestNote(chainId) }
        },
      }),
    }
  }
  const polls = new Map([...chains].map(([chainId, chain]) => [chainId, pollsOf(chain)]))
  const stop = changes.onCommit(() => {
    for (const { tips, notes } of polls.values()) {
      tips.wake()
      notes.wake()
    }
  })

  const refuse = (error: ServiceError): never => {
    refused += 1
    throw error
  }

  /** Takes a place among the waits; gives what leaves it. */
  const enter = (client: string): (() => void) => {
    const mine = own.get(client) ?? 0
    if (open >= max)
      refuse(
        unavailable(`${max} requests wait for a block, which is the limit: try again later`, undefined, RETRY_AFTER),
      )
    if (mine >= maxPerClient) {
      const message = `${maxPerClient} requests of your address wait for a block, which is the limit: try again when they are answered`
      refuse(new ServiceError('rate_limited', message, { retryAfter: RETRY_AFTER }))
    }
    open += 1
    own.set(client, mine + 1)
    return () => {
      open -= 1
      const left = (own.get(client) ?? 0) - 1
      if (left > 0) own.set(client, left)
      else own.delete(client)
    }
  }

  return {
    chains,
    changes,
    /** Waits that are open, and requests that were refused because there were too many. */
    tally: () => ({ open, refused }),
    /**
     * Runs `wait` with the polls of a chain and a signal that ends it when the client leaves or the process is about to stop. Throws
     * `service_unavailable` when too many wait, or it is ended, and `rate_limited` when too many of the client do.
     */
    async during<T>(
      chainId: ChainId,
      { client, gone }: Waiter,
      wait: (polls: Polls, signal: AbortSignal) => Promise<T>,
    ) {
      const of = polls.get(chainId)
      if (of === undefined) throw unavailable(`chain ${chainId} is not configured`)
      const leave = enter(client)
      const over = new AbortController()
      const onGone = (): void => over.abort(unavailable('the client left'))
      const onDrain = (): void => over.abort(unavailable('this process is about to stop: try again'))
      if (gone.aborted) onGone()
      if (draining.aborted) onDrain()
      gone.addEventListener('abort', onGone, { once: true })
      draining.addEventListener('abort', onDrain, { once: true })
      try {
        return await wait(of, over.signal)
      } finally {
        gone.removeEventListener('abort', onGone)
        draining.removeEventListener('abort', onDrain)
        leave()
      }
    },
    close: stop,
  }
}

export type Polls = {
  readonly nodes: SharedPoll<Sight>
  readonly tips: SharedPoll<Reached | undefined>
  readonly notes: SharedPoll<Notes>
}

export type Waits = ReturnType<typeof createWaits>
