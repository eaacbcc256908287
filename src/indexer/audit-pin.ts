import type { Chain } from '../chain/chain.ts'
import { getBlock } from '../chain/requests.ts'
import type { Database } from '../db/pool.ts'
import { readProgress } from '../db/progress.ts'
import type { StoredBlock } from '../db/query.ts'
import { isUnavailable, unavailable } from '../lib/errors.ts'
import { sleep } from '../lib/lifecycle.ts'

/** Differences that are kept; an index of another chain has as many as it has rows. */
const KEPT = 1_000

/** A node may have dropped the state of the block meanwhile, or be out of reach for a moment. */
const ATTEMPTS = 10
const RETRY_AFTER_MS = 500

type Deps = { readonly chain: Chain; readonly database: Database }

type Found = { readonly differences: readonly string[] }

/** Runs the slices of an audit at one block for as long as nodes have it, and gathers what they find. */
export type Pin = {
  /** Compares at the block. Throws `service_unavailable` when no node or no database answers for some seconds. */
  compare<T extends Found>(slice: (at: StoredBlock) => Promise<T>): Promise<T>
  /** The block of the last slice, the first differences, and how many there are. */
  result(): { readonly block: StoredBlock; readonly differences: readonly string[]; readonly found: number }
}

/** Whether a block is still the chain's. What a node says of the state of one that was replaced may be of none. */
const isOnChain = async (chain: Chain, { number, hash }: StoredBlock): Promise<boolean> => {
  const [block] = await chain.send([getBlock(number)])
  return block.ok && block.value?.hash === hash
}

/** Pins to the block that the index has reached. Throws `service_unavailable` when it has reached none. */
export const openPin = async ({ chain, database }: Deps): Promise<Pin> => {
  const { chainId } = chain
  const reached = async (): Promise<StoredBlock> => {
    const { cursor } = await readProgress(database, chainId)
    if (cursor === null) throw unavailable(`chain ${chainId} is not indexed yet`)
    return cursor
  }
  let block = await reached()
  const differences: string[] = []
  let found = 0

  return {
    async compare(slice) {
      let isSecond = false
      for (let attempt = 1; ; attempt += 1) {
        try {
          if (attempt > 1) block = await reached()
          const result = await slice(block)
          if (result.differences.length > 0 && !(await isOnChain(chain, block)))
            throw unavailable(`block ${block.number} of chain ${chainId} was replaced: the index has not followed yet`)
          if (result.differences.length === 0 || isSecond) {
            differences.push(...result.differences.slice(0, KEPT - differences.length))
            found += result.differences.length
            return result
          }
          // The index may have been rolled back under the slice, or a node have told of the block it was about to make: once more where
          // the index is then. At the same block the answers are those that were kept.
          isSecond = true
        } catch (fault) {
          if (attempt >= ATTEMPTS || !isUnavailable(fault)) throw fault
        }
        await sleep(RETRY_AFTER_MS)
      }
    },
    result: () => ({ block, differences, found }),
  }
}
