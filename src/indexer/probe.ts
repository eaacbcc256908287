import type { Chain } from '../chain/chain.ts'
import { toServiceError } from '../chain/rpc/errors.ts'
import { type Block, getBlock, getLogs, viewCall } from '../chain/rpc/requests.ts'
import type { Outcome } from '../chain/rpc/transport.ts'
import type { LastIds } from '../db/index/progress.ts'
import type { StoredBlock } from '../db/stored.ts'
import { unavailable } from '../lib/errors.ts'
import { logTopics } from '../protocol/logs.ts'
import type { RawLog } from '../protocol/packed-log.ts'
import { absentAfter, noneExists, recordCall } from './existence.ts'

/** The state of a chain in one answer. */
export type Probe = {
  /** The endpoint that answered. */
  readonly endpoint: number
  readonly head: Block
  /** The node's block at the number of the known block; null when it lacks one. */
  readonly known: Block | null
  /** The node's block at the number of the anchor; null when it lacks one. */
  readonly anchor: Block | null
  /**
   * Whether the index has every entity that was created up to the known block. False also when the node cannot answer.
   */
  readonly complete: boolean
  /**
   * The protocol's logs from `logsFrom` to about the head; null when they were not requested or the node cannot answer.
   */
  readonly logs: readonly RawLog[] | null
}

export type ProbeRequest = {
  /** The newest block that the index has verified. */
  readonly known: StoredBlock
  /**
   * The newest block at which the index was written. It is checked too, because a valid known block above it does not
   * prove it.
   */
  readonly anchor: StoredBlock
  /** The last ids of the index. */
  readonly last: LastIds
  /** The first block of the requested logs; null requests none. */
  readonly logsFrom: bigint | null
}

/**
 * Probes a chain in one request: its head, whether it still has the `known` block, whether entities after the `last`
 * ids exist there, and the newest logs. Throws `service_unavailable` or `upstream_error` when no node returns the
 * blocks.
 */
export const probe = async (chain: Chain, { known, anchor, last, logsFrom }: ProbeRequest): Promise<Probe> => {
  const { diamond: address } = chain.deployment
  const probes = absentAfter(last).map((entity) => viewCall(address, recordCall(entity), { blockHash: known.hash }))
  const filter = { address, topics: logTopics, toBlock: 'latest' } as const
  const batch = {
    head: getBlock('latest'),
    known: getBlock(known.number),
    anchor: getBlock(anchor.number),
    beyond: probes,
    logs: logsFrom === null ? undefined : getLogs({ ...filter, fromBlock: logsFrom }),
  }
  // A node with another block there has no state for the views. It must not lose against a node that still has the
  // orphaned block.
  const denies = (outcome: Outcome<Block | null>, { hash }: StoredBlock): boolean =>
    outcome.ok && outcome.value !== null && outcome.value.hash !== hash
  const { endpoint, outcomes } = await chain.sendBy(batch, {
    isAnswer: (answer) => denies(answer.known, known) || denies(answer.anchor, anchor),
  })
  const { head, logs } = outcomes
  if (!head.ok) throw toServiceError(head.error)
  if (!outcomes.known.ok) throw toServiceError(outcomes.known.error)
  if (!outcomes.anchor.ok) throw toServiceError(outcomes.anchor.error)
  if (head.value === null) throw unavailable(`chain ${chain.chainId} has no latest block`)
  return {
    endpoint,
    head: head.value,
    known: outcomes.known.value,
    anchor: outcomes.anchor.value,
    complete: noneExists(outcomes.beyond),
    logs: logs?.ok === true ? logs.value : null,
  }
}
