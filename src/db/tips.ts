import type { Hex } from 'viem'
import { type ChainId, chainIds } from '../protocol/chains.ts'
import { RECORD } from './row-query.ts'
import type { StoredBlock } from './stored.ts'

/** What a list of a chain's rows is as of. */
export type Tip = {
  readonly chainId: ChainId
  /** Facts are complete up to it. */
  readonly block: StoredBlock
  /** The time of the newest block the worker saw, in Unix seconds, and how long ago it saw it, in seconds; null before it saw any. */
  readonly head: { readonly timestamp: bigint; readonly ageSeconds: number } | null
  /** The chain's last rollback; 0 when there was none. */
  readonly rollback: bigint
  /** The index was taken back to below the bound of the walk since the walk began. */
  readonly reorged: boolean
  /** After a rollback: observations that it deleted, or that its new blocks call for, are not made yet. Filters on them miss rows. */
  readonly isRefreshing: boolean
}

/** Seconds after a rollback in which what waits may be of the blocks that replaced the old ones. */
const REPLACED_SECONDS = 10

/** The newest rollback `r` is looked up once, and what follows from it only where there is one that matters: a tip is read with every page. */
const isReorged = `CASE WHEN r.seq > walk.rollback
    THEN EXISTS (SELECT FROM rollbacks x WHERE x.chain_id = c.chain_id AND x.seq > walk.rollback AND x.ancestor_number < walk.up_to) ELSE false END`

const isRefreshing = `CASE WHEN r.seq IS NULL THEN false ELSE coalesce((SELECT min(noted) <= r.last_note
      OR (min(noted) IS NOT NULL AND r.rolled_back_at > clock_timestamp() - interval '${REPLACED_SECONDS} seconds')
    FROM unobserved WHERE chain_id = c.chain_id), false) END`

/** The tips as one text, over rows `walk` of (chain_id, up_to, rollback): the bound of a walk and the last rollback when it began. */
export const tipsText = `(SELECT string_agg(concat_ws(',', c.chain_id, c.block_number, '0x' || encode(c.block_hash, 'hex'), c.block_timestamp,
    coalesce(r.seq, 0), ${isReorged}, ${isRefreshing}, l.head_timestamp, extract(epoch FROM clock_timestamp() - l.looked_at)), '${RECORD}')
  FROM walk JOIN cursors c USING (chain_id) LEFT JOIN looks l USING (chain_id)
    LEFT JOIN LATERAL (SELECT * FROM rollbacks WHERE chain_id = c.chain_id ORDER BY seq DESC LIMIT 1) r ON true)`

const isHex = (text: string): text is Hex => text.startsWith('0x')

/** Reads that text; chains that are not indexed yet are not in it. */
export const parseTips = (text: string | null): Tip[] =>
  (text ?? '').split(RECORD).flatMap((line): Tip[] => {
    const [id, number = '', hash = '', timestamp = '', rollback = '', reorged, refreshing, headAt, age] =
      line.split(',')
    const chainId = chainIds.find((known) => String(known) === id)
    if (chainId === undefined || !isHex(hash)) return []
    return [
      {
        chainId,
        block: { number: BigInt(number), hash, timestamp: BigInt(timestamp) },
        head: headAt === undefined ? null : { timestamp: BigInt(headAt), ageSeconds: Number(age) },
        rollback: BigInt(rollback),
        reorged: reorged === 't',
        isRefreshing: refreshing === 't',
      },
    ]
  })
