import type { Chain } from '../chain/chain.ts'
import type { Outcome } from '../chain/endpoint.ts'
import { isRevert, toServiceError } from '../chain/errors.ts'
import { getBlock, type Request, viewCall } from '../chain/requests.ts'
import type { Database } from '../db/pool.ts'
import { anchorsBelow, createdIn, type Kind } from '../db/progress.ts'
import type { StoredBlock } from '../db/query.ts'
import { existenceOf, exists } from './existence.ts'

type Deps = { readonly chain: Chain; readonly database: Database }

/** Anchors asked for in one batch. */
const BATCH = 50

/** The newest anchor up to block `top` of which the chain's answer holds; null when it holds of none. */
const newestAnchor = async <T>(
  { chain, database }: Deps,
  top: bigint,
  ask: (anchor: StoredBlock) => Request<T>,
  holds: (anchor: StoredBlock, outcome: Outcome<T>) => boolean,
): Promise<StoredBlock | null> => {
  for (let below = top; ; ) {
    const anchors = await anchorsBelow(database, chain.chainId, below, BATCH)
    if (anchors.length === 0) return null
    const outcomes = await chain.send(anchors.map(ask))
    for (const [at, anchor] of anchors.entries()) {
      const outcome = outcomes[at]
      if (outcome === undefined) throw new RangeError('a batch has an outcome for each request')
      if (holds(anchor, outcome)) return anchor
      below = anchor.number - 1n
    }
  }
}

/**
 * The newest anchor that is still on the chain, which is where the index and the chain part. Null when none is: then the index has
 * to start anew. Throws `service_unavailable` or `upstream_error` when the nodes do not tell.
 */
export const findAncestor = (deps: Deps, cursor: StoredBlock): Promise<StoredBlock | null> =>
  newestAnchor(
    deps,
    cursor.number,
    ({ number }) => getBlock(number),
    (anchor, outcome) => {
      if (!outcome.ok) throw toServiceError(outcome.error)
      return outcome.value?.hash === anchor.hash
    },
  )

/**
 * The newest anchor at which a row that the index lacks did not exist yet, so that reading on from there meets its log. Where nodes
 * keep no state of an anchor, the newest one before the row's predecessor was created. Throws as `findAncestor` does.
 */
export const findBefore = async (
  deps: Deps,
  cursor: StoredBlock,
  kind: Kind,
  id: bigint,
): Promise<StoredBlock | null> => {
  const { chain, database } = deps
  const predecessor = await createdIn(database, chain.chainId, kind, id - 1n)
  return newestAnchor(
    deps,
    cursor.number,
    ({ hash }) => viewCall(chain.deployment.diamond, existenceOf(kind, id), { blockHash: hash }),
    (anchor, outcome) => {
      if (outcome.ok || isRevert(outcome.error)) return !exists(outcome)
      return predecessor !== null && anchor.number < predecessor
    },
  )
}
