import type { Address, Hex } from 'viem'
import { type ConcurrencyLimit, createConcurrencyLimit } from '../lib/concurrency-limit.ts'
import { unavailable } from '../lib/errors.ts'
import type { ChainId, Deployment } from '../protocol/chains.ts'
import { type BalanceSlots, createBalanceSlots } from './balance-slots.ts'
import { type Held, type Holdings, readBalances } from './balances.ts'
import { broadcast, type SignedTx } from './broadcast.ts'
import type { ChainStatus } from './endpoints/status.ts'
import { createKnownCode, FOREIGN_GAS, type KnownCode, MAX_GAS } from './foreign-code.ts'
import type { Head } from './head/head.ts'
import { fetchLogs, type LogRange } from './logs.ts'
import { type Leader, type NodesOptions, openNodes } from './nodes.ts'
import type { Node } from './pool/failover.ts'
import { queryAllEndpoints } from './pool/query-all.ts'
import { createReader, type Reader } from './read.ts'
import type { Batch, EndpointAnswer } from './rpc/batch.ts'
import { isMissingBlock } from './rpc/errors.ts'
import type { Block } from './rpc/requests.ts'
import { type Simulation, simulate } from './simulate.ts'
import { type SignedCall, type SimulatedCall, simulateSigned } from './simulate-signed.ts'
import { createSimulator, type Simulator } from './simulator.ts'

/** Who asks for work: callers take turns, and work for one that has left is not started. */
type Caller = { readonly address: string; readonly disconnected: AbortSignal }

/** A limit for one caller. A task may have a signal of its own, such as a time limit. */
const ofCaller =
  (limited: ConcurrencyLimit, caller: Caller | undefined): ConcurrencyLimit =>
  (run, signal) => {
    const signals = [signal, caller?.disconnected].flatMap((it) => it ?? [])
    return limited(run, signals.length > 1 ? AbortSignal.any(signals) : signals[0], caller?.address)
  }

/** One chain: its nodes and the protocol on it. */
export type Chain = Node &
  Reader &
  Simulator &
  BalanceSlots &
  KnownCode & {
    readonly chainId: ChainId
    readonly deployment: Deployment
    /** The time-out of a node, in milliseconds. */
    readonly timeoutMs: number
    /**
     * The block that reads are pinned to now. The nodes are asked for it when the known one is below `atLeast`; see
     * `Head.latest`.
     */
    head(atLeast?: bigint): Promise<Block>
    /** Sends a batch and asks for the newest block with it; see `Head.poll`. */
    readonly poll: Head['poll']
    /** Discards a polled head that no node has; see `Head.drop`. */
    readonly dropHead: Head['drop']
    /** Asks the worker that follows the chain for news; see `Leader.ask`. */
    readonly ask: Leader['ask']
    /**
     * Runs `read` at the pinned head, and once more at a new head when no node has that block any more, as after a
     * reorg between the two requests. Throws what `read` throws.
     */
    pinned<T>(read: (block: Block) => Promise<T>, options?: { readonly isFresh?: boolean }): Promise<T>
    /**
     * The protocol's logs from block `from` on, for as many blocks as the endpoint serves in one request; see
     * `fetchLogs`.
     */
    logs(span: Parameters<typeof fetchLogs>[1]): Promise<LogRange>
    /**
     * Runs work that sends requests which run foreign code. They have a budget of their own, so that they do not keep
     * out others. Callers take turns. Throws `service_unavailable` when too much such work waits, and the reason of
     * `disconnected` when it aborts before the work starts.
     */
    runForeign<T>(run: () => Promise<T>, caller?: Caller): Promise<T>
    /**
     * Runs work that executes a mined transaction again, with a budget of its own, as above. One such request may keep
     * a node busy for seconds.
     */
    runReplay<T>(run: () => Promise<T>, client: string): Promise<T>
    /** Simulates a call at the newest block, within two seconds; never throws for a node. Callers take turns. */
    simulate(
      tx: { readonly from: Address; readonly to: Address; readonly data: Hex },
      caller?: Caller,
    ): Promise<Simulation>
    /** Simulates a signed call; see `simulateSigned`. Callers take turns. */
    simulateSigned(call: SignedCall, caller?: Caller): Promise<SimulatedCall | null>
    /**
     * Reads what wallets have; see `readBalances`. Callers take turns. Also throws `service_unavailable` when too many
     * such reads wait, and the reason of `disconnected` when it aborts before the read starts.
     */
    balances(block: Pick<Block, 'hash'>, holdings: readonly Holdings[], caller: Caller): Promise<readonly Held[]>
    /**
     * Relays a signed transaction; see `broadcast`. Callers take turns. Also throws `service_unavailable` when too many
     * broadcasts wait, and the reason of `disconnected` when it aborts before they are sent.
     */
    broadcast(signed: SignedTx, caller?: Caller): Promise<void>
    /**
     * The answers of all endpoints to one batch, for decisions that a single endpoint must not make; see
     * `queryAllEndpoints`.
     */
    queryAllEndpoints<const B extends Batch>(batch: B): Promise<readonly EndpointAnswer<B>[]>
    /**
     * Ranks an endpoint that contradicts others or itself last: for 5 seconds, and for twice as long each further time,
     * up to 10 minutes. `endpoint` is the index that `sendBy`, `queryAllEndpoints` and `logs` return; `why` is for
     * operators.
     */
    penalize(endpoint: number, why: string): void
    /** The same for one that left logs out: it ranks below those that did not and above those that lag. */
    reportMissingLogs(endpoint: number, why: string): void
    /** The smallest log width among the endpoints that serve logs; null when none serves them. */
    logWidth(): bigint | null
    /** The state of the chain's endpoints; sends no request. */
    status(): ChainStatus
    /** Reads outdated heights of endpoints again, within a second. */
    refresh(): Promise<void>
    close(): Promise<void>
  }

export type { Leader } from './nodes.ts'

export type ChainOptions = Omit<NodesOptions, 'chainId' | 'leader'> & {
  readonly deployment: Deployment
  readonly leader?: Leader | undefined
  /** The most cached answers, for which memory is reserved; 20,000 unless given. */
  readonly maxAnswers?: number
}

/**
 * The most concurrent simulations, and the most that wait for their turn; the same for broadcasts. Each takes a
 * connection, and together they leave half of the 32 connections of a node to reads.
 */
const LIMITS = { atOnce: 8, waiting: 64 }

/**
 * The most concurrent work that runs foreign code, and the most that waits. Each keeps a node busy for some
 * milliseconds at most (`FOREIGN_GAS`), and one that hangs ends after three seconds.
 */
const FOREIGN = { atOnce: 4, waiting: 32 }

/** The most transactions that are executed again at the same time, and the most that wait. */
const REPLAYS = { atOnce: 1, waiting: 16 }

/**
 * The most concurrent reads of balances, and the most that wait: each keeps a node busy for longer than other reads do,
 * many clients may ask at once, and the answers are not cached.
 */
const BALANCES = { atOnce: 2, waiting: 1_000 }

/** How long the news of a transaction that was sent are waited for, in milliseconds: it is mined within a block or two. */
const SENT_MS = 3_000

/** Cached answers of each chain. */
const CACHE = { maxAnswers: 20_000, maxBytes: 32 * 2 ** 20 }

/**
 * Opens a chain without sending a request.
 *
 * @example
 * const base = createChain({ deployment, rpcUrls, timeoutMs: 3_000, headMaxAgeMs: 5_000, log })
 * const [total] = await base.pinned((block) => base.readAt(block, [call('getTotalHedgeEvents')]))
 */
export const createChain = (options: ChainOptions): Chain => {
  const { deployment, maxAnswers: maxEntries = CACHE.maxAnswers, ...rest } = options
  const { chainId } = deployment
  const { registry, node, head } = openNodes({ chainId, ...rest })
  const limitOf = (work: string, limits: Partial<typeof LIMITS> = {}) =>
    createConcurrencyLimit({
      ...LIMITS,
      ...limits,
      refuse: () => unavailable(`too many ${work} for chain ${chainId} at once: retry after 1 s`),
    })
  const simulations = limitOf('simulations')
  const broadcasts = limitOf('broadcasts')
  const balances = limitOf('reads of balances', BALANCES)
  const foreign = limitOf('calls of contracts that are not configured', FOREIGN)
  const replays = limitOf('reverted transactions', REPLAYS)
  const known = createKnownCode(deployment)
  const reader = createReader({ node, diamond: deployment.diamond, maxEntries, maxBytes: CACHE.maxBytes })

  return {
    chainId,
    deployment,
    timeoutMs: options.timeoutMs,
    send: node.send,
    sendBy: node.sendBy,
    readAt: reader.readAt,
    ...known,
    ...createSimulator(node, known),
    ...createBalanceSlots(node, known),
    head: head.latest,
    poll: head.poll,
    dropHead: head.drop,
    ask: rest.leader?.ask ?? (() => {}),
    async pinned(read, { isFresh = false } = {}) {
      const block = await (isFresh ? head.fresh() : head.latest())
      try {
        return await read(block)
      } catch (error) {
        if (!isMissingBlock(error)) throw error
        head.drop(block)
        const next = await head.latest()
        if (next.hash === block.hash) throw error
        try {
          return await read(next)
        } catch (again) {
          if (isMissingBlock(again)) head.drop(next)
          throw again
        }
      }
    },
    logs: (span) => fetchLogs({ registry, deployment }, span),
    runForeign: (run, caller) => ofCaller(foreign, caller)(run),
    runReplay: (run, client) => replays(run, undefined, client),
    simulate: (tx, caller) =>
      known.runsForeign(tx)
        ? simulate(node, tx, ofCaller(foreign, caller), known.isForeign(tx.to) ? FOREIGN_GAS : MAX_GAS)
        : simulate(node, tx, ofCaller(simulations, caller)),
    simulateSigned(call, caller) {
      const isForeign = call.to === null || known.runsForeign({ to: call.to, data: call.input })
      return simulateSigned(node, call, ofCaller(isForeign ? foreign : simulations, caller), isForeign)
    },
    balances: (block, holdings, caller) =>
      ofCaller(balances, caller)(() => readBalances(node, block, { spender: deployment.diamond, holdings })),
    async broadcast(signed, caller) {
      await ofCaller(broadcasts, caller)(() => broadcast({ node, penalize: registry.penalize }, signed))
      rest.leader?.ask(null, SENT_MS)
    },
    queryAllEndpoints: (batch) => queryAllEndpoints({ registry, chainId }, batch),
    penalize: registry.penalize,
    reportMissingLogs: registry.reportMissingLogs,
    logWidth: registry.logWidth,
    status: registry.status,
    refresh: registry.refresh,
    close: registry.close,
  }
}
