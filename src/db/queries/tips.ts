import type { Hex } from 'viem'
import type { ChainId } from '../../protocol/chains.ts'
import type { StoredBlock } from '../stored.ts'

/** Separates the tips of chains in their text. */
const RECORD = '\u001e'

/** The state of a chain's index at which a list was read. */
export type Tip = {
  readonly chainId: ChainId
  /** The block up to which facts are complete. */
  readonly block: StoredBlock
  /**
   * From the worker's last heartbeat: the time of the newest block in Unix seconds, whether nothing is left to index up
   * to it, and the heartbeat's age in seconds. Null before the first.
   */
  readonly head: { readonly timestamp: bigint; readonly isQuiet: boolean; readonly ageSeconds: number } | null
  /** The chain's last rollback; 0 when there was none. */
  readonly rollback: bigint
  /** Whether the index was rolled back to below the bound of the list since its first page was read. */
  readonly reorged: boolean
  /**
   * Whether observations are still missing after a rollback: those that it deleted, or that the new blocks require.
   * Filters on them miss rows.
   */
  readonly isRefreshing: boolean
}

/**
 * Seconds after a rollback in which waiting refresh requests may come from the blocks that replaced the orphaned ones.
 */
const REPLACED_SECONDS = 10

/** Compared with the bound itself: after a rollback, the index may still be below it. */
const isReorged = `EXISTS (SELECT FROM rollbacks x
    WHERE x.chain_id = query.chain_id AND x.seq > query.rollback AND x.ancestor_number < query.bound)`

const isRefreshing = `coalesce((SELECT (SELECT min(sequence) <= r.last_request
        OR (min(sequence) IS NOT NULL AND r.rolled_back_at > clock_timestamp() - interval '${REPLACED_SECONDS} seconds')
      FROM refresh_queue WHERE chain_id = r.chain_id)
    FROM rollbacks r WHERE chain_id = query.chain_id ORDER BY seq DESC LIMIT 1), false)`

/**
 * SQL of the tips as one text, from the rows `query` (`listQueryText`). Every page reads them, so parts that are not
 * needed are left out and reported as false: `reorged` on a first page, `refreshing` where no filter depends on
 * observations.
 */
export const tipsText = (needed: { readonly reorged: boolean; readonly refreshing: boolean }): string =>
  `(SELECT string_agg(concat_ws(',', query.chain_id, query.tip_number, '0x' || encode(query.tip_hash, 'hex'), query.tip_timestamp,
    coalesce((SELECT max(seq) FROM rollbacks WHERE chain_id = query.chain_id), 0), ${needed.reorged ? isReorged : 'false'},
    ${needed.refreshing ? isRefreshing : 'false'}, h.head_timestamp, h.is_quiet AND h.checked_number = h.head_number, extract(epoch FROM clock_timestamp() - h.reported_at)), '${RECORD}')
  FROM query LEFT JOIN heartbeats h USING (chain_id))`

const isHex = (text: string): text is Hex => text.startsWith('0x')

/** Parses the text of tips. It has no tip for chains that are not indexed yet. */
export const parseTips = (text: string | null | undefined): Tip[] =>
  (text ?? '').split(RECORD).flatMap((line): Tip[] => {
    const [id, number = '', hash = '', timestamp = '', rollback = '', reorged, refreshing, headAt, quiet, age] =
      line.split(',')
    if (!isHex(hash)) return []
    return [
      {
        chainId: Number(id),
        block: { number: BigInt(number), hash, timestamp: BigInt(timestamp) },
        head:
          headAt === undefined ? null : { timestamp: BigInt(headAt), isQuiet: quiet === 't', ageSeconds: Number(age) },
        rollback: BigInt(rollback),
        reorged: reorged === 't',
        isRefreshing: refreshing === 't',
      },
    ]
  })
