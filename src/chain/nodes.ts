import type { Logger } from '../lib/observe/log.ts'
import { createHead, type Head, type StoredHead } from './head/head.ts'
import { createNode, type Node } from './pool/failover.ts'
import { queryAllEndpoints } from './pool/query-all.ts'
import { createEndpointRegistry, type EndpointRegistry } from './pool/registry.ts'

export type NodesOptions = {
  readonly chainId: number
  /** Private node URLs in order of preference. They are never logged or returned, because they may contain keys. */
  readonly rpcUrls: readonly string[]
  readonly timeoutMs: number
  /** The greatest age of a head by a poll, or of a stored one, in milliseconds. */
  readonly headMaxAgeMs: number
  /** The worker that follows the chain; none unless given. */
  readonly leader?: Pick<Leader, 'head'> | undefined
  /** Blocks in the first request for logs; 100 unless given. */
  readonly logWidth?: bigint
  readonly log: Logger
}

/** The worker that follows a chain, as other processes see it. */
export type Leader = {
  /** The head that it has checked and stored; null without one. */
  head(): Promise<StoredHead | null>
  /** Asks it for a block or, with null, for any news, for which a client waits for some milliseconds. */
  ask(block: bigint | null, ms: number): void
}

/** The nodes of one chain and their newest block. */
export type Nodes = { readonly registry: EndpointRegistry; readonly node: Node; readonly head: Head }

/** Opens the nodes of a chain without sending a request. */
export const openNodes = ({ rpcUrls: urls, headMaxAgeMs, leader, ...options }: NodesOptions): Nodes => {
  const { chainId, timeoutMs } = options
  const registry = createEndpointRegistry({ urls, ...options })
  const node = createNode({ chainId, registry, timeoutMs })
  const head = createHead({
    node,
    penalize: registry.penalize,
    isAlone: urls.length === 1,
    maxAgeMs: headMaxAgeMs,
    now: Date.now,
    queryAll: (batch) => queryAllEndpoints({ registry, chainId }, batch),
    ...(leader && { stored: leader.head }),
  })
  return { registry, node, head }
}
