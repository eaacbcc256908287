import type { ChainId } from '../../protocol/chains.ts'
import type { Reader } from '../pool.ts'

/** What the refresh queue of a chain still has to show, and the newest change, of one snapshot. */
export type RefreshState = {
  /** The oldest block whose changes rows may lack; null when they lack none. */
  readonly oldestBlock: bigint | null
  /** The number of the newest change of the index; 0 before the first. */
  readonly newestChange: number
}

/**
 * Reads the refresh state from the database of the lists, so that a list that is read afterwards is at least as new.
 * Throws `service_unavailable` when the database is out of reach.
 */
export const createRefreshState =
  (database: Pick<Reader, 'rows'>) =>
  async (chainId: ChainId): Promise<RefreshState> => {
    const [[oldest, newest] = []] = await database.rows({
      name: 'refresh_state',
      text: `SELECT (SELECT min(from_block) FROM refresh_queue WHERE chain_id = $1),
        coalesce((SELECT last FROM change_counter), 0)`,
      values: [chainId],
    })
    return { oldestBlock: oldest == null ? null : BigInt(oldest), newestChange: Number(newest) }
  }
