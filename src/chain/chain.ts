import type { Address, Hex } from 'viem'
import { isUnavailable } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { ChainId, Deployment } from '../protocol/chains.ts'
import { broadcast } from './broadcast.ts'
import { createNode, type Node } from './failover.ts'
import { createHead, type Head } from './head.ts'
import { createReader, type Reader } from './read.ts'
import type { Block } from './requests.ts'
import { estimateGas } from './simulate.ts'

/** One chain as the service sees it: its nodes and the protocol on it. */
export type Chain = Pick<Node, 'send' | 'close'> &
  Reader & {
    readonly chainId: ChainId
    readonly deployment: Deployment
    /** The block that reads are pinned to now. */
    head(): Promise<Block>
    /**
     * Runs `read` at the pinned head. When no node has that block any more (a reorg between the two requests), it runs once more
     * at a new head; what `read` throws otherwise passes through.
     */
    pinned<T>(read: (block: Block) => Promise<T>): Promise<T>
    /** Gas units, or null when the call reverts or nobody answers in two seconds. */
    estimateGas(tx: { readonly from: Address; readonly to: Address; readonly data: Hex }): Promise<bigint | null>
    /** Relays signed bytes; see `broadcast`. */
    broadcast(signedTx: Hex): Promise<Hex>
  }

export type ChainOptions = {
  readonly deployment: Deployment
  /** Private node URLs, in order of preference; they never leave the process. */
  readonly rpcUrls: readonly string[]
  readonly timeoutMs: number
  /** How long a head may be reused, in milliseconds. */
  readonly headMaxAgeMs: number
  readonly log: Logger
}

/** Answers kept per chain. */
const CACHED_ANSWERS = 20_000

/**
 * Opens a chain; nothing is sent until something is asked.
 *
 * @example
 * const base = createChain({ deployment, rpcUrls: ['http://127.0.0.1:8545'], timeoutMs: 3_000, headMaxAgeMs: 200, log })
 * const [total] = await base.pinned((block) => base.readAt(block, [call('getTotalHedgeEvents')]))
 */
export const createChain = (options: ChainOptions): Chain => {
  const { deployment, log } = options
  const node = createNode({ chainId: deployment.chainId, urls: options.rpcUrls, timeoutMs: options.timeoutMs, log })
  const head: Head = createHead({ node, maxAgeMs: options.headMaxAgeMs, now: Date.now })
  const reader = createReader({ node, diamond: deployment.diamond, maxEntries: CACHED_ANSWERS })

  return {
    chainId: deployment.chainId,
    deployment,
    send: node.send,
    close: node.close,
    readAt: reader.readAt,
    head: head.latest,
    async pinned(read) {
      const block = await head.latest()
      try {
        return await read(block)
      } catch (error) {
        if (!isUnavailable(error)) throw error
        head.drop(block)
        const next = await head.latest()
        if (next.hash === block.hash) throw error
        return read(next)
      }
    },
    estimateGas: (tx) => estimateGas(node, tx),
    broadcast: (signedTx) => broadcast(node, signedTx),
  }
}
