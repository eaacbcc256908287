import type { Address, Hex } from 'viem'
import { unavailable } from '../lib/errors.ts'
import { createGate } from '../lib/gate.ts'
import type { Logger } from '../lib/log.ts'
import type { ChainId, Deployment } from '../protocol/chains.ts'
import { broadcast } from './broadcast.ts'
import type { Said } from './endpoint.ts'
import { isMissingBlock } from './errors.ts'
import { createNode, type Node } from './failover.ts'
import { createHead, type Head } from './head.ts'
import { createKeeper } from './keeper.ts'
import { fetchLogs, type LogRange } from './logs.ts'
import { askAll } from './opinions.ts'
import { createReader, type Reader } from './read.ts'
import type { Block, Request } from './requests.ts'
import { estimateGas } from './simulate.ts'
import type { ChainStatus } from './status.ts'

/** One chain as the service sees it: its nodes and the protocol on it. */
export type Chain = Node &
  Reader & {
    readonly chainId: ChainId
    readonly deployment: Deployment
    /** The block that reads are pinned to now; asked for again when the known one is lower than `atLeast`. */
    head(atLeast?: bigint): Promise<Block>
    /**
     * Runs `read` at the pinned head. When no node has that block any more (a reorg between the two requests), it runs once more
     * at a new head; what `read` throws otherwise passes through.
     */
    pinned<T>(read: (block: Block) => Promise<T>): Promise<T>
    /** The protocol's logs of the blocks from `from` on, as many blocks as the node takes at once; see `fetchLogs`. */
    logs(span: { readonly from: bigint; readonly upTo: bigint }): Promise<LogRange>
    /** Gas units, or null when the call reverts, no node answers in two seconds or too many estimates wait. */
    estimateGas(tx: { readonly from: Address; readonly to: Address; readonly data: Hex }): Promise<bigint | null>
    /** Relays signed bytes; see `broadcast`. Throws `service_unavailable` also when too many wait. */
    broadcast(signedTx: Hex): Promise<Hex>
    /** What each endpoint says to the same batch, for when the word of one is not enough; see `askAll`. */
    opinions<const T extends readonly Request<unknown>[]>(requests: T): Promise<readonly Said<T>[]>
    /**
     * Has an endpoint that contradicts others or itself asked last: for 5 seconds, then for twice as long each time, up to 10 minutes.
     * `endpoint` as `sendBy`, `opinions` and `logs` tell it; `why` is for operators.
     */
    doubt(endpoint: number, why: string): void
    /** The same for one that left logs out: it is asked after those that did not, before those that lag. */
    forgot(endpoint: number, why: string): void
    /** The fewest blocks that an endpoint which serves logs is asked for at once; null when none serves them. */
    logWidth(): bigint | null
    /** What is known of the chain's endpoints; asks nobody. */
    status(): ChainStatus
    /** Reads the heights of endpoints again where that was long ago, for a second at most. */
    refresh(): Promise<void>
    close(): Promise<void>
  }

export type ChainOptions = {
  readonly deployment: Deployment
  /** Private node URLs, in order of preference; they never leave the process. */
  readonly rpcUrls: readonly string[]
  readonly timeoutMs: number
  /** How long a head may be reused, in milliseconds. */
  readonly headMaxAgeMs: number
  /** Blocks to ask the logs of at first; 100 unless given. */
  readonly logWidth?: bigint
  readonly log: Logger
}

/**
 * Gas estimates, and broadcasts, that a chain's nodes get at once, and those that wait for their turn: each is a request of its own, and together
 * they leave half of the 32 connections of a node to reads.
 */
const LIMITS = { atOnce: 8, waiting: 64 }

/** Answers kept per chain: what is asked at one block, many times over. */
const CACHE = { maxEntries: 20_000, maxBytes: 32 * 2 ** 20 }

/**
 * Opens a chain; nothing is sent until something is asked.
 *
 * @example
 * const base = createChain({ deployment, rpcUrls: ['http://127.0.0.1:8545'], timeoutMs: 3_000, headMaxAgeMs: 200, log })
 * const [total] = await base.pinned((block) => base.readAt(block, [call('getTotalHedgeEvents')]))
 */
export const createChain = (options: ChainOptions): Chain => {
  const { deployment, rpcUrls: urls, ...rest } = options
  const { chainId } = deployment
  const keeper = createKeeper({ chainId, urls, ...rest })
  const node = createNode({ chainId, keeper, timeoutMs: options.timeoutMs })
  const head: Head = createHead({
    node,
    doubt: keeper.doubt,
    isAlone: urls.length === 1,
    maxAgeMs: options.headMaxAgeMs,
    now: Date.now,
  })
  const gateOf = (work: string) =>
    createGate({
      ...LIMITS,
      refuse: () => unavailable(`too many ${work} chain ${chainId} at once: retry after 1 s`),
    })
  const estimates = gateOf('gas estimates are asked of')
  const broadcasts = gateOf('transactions are being sent to')
  const reader = createReader({ node, diamond: deployment.diamond, ...CACHE })

  return {
    chainId,
    deployment,
    send: node.send,
    sendBy: node.sendBy,
    readAt: reader.readAt,
    head: head.latest,
    async pinned(read) {
      const block = await head.latest()
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
    logs: (span) => fetchLogs({ keeper, deployment }, span),
    estimateGas: (tx) => estimateGas(node, tx, estimates),
    broadcast: (signedTx) => broadcasts(() => broadcast(node, signedTx)),
    opinions: (requests) => askAll({ keeper, chainId }, requests),
    doubt: keeper.doubt,
    forgot: keeper.forgot,
    logWidth: keeper.logWidth,
    status: keeper.status,
    refresh: keeper.refresh,
    close: keeper.close,
  }
}
