import type { Chain } from '../chain/chain.ts'
import { toServiceError } from '../chain/rpc/errors.ts'
import { type Block, getBlock, getLogs } from '../chain/rpc/requests.ts'
import type { StoredBlock } from '../db/stored.ts'
import type { RawLog } from '../protocol/abi/packed-log.ts'

/** The state of a chain in one answer. */
export type Poll = {
  /** The endpoint that answered. */
  readonly endpoint: number
  readonly head: Block
  /** The endpoint's block at the number of the anchor; null when it has none, undefined when it was not requested. */
  readonly anchor: Block | null | undefined
  /**
   * The protocol's logs from `logsFrom` to about the head; null when they were not requested or the endpoint cannot
   * answer.
   */
  readonly logs: readonly RawLog[] | null
}

export type PollRequest = {
  /** A block of the index that may have been replaced; null requests none. */
  readonly anchor: StoredBlock | null
  /** The first block of the requested logs; null requests none. */
  readonly logsFrom: bigint | null
}

/**
 * Polls a chain in one request: its head and, as far as requested, the newest logs and the block of the anchor. Throws
 * `service_unavailable` or `upstream_error` when no node returns the blocks.
 */
export const poll = async (chain: Chain, { anchor, logsFrom }: PollRequest): Promise<Poll> => {
  const filter = { address: chain.deployment.diamond, toBlock: 'latest' } as const
  const batch = {
    anchor: anchor === null ? undefined : getBlock(anchor.number),
    logs: logsFrom === null ? undefined : getLogs({ ...filter, fromBlock: logsFrom }),
  }
  const { endpoint, head, outcomes } = await chain.poll(batch, {
    // A node with another block there must not lose against one that still has the orphaned block.
    isAnswer: ({ anchor: found }) => found?.ok === true && found.value !== null && found.value.hash !== anchor?.hash,
  })
  const { anchor: found, logs } = outcomes
  if (found?.ok === false) throw toServiceError(found.error)
  return { endpoint, head, anchor: found?.value, logs: logs?.ok === true ? logs.value : null }
}
