import { type Hex, isHex } from 'viem'
import type { Chain } from '../../chain/chain.ts'
import { hashIn } from '../../chain/head/agreed.ts'
import { isTooLong } from '../../chain/rpc/errors.ts'
import { type Block, getBlock, getReceipt, type MinedAt } from '../../chain/rpc/requests.ts'
import type { Reached } from '../../db/changes/changes.ts'
import type { createLedgerTransactions } from '../../db/queries/ledger-transactions.ts'
import type { RefreshState } from '../../db/queries/refresh-state.ts'
import { isUnavailable, nullIfUnavailable, ServiceError, unavailable } from '../../lib/errors.ts'
import { max, min } from '../../lib/fixed.ts'
import { createTally } from '../../lib/tally.ts'
import type { ChainId } from '../../protocol/chains.ts'
import type { Changes } from '../cache/resources.ts'
import { createLongReceipts, type LongReceipts } from './long-receipts.ts'
import { createSharedPoll } from './shared-poll.ts'

/** The client of a request. */
export type Client = {
  /** The IP address that limits count by. */
  readonly address: string
  /** Aborts when the client disconnects, with the error `service_unavailable`. */
  readonly disconnected: AbortSignal
}

/**
 * A mined transaction as one endpoint reports it: its block, whether it reverted, and whether the poll's newest block is
 * known to be on the fork of that block and not below it.
 */
type FoundTransaction = {
  readonly block: bigint
  readonly blockHash: Hex
  readonly isReverted: boolean
  readonly isReached: boolean
}

/** The newest block that transactions are compared with: that of the index, or the head of the nodes. */
type Place = 'index' | 'head'

/** One poll's result: the newest indexed block, the head, and the mined ones of the requested transactions, by hash. */
export type ChainSnapshot = {
  readonly tip: Reached | undefined
  readonly head: Block | null
  readonly transactions: ReadonlyMap<string, FoundTransaction>
  /** The error when no node answered, else null. */
  readonly fault: unknown
}

/** One poll's result: the refresh state, the newest indexed block, and the newest change that this process knows. */
type QueueSnapshot = RefreshState & { readonly indexed: bigint | null; readonly knownChange: number }

/** How often nodes and the refresh queue are polled, in milliseconds. A commit wakes the waits earlier. */
const NODE_POLL_MS = 250
const QUEUE_POLL_MS = 100
/** How often the index is polled, in milliseconds. Commits wake the waits; this is for a commit that was missed. */
const TIP_POLL_MS = 500

/** How long the worker is asked to poll fast, in milliseconds. Each poll of a wait asks again. */
const ASK_MS = 500

/** Most transactions per chain in one batch to a node. */
const MAX_TRANSACTIONS = 50

/** When a client that exceeds its limit of waits should try again, in seconds. */
const RETRY_AFTER_SECONDS = 1

type Deps = {
  readonly chains: ReadonlyMap<ChainId, Chain>
  readonly changes: Changes
  /** Reads the state of a chain's refresh queue. */
  readonly refreshState: (chainId: ChainId) => Promise<RefreshState>
  /** Finds the transactions of a chain that the index has in the blocks of their receipts. */
  readonly ledgerTransactions: ReturnType<typeof createLedgerTransactions>
  /** Most concurrent waits of all clients, and of one client. */
  readonly max: number
  readonly maxPerClient: number
  /** Aborts when the process is about to stop. That ends every wait. */
  readonly draining: AbortSignal
}

/** The mined ones of some transactions, by hash. */
type Read = readonly (readonly [Hex, FoundTransaction])[]

type Nodes = Pick<Deps, 'ledgerTransactions'> & { readonly chain: Chain; readonly longReceipts: LongReceipts }

/**
 * Reads the mined ones of some transactions, and compares their blocks with `newest` unless it is null. Each batch goes
 * to one endpoint, so that its answers are of one fork.
 * Anyone can send a transaction whose receipt is too long for a batch, so the two halves of a batch without an answer
 * are requested separately, down to single transactions. A receipt that is too long is read for the next poll, so that
 * it does not delay the others.
 */
const readTransactions = async (
  nodes: Nodes,
  newest: Pick<Block, 'number' | 'hash'> | null,
  hashes: readonly Hex[],
): Promise<Read> => {
  if (hashes.length === 0) return []
  const { chain, longReceipts } = nodes
  const known = hashes.flatMap((hash) => {
    const receipt = longReceipts.known(chain, hash)
    return receipt === undefined ? [] : { hash, receipt }
  })
  const requested = hashes.filter((hash) => known.every((it) => it.hash !== hash))
  const batch = {
    newest: newest === null ? undefined : getBlock(newest.number),
    // A receipt that was read before may be of an orphaned block by now.
    blocks: newest === null ? [] : known.map(({ receipt }) => getBlock(receipt.blockNumber)),
    receipts: requested.map(getReceipt),
  }
  const isEmpty = newest === null && requested.length === 0
  const sending = isEmpty ? Promise.resolve({ newest: undefined, blocks: [], receipts: [] }) : chain.send(batch)
  const sent = await sending.catch((fault: unknown) => {
    const [hash, ...others] = hashes
    if (hash === undefined || others.length > 0) return nullIfUnavailable(fault)
    if (isTooLong(fault)) void longReceipts.read(chain, hash).catch(() => undefined)
    throw fault
  })
  if (sent === null) {
    const middle = Math.ceil(hashes.length / 2)
    const halves = [hashes.slice(0, middle), hashes.slice(middle)]
    const parts = await Promise.all(
      halves.map((half) => readTransactions(nodes, newest, half).catch(nullIfUnavailable)),
    )
    return parts.flatMap((part) => part ?? [])
  }
  const reached = newest !== null && hashIn(sent.newest) === newest.hash ? newest.number : -1n
  const foundAt = (hash: Hex, { blockNumber: block, blockHash, isReverted }: MinedAt, isThere: boolean): Read => [
    [hash, { block, blockHash, isReverted, isReached: isThere && block <= reached }],
  ]
  return [
    ...known.flatMap(({ hash, receipt }, at) => foundAt(hash, receipt, hashIn(sent.blocks[at]) === receipt.blockHash)),
    ...requested.flatMap((hash, at) => {
      const receipt = sent.receipts[at]
      return receipt?.ok && receipt.value !== null ? foundAt(hash, receipt.value, true) : []
    }),
  ]
}

const hashesOf = (read: Read): Hex[] => read.map(([hash]) => hash)

/** The hashes of transactions that were not read. */
const without = (read: Read, hashes: readonly Hex[]): Hex[] => hashes.filter((hash) => !hashesOf(read).includes(hash))

/** The newest block of an index; -1 before its first. */
const heightOf = (tip: Reached | undefined): bigint => tip?.block.number ?? -1n

/**
 * The oldest of some blocks that the index has not reached, for which the worker is asked: the newest one may be above
 * its head, and must not delay the others. Null when it has reached all.
 */
const oldestAbove = (tip: Reached | undefined, blocks: readonly bigint[]): bigint | null => {
  const ahead = blocks.filter((block) => block > heightOf(tip))
  return ahead.length === 0 ? null : ahead.reduce(min)
}

/**
 * What is known of transactions without asking the nodes: `before`, compared with the index, whose newest block is `tip`.
 */
const compareWithIndex = async (
  { chain, ledgerTransactions }: Nodes,
  tip: Reached | undefined,
  before: Read,
): Promise<Read> => {
  const isAhead = ({ block }: FoundTransaction): boolean => block > heightOf(tip)
  const placed = before.flatMap(([hash, found]) =>
    isAhead(found) ? [] : { hash, block: found.block, blockHash: found.blockHash },
  )
  const stored = await ledgerTransactions(chain.chainId, placed).catch(nullIfUnavailable)
  return before.flatMap(([hash, found]): Read => {
    const isReached = stored?.has(hash) === true
    // The others emitted no log, or moved.
    return isReached || isAhead(found) ? [[hash, { ...found, isReached }]] : []
  })
}

/** What a poll of transactions starts from: the newest indexed block, the head, and the mined ones of the last poll. */
type Start = { readonly tip: Reached | undefined; readonly head: Block; readonly before: ChainSnapshot['transactions'] }

/** Reads transactions, and compares their blocks with the index. Nodes are asked only for what the index cannot decide. */
const readAtIndex = async (nodes: Nodes, { tip, head, before }: Start, hashes: readonly Hex[]): Promise<Read> => {
  // The index may be ahead of the head that this process knows.
  const top = max(head.number, heightOf(tip))
  const seen = hashes.flatMap((hash): Read => {
    const found = before.get(hash)
    return found !== undefined && found.block <= top ? [[hash, found]] : []
  })
  const known = await compareWithIndex(nodes, tip, seen)
  const mined = await readTransactions(nodes, null, without(known, hashes))
  const placed = await compareWithIndex(nodes, tip, mined)
  // The index cannot distinguish a transaction without logs from one of another fork.
  const open = without(placed, hashesOf(mined))
  return [...known, ...placed, ...(await readTransactions(nodes, tip?.block ?? null, open))]
}

/** Reads the head and transactions of a chain. */
const readSnapshot = async (
  nodes: Nodes,
  { place, tip, before }: Omit<Start, 'head'> & { readonly place: Place },
  keys: readonly string[],
): Promise<ChainSnapshot> => {
  const hashes = keys.filter((key): key is Hex => isHex(key))
  const { chain } = nodes
  try {
    const head = await chain.head()
    // The worker stores heads more often while a client waits for one.
    if (keys.some((key) => !isHex(key) && BigInt(key) > head.number)) chain.ask(null, ASK_MS)
    const found = await (place === 'index'
      ? readAtIndex(nodes, { tip, head, before }, hashes)
      : readTransactions(nodes, head, hashes))
    const last = found.map(([, { block }]) => block).reduce(max, -1n)
    const unreached = found.flatMap(([, { block, isReached }]) => (isReached ? [] : block))
    if (unreached.length > 0) chain.ask(oldestAbove(tip, unreached), ASK_MS)
    if (place === 'index' || last <= head.number) return { tip, head, transactions: new Map(found), fault: null }
    // A transaction is in a block above the head that this process knew.
    const next = await chain.head(last)
    const again = await readTransactions(nodes, next, hashes)
    return { tip, head: next, transactions: new Map(again), fault: null }
  } catch (fault) {
    if (!isUnavailable(fault)) throw fault
    return { tip, head: null, transactions: new Map(), fault }
  }
}

/** The shared polls of a chain's waits: its nodes, its index, and its refresh queue. */
const pollsOf = ({ changes, refreshState }: Pick<Deps, 'changes' | 'refreshState'>, nodes: Nodes) => {
  const { chainId } = nodes.chain
  const tipOf = (): Reached | undefined => changes.reached(chainId)
  const transactionsAt = (place: Place) => {
    let before: ChainSnapshot['transactions'] = new Map()
    return createSharedPoll({
      everyMs: NODE_POLL_MS,
      atOnce: MAX_TRANSACTIONS,
      async read(keys) {
        const snapshot = await readSnapshot(nodes, { place, tip: tipOf(), before }, keys)
        before = snapshot.transactions
        return snapshot
      },
    })
  }
  return {
    /** Until the index, or the head, has reached transactions, or the head a block. The keys are hashes and numbers. */
    index: transactionsAt('index'),
    head: transactionsAt('head'),
    /** The keys are the numbers of the blocks that are waited for. */
    tips: createSharedPoll({
      everyMs: TIP_POLL_MS,
      atOnce: MAX_TRANSACTIONS,
      async read(keys) {
        const tip = tipOf()
        const oldest = oldestAbove(tip, keys.map(BigInt))
        if (oldest !== null) nodes.chain.ask(oldest, ASK_MS)
        return tip
      },
    }),
    refreshRequests: createSharedPoll({
      everyMs: QUEUE_POLL_MS,
      atOnce: 1,
      read: async (): Promise<QueueSnapshot> => {
        const state = await refreshState(chainId)
        return { ...state, indexed: tipOf()?.block.number ?? null, knownChange: changes.position() }
      },
    }),
  }
}

export type Polls = ReturnType<typeof pollsOf>

/**
 * Creates the waits for blocks and transactions. The waits of a chain share their polls: each transaction is requested
 * once in a poll, and nothing is polled while there are no waits.
 */
export const createWaits = (deps: Deps) => {
  const { chains, changes, ledgerTransactions, max, maxPerClient, draining } = deps
  const open = new Set<AbortController>()
  /** The number of open waits by client address. */
  const openByClient = createTally<string>()
  let refused = 0

  const longReceipts = createLongReceipts()
  const polls = new Map(
    [...chains].map(([chainId, chain]) => [chainId, pollsOf(deps, { chain, longReceipts, ledgerTransactions })]),
  )
  /** The blocks that were last known of each chain. Only other ones cause requests to its nodes. */
  const blocks = new Map<ChainId, string>()
  const stop = changes.onCommit(() => {
    for (const [chainId, { index, head, tips, refreshRequests }] of polls) {
      const now = `${changes.reached(chainId)?.block.hash} ${changes.storedHead(chainId)?.block.hash}`
      if (blocks.get(chainId) !== now) {
        blocks.set(chainId, now)
        index.wake()
        head.wake()
      }
      tips.wake()
      refreshRequests.wake()
    }
  })

  const refuse = (error: ServiceError): never => {
    refused += 1
    throw error
  }

  const onDrain = (): void => {
    for (const wait of open) wait.abort(unavailable('this process is about to stop: try again'))
  }
  draining.addEventListener('abort', onDrain, { once: true })

  return {
    chains,
    changes,
    longReceipts,
    ledgerTransactions,
    /** The number of open waits, and of requests rejected because of too many waits. */
    counts: () => ({ open: open.size, refused }),
    /**
     * Runs `wait` with the polls of a chain and a signal that aborts when the client disconnects or the process is
     * about to stop. Throws `service_unavailable` then and at `max` waits, and `rate_limited` at `maxPerClient` of the
     * client.
     */
    async during<T>(
      chainId: ChainId,
      { address, disconnected }: Client,
      wait: (polls: Polls, signal: AbortSignal) => Promise<T>,
    ) {
      const chainPolls = polls.get(chainId)
      if (chainPolls === undefined) throw unavailable(`chain ${chainId} is not configured`)
      const openOfClient = openByClient.of(address)
      if (open.size >= max) refuse(unavailable(`limit of ${max} waiting requests reached: try again later`))
      if (openOfClient >= maxPerClient) {
        const message = `limit of ${maxPerClient} waiting requests of your address reached: try again when they are answered`
        refuse(new ServiceError('rate_limited', message, { retryAfter: RETRY_AFTER_SECONDS }))
      }
      const controller = new AbortController()
      const onDisconnect = (): void => controller.abort(unavailable('the client disconnected'))
      open.add(controller)
      openByClient.add(address, 1)
      if (disconnected.aborted) onDisconnect()
      if (draining.aborted) onDrain()
      disconnected.addEventListener('abort', onDisconnect, { once: true })
      try {
        return await wait(chainPolls, controller.signal)
      } finally {
        disconnected.removeEventListener('abort', onDisconnect)
        open.delete(controller)
        openByClient.add(address, -1)
      }
    },
    close: stop,
  }
}

export type Waits = ReturnType<typeof createWaits>
