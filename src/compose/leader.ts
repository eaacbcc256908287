import type { Leader } from '../chain/chain.ts'
import { sendDemand } from '../db/changes/demand.ts'
import { readStoredHead } from '../db/index/work/heartbeat.ts'
import type { Database } from '../db/pool.ts'
import type { ChainId } from '../protocol/chains.ts'

/** The head that the leading worker of a chain has stored, read from the database. */
export const storedHeadIn =
  (database: Pick<Database, 'run'>) =>
  (chainId: ChainId): Leader['head'] =>
  () =>
    database.run((handle) => readStoredHead(handle, chainId)).catch(() => null)

/**
 * Sends the demands of this process to the leading worker of a chain. A demand for the same block, or for any news while
 * there is one, is sent again when less than half of its time is left, so many clients that wait cost one notification.
 */
export const sendDemands = (
  database: Pick<Database, 'run'>,
  now: () => number = () => performance.now(),
): ((chainId: ChainId) => Leader['ask']) => {
  return (chainId) => {
    /** Until when the leader knows of each demand. One for a later block must not hide that for an earlier one. */
    const untilBy = new Map<bigint | null, number>()
    return (block, ms) => {
      for (const [sent, until] of untilBy) if (now() >= until) untilBy.delete(sent)
      const covering = block === null ? [...untilBy.values()] : [untilBy.get(block) ?? 0]
      if (covering.some((until) => now() + ms / 2 < until)) return
      untilBy.set(block, now() + ms)
      database.run((handle) => sendDemand(handle, { chainId, block, ms })).catch(() => {})
    }
  }
}
