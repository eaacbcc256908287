import type { Database } from '../db/pool.ts'
import { readProgress } from '../db/progress.ts'
import type { StoredBlock } from '../db/query.ts'
import { isUnavailable, unavailable } from '../lib/errors.ts'
import { sleep } from '../lib/lifecycle.ts'
import type { ChainId } from '../protocol/chains.ts'

/** Differences that are kept; an index of another chain has as many as it has rows. */
const KEPT = 1_000

/** A node may have dropped the state of the block meanwhile, or be out of reach for a moment. */
const ATTEMPTS = 10
const RETRY_AFTER_MS = 500

type Found = { readonly differences: readonly string[] }

/** Runs the slices of an audit at one block for as long as nodes have it, and gathers what they find. */
export type Pin = {
  /** Compares at the block. Throws `service_unavailable` when no node or no database answers for some seconds. */
  compare<T extends Found>(slice: (at: StoredBlock) => Promise<T>): Promise<T>
  /** The block of the last slice, the first differences, and how many there are. */
  result(): { readonly block: StoredBlock; readonly differences: readonly string[]; readonly found: number }
}

/** Pins to the block that the index has reached. Throws `service_unavailable` when it has reached none. */
export const openPin = async (database: Database, chainId: ChainId): Promise<Pin> => {
  const reached = async (): Promise<StoredBlock> => {
    const { cursor } = await readProgress(database, chainId)
    if (cursor === null) throw unavailable(`chain ${chainId} is not indexed yet`)
    return cursor
  }
  let block = await reached()
  const differences: string[] = []
  let found = 0

  const moveOn = async (): Promise<boolean> => {
    const before = block
    block = await reached()
    return block.hash !== before.hash
  }

  return {
    async compare(slice) {
      let isSecond = false
      for (let attempt = 1; ; attempt += 1) {
        try {
          const result = await slice(block)
          // The index may have been rolled back under the slice: what differs is compared once more.
          if (result.differences.length === 0 || isSecond || !(await moveOn())) {
            differences.push(...result.differences.slice(0, KEPT - differences.length))
            found += result.differences.length
            return result
          }
          isSecond = true
        } catch (fault) {
          if (attempt === ATTEMPTS || !isUnavailable(fault)) throw fault
          await sleep(RETRY_AFTER_MS)
          await moveOn()
        }
      }
    },
    result: () => ({ block, differences, found }),
  }
}
