import type { Chain } from '../chain/chain.ts'
import { isRevert, toServiceError } from '../chain/errors.ts'
import { type Block, getBlock, getLogs, viewCall } from '../chain/requests.ts'
import { kinds, type LastIds } from '../db/progress.ts'
import type { StoredBlock } from '../db/query.ts'
import { unavailable } from '../lib/errors.ts'
import { logTopics, type RawLog } from '../protocol/logs.ts'
import { existenceOf, exists } from './existence.ts'

/** What one request shows of a chain. */
export type Tick = {
  readonly head: Block
  /** The block of the number asked for; null when the node lacks it. */
  readonly known: Block | null
  /** Nothing was created up to the known block that the index lacks. False also when the node does not tell. */
  readonly complete: boolean
  /** The protocol's logs after the cursor, as of about the head; null when the node does not tell. */
  readonly logs: readonly RawLog[] | null
}

/** Where no id is held yet, the chain may begin at either. */
const nextOf = (last: bigint | null): readonly bigint[] => (last === null ? [0n, 1n] : [last + 1n])

/**
 * Looks at a chain in one request: its head, whether it still has the `known` block, whether anything lies beyond the `last` ids there, and
 * the logs after the cursor. Throws `service_unavailable` or `upstream_error` when no node tells its blocks.
 */
export const lookAt = async (chain: Chain, cursor: StoredBlock, known: StoredBlock, last: LastIds): Promise<Tick> => {
  const { diamond: address } = chain.deployment
  const at = { blockHash: known.hash }
  const probes = kinds.flatMap((kind) => nextOf(last[kind]).map((id) => viewCall(address, existenceOf(kind, id), at)))
  const [head, again, logs, ...beyond] = await chain.send([
    getBlock('latest'),
    getBlock(known.number),
    getLogs({ address, topics: logTopics, fromBlock: cursor.number, toBlock: 'latest' }),
    ...probes,
  ])
  if (!head.ok) throw toServiceError(head.error)
  if (!again.ok) throw toServiceError(again.error)
  if (head.value === null) throw unavailable(`chain ${chain.chainId} has no latest block`)
  return {
    head: head.value,
    known: again.value,
    complete: beyond.every((outcome) => (outcome.ok ? !exists(outcome) : isRevert(outcome.error))),
    logs: logs.ok ? logs.value.filter(({ blockNumber }) => blockNumber > cursor.number) : null,
  }
}
