import type { Chain } from '../chain/chain.ts'
import { toServiceError } from '../chain/errors.ts'
import { getBlock } from '../chain/requests.ts'
import type { Database } from '../db/pool.ts'
import { anchorsBelow } from '../db/progress.ts'
import type { StoredBlock } from '../db/query.ts'

/** Anchors asked for in one batch. */
const BATCH = 50

/**
 * The newest anchor that is still on the chain, which is where the index and the chain part. Null when none is: then the index has
 * to start anew. Throws `service_unavailable` or `upstream_error` when the nodes do not tell.
 */
export const findAncestor = async (
  chain: Chain,
  database: Database,
  from: StoredBlock,
): Promise<StoredBlock | null> => {
  for (let top = from.number; ; ) {
    const anchors = await anchorsBelow(database, chain.chainId, top, BATCH)
    if (anchors.length === 0) return null
    const outcomes = await chain.send(anchors.map(({ number }) => getBlock(number)))
    for (const [at, anchor] of anchors.entries()) {
      const outcome = outcomes[at]
      if (outcome === undefined) throw new RangeError('a batch has an outcome for each request')
      if (!outcome.ok) throw toServiceError(outcome.error)
      if (outcome.value?.hash === anchor.hash) return anchor
      top = anchor.number - 1n
    }
  }
}
