import type { Leader } from '../chain/chain.ts'
import { sendDemand } from '../db/changes/demand.ts'
import { readStoredHead } from '../db/index/heartbeat.ts'
import type { Database } from '../db/pool.ts'
import type { ChainId } from '../protocol/chains.ts'

/** The head that the leading worker of a chain has stored, read from the database. */
export const storedHeadIn =
  (database: Pick<Database, 'run'>) =>
  (chainId: ChainId): Leader['head'] =>
  () =>
    database.run((handle) => readStoredHead(handle, chainId)).catch(() => null)

/**
 * Sends the demands of this process to the leading worker of a chain. One that another covers for at least half of its
 * time is not sent, so many clients that wait cost one notification.
 */
export const sendDemands = (
  database: Pick<Database, 'run'>,
  now: () => number = () => performance.now(),
): ((chainId: ChainId) => Leader['ask']) => {
  return (chainId) => {
    let until = Number.NEGATIVE_INFINITY
    let newest = -1n
    return (block, ms) => {
      if (now() >= until) newest = -1n
      if (now() + ms / 2 < until && (block ?? -1n) <= newest) return
      until = now() + ms
      if (block !== null && block > newest) newest = block
      database.run((handle) => sendDemand(handle, { chainId, block, ms })).catch(() => {})
    }
  }
}
