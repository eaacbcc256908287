import { createChannel } from '../../lib/observe/channel.ts'
import type { Odd } from './odd.ts'
import type { Outcome } from './transport.ts'

/** One HTTP request to a node. */
type NodeRequest = {
  readonly chainId: number
  /** The node's zero-based position in the configuration, never its URL. */
  readonly node: number
  /** The JSON-RPC methods of the batch, one for each request in it. */
  readonly methods: readonly string[]
  readonly signal: AbortSignal | undefined
  /** The odd forms of the answer, once there is one. */
  readonly odd: ReadonlySet<Odd>
}

/** Publishes every HTTP request to a node, including the probes that no reader waits for. */
export const nodeRequests = createChannel<NodeRequest, readonly Outcome<unknown>[]>('fx-protection:node')
