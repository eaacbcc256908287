import type { Chain } from '../chain/chain.ts'
import type { Outcome } from '../chain/endpoint.ts'
import { type Block, getBlock } from '../chain/requests.ts'
import type { Database } from '../db/pool.ts'
import { anchorsBelow } from '../db/progress.ts'
import type { StoredBlock } from '../db/stored.ts'
import { isUnavailable, unavailable } from '../lib/errors.ts'

/** Anchors asked for in one batch. */
const BATCH = 50

/**
 * The newest anchor that some of the `believed` endpoints still has, which is where the index and the chain part. Null when none is: then
 * the index has to start anew. Throws `service_unavailable` when none of them tells its blocks.
 */
export const findAncestor = async (
  { chain, database }: { readonly chain: Chain; readonly database: Database },
  top: StoredBlock,
  believed: readonly number[],
): Promise<StoredBlock | null> => {
  for (let below = top.number; ; ) {
    const anchors = await anchorsBelow(database, chain.chainId, below, BATCH)
    const oldest = anchors.at(-1)
    if (oldest === undefined) return null
    const opinions = await chain.opinions(anchors.map(({ number }) => getBlock(number)))
    const told = opinions.filter(({ endpoint }) => believed.includes(endpoint))
    const blocks = anchors.map((_, at) => told.flatMap(({ outcomes }) => hashOf(outcomes[at]) ?? []))
    if (blocks.every(({ length }) => length === 0))
      throw unavailable(`no node of chain ${chain.chainId} tells its blocks`)
    const found = anchors.find(({ hash }, at) => blocks[at]?.includes(hash))
    if (found !== undefined) return found
    below = oldest.number - 1n
  }
}

const hashOf = (outcome: Outcome<Block | null> | undefined): string | undefined =>
  outcome?.ok === true ? outcome.value?.hash : undefined

/** Whether a block is below what the chain calls final; false when no node tells. */
export const isBelowFinal = async (chain: Chain, block: StoredBlock | null): Promise<boolean> => {
  try {
    const [finalized] = await chain.send([getBlock('finalized')])
    return finalized.ok && finalized.value !== null && finalized.value.number > (block?.number ?? -1n)
  } catch (fault) {
    if (isUnavailable(fault)) return false
    throw fault
  }
}
