import type { Chain } from '../chain/chain.ts'
import type { Outcome } from '../chain/endpoint.ts'
import { toServiceError } from '../chain/errors.ts'
import { type Block, getBlock, getLogs, viewCall } from '../chain/requests.ts'
import type { LastIds } from '../db/progress.ts'
import type { StoredBlock } from '../db/stored.ts'
import { unavailable } from '../lib/errors.ts'
import { logTopics } from '../protocol/logs.ts'
import type { RawLog } from '../protocol/packed-log.ts'
import { absentAfter, noneExists, recordCall } from './existence.ts'

/** What one request shows of a chain. */
export type Tick = {
  /** The endpoint that answered. */
  readonly endpoint: number
  readonly head: Block
  /** The block of the number asked for; null when the node lacks it. */
  readonly known: Block | null
  /** The same of the anchor's number. */
  readonly anchor: Block | null
  /** Nothing was created up to the known block that the index lacks. False also when the node does not tell. */
  readonly complete: boolean
  /** The protocol's logs from `logsFrom` on, as of about the head; null when they were not asked for or the node does not tell. */
  readonly logs: readonly RawLog[] | null
}

export type Question = {
  /** A block that the index knows. */
  readonly known: StoredBlock
  /** The newest block at which something was written: what is known above it says nothing of it. */
  readonly anchor: StoredBlock
  /** The last ids that it holds. */
  readonly last: LastIds
  /** The block from which to ask the logs on, up to the newest; null asks for none. */
  readonly logsFrom: bigint | null
}

/**
 * Looks at a chain in one request: its head, whether it still has the `known` block, whether anything lies beyond the `last` ids there, and
 * what happened since. Throws `service_unavailable` or `upstream_error` when no node tells its blocks.
 */
export const lookAt = async (chain: Chain, { known, anchor, last, logsFrom }: Question): Promise<Tick> => {
  const { diamond: address } = chain.deployment
  const probes = absentAfter(last).map((entity) => viewCall(address, recordCall(entity), { blockHash: known.hash }))
  const filter = { address, topics: logTopics, toBlock: 'latest' } as const
  const logsOf = logsFrom === null ? [] : [getLogs({ ...filter, fromBlock: logsFrom })]
  const asked = [getBlock('latest'), getBlock(known.number), getBlock(anchor.number), ...probes, ...logsOf] as const
  // A node with another block there has no state for the probes, and must not be passed over for one that still has the block.
  const denies = (outcome: Outcome<Block | null>, { hash }: StoredBlock): boolean =>
    outcome.ok && outcome.value !== null && outcome.value.hash !== hash
  const { endpoint, outcomes } = await chain.sendBy(asked, {
    isAnswer: ([, again, below]) => denies(again, known) || denies(below, anchor),
  })
  const [head, again, below, ...rest] = outcomes
  if (!head.ok) throw toServiceError(head.error)
  if (!again.ok) throw toServiceError(again.error)
  if (!below.ok) throw toServiceError(below.error)
  if (head.value === null) throw unavailable(`chain ${chain.chainId} has no latest block`)
  const beyond = rest.slice(0, probes.length) as Outcome<never>[]
  const logs = rest[probes.length] as Outcome<RawLog[]> | undefined
  return {
    endpoint,
    head: head.value,
    known: again.value,
    anchor: below.value,
    complete: noneExists(beyond),
    logs: logs?.ok === true ? logs.value : null,
  }
}
