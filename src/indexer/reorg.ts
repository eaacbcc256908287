import type { Chain } from '../chain/chain.ts'
import { hashIn } from '../chain/head/agreed.ts'
import { getBlock } from '../chain/rpc/requests.ts'
import { anchorsBelow } from '../db/index/work/progress.ts'
import type { Database } from '../db/pool.ts'
import type { StoredBlock } from '../db/stored.ts'
import { unavailable } from '../lib/errors.ts'
import { finalBlock } from './finalize.ts'

/** Anchors that are checked in one batch. */
const BATCH = 50

/**
 * Finds the common ancestor of the index and the chain: the newest anchor, at or below a block, that a `trusted` endpoint
 * still has. Null when there is none; the index then has to start again. Throws `service_unavailable` when no trusted
 * endpoint returns a block of the newest anchors: a node that went back so far, as one that is restored, may catch up.
 */
export const findAncestor = async (
  { chain, database }: { readonly chain: Chain; readonly database: Database },
  top: bigint,
  trusted: readonly number[],
): Promise<StoredBlock | null> => {
  for (let below = top; ; ) {
    const anchors = await anchorsBelow(database, chain.chainId, below, BATCH)
    const oldest = anchors.at(-1)
    if (oldest === undefined) return null
    const blocks = anchors.map(({ number }) => getBlock(number))
    const all = await chain.queryAllEndpoints({ blocks })
    const answers = all.filter(({ endpoint }) => trusted.includes(endpoint))
    const hashes = anchors.map((_, at) => answers.flatMap(({ outcomes }) => hashIn(outcomes.blocks[at]) ?? []))
    if (hashes.every(({ length }) => length === 0))
      throw unavailable(`no node of chain ${chain.chainId} returns its blocks`)
    const found = anchors.find(({ hash }, at) => hashes[at]?.includes(hash))
    if (found !== undefined) return found
    below = oldest.number - 1n
  }
}

/** Whether a block is below the finalized block; false when no node answers. */
export const isBelowFinal = async (chain: Chain, block: StoredBlock | null): Promise<boolean> =>
  ((await finalBlock(chain))?.number ?? -1n) > (block?.number ?? -1n)
