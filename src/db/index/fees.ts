import { asc, eq, sql } from 'drizzle-orm'
import type { FeeLog } from '../../protocol/abi/logs.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { insertMany } from '../bulk.ts'
import { type Touched, touchedByEvents, touching, touchingAll, union } from '../changes/scopes.ts'
import type { Database, Handle } from '../pool.ts'
import { cursors } from '../schema/index-state.ts'
import { chainObservations, feeRates } from '../schema/records.ts'
import { hasUnreadLogs } from './work/log-gaps.ts'
import { newestAnchor } from './work/progress.ts'
import type { Dated } from './write.ts'

/*
 * The fee rates over time. They are complete up to the cursor, unless logs of blocks below it were not read
 * (`work/log-gaps.ts`): then up to the block before the first of them.
 */

/** Inserts the rates that logs set. A log that is stored already is left as it is. */
export const insertFees = async (handle: Handle, chainId: ChainId, fees: readonly Dated<FeeLog>[]): Promise<void> => {
  await insertMany(
    handle,
    feeRates,
    fees.map((fee) => ({ chainId, ...fee })),
  )
}

/**
 * Moves the block up to which the rates are complete to the cursor when no gap is left. Returns what that touches: the
 * rates of the events above it were unknown, and everything that shows them changes. The transaction must hold the lock
 * of the refresh queue, so that no step moves the cursor.
 */
export const completeFees = async (handle: Handle, chainId: ChainId): Promise<Touched> => {
  const { rows } = await handle.execute<{ before: string; to: string }>(sql`UPDATE ${cursors} AS now
    SET fees_number = now.block_number, fees_hash = now.block_hash FROM ${cursors} AS old
    WHERE now.chain_id = ${chainId} AND old.chain_id = now.chain_id AND now.fees_number IS DISTINCT FROM now.block_number
      AND NOT ${hasUnreadLogs(chainId)} RETURNING coalesce(old.fees_number, -1) AS before, now.block_number AS to`)
  const [moved] = rows
  if (moved === undefined) return touching()
  const above = sql`events.block_number > ${moved.before}::bigint AND events.block_number <= ${moved.to}::bigint`
  const touched = await touchedByEvents(handle, chainId, above)
  const isTouched = touched.all || touched.scopes.size > 0
  return union([await judgeFees(handle, chainId), isTouched ? union([touchingAll(null), touched]) : touching()])
}

/** Reads all stored rates in their order, and the newest anchor if they are complete up to it; null otherwise. */
export const readFees = (database: Pick<Database, 'snapshot'>, chainId: ChainId) =>
  database.snapshot(async (handle) => {
    const anchor = await newestAnchor(handle, chainId)
    const { feesHash } = cursors
    const [progress] = await handle.select({ feesHash }).from(cursors).where(eq(cursors.chainId, chainId))
    const stored = handle.select().from(feeRates).where(eq(feeRates.chainId, chainId))
    const rows = await stored.orderBy(asc(feeRates.blockNumber), asc(feeRates.logIndex))
    return { anchor: progress?.feesHash === anchor?.hash ? anchor : null, rows }
  })

const judged = sql`SELECT CASE WHEN f.hedger_fee_rate = o.hedger_fee_rate AND f.payout_fee_rate = o.payout_fee_rate
      AND f.lp_profit_fee_rate = o.lp_profit_fee_rate AND f.creator_loyalty_rate = o.creator_loyalty_rate THEN NULL
    ELSE concat('getHedgeFeeConfig returns the rates ', concat_ws(', ', o.hedger_fee_rate, o.payout_fee_rate, o.lp_profit_fee_rate, o.creator_loyalty_rate),
      ', and the newest log, of block ', f.block_number, ', set ', concat_ws(', ', f.hedger_fee_rate, f.payout_fee_rate, f.lp_profit_fee_rate, f.creator_loyalty_rate)) END AS found,
    c.fees_contradiction AS stored
  FROM ${cursors} c JOIN ${chainObservations} o USING (chain_id)
  CROSS JOIN LATERAL (SELECT * FROM ${feeRates} x WHERE x.chain_id = c.chain_id AND x.block_number <= o.block_number
    ORDER BY x.block_number DESC, x.log_index DESC LIMIT 1) f
  WHERE o.block_number <= c.fees_number`

/**
 * Compares the rates of the newest log with those of the protocol's view at its last observation, if the rates are
 * complete up to its block, and stores whether they contradict each other: an upgrade can change rates without a log,
 * and then none that follow from logs are known. Returns what that touches: everything, when it changed.
 */
export const judgeFees = async (handle: Handle, chainId: ChainId): Promise<Touched> => {
  const { rows } = await handle.execute<{ found: string | null; stored: string | null }>(
    sql`${judged} AND c.chain_id = ${chainId}`,
  )
  const [row] = rows
  if (row === undefined || row.found === row.stored) return touching()
  await handle.update(cursors).set({ feesContradiction: row.found }).where(eq(cursors.chainId, chainId))
  return (row.found === null) === (row.stored === null) ? touching() : touchingAll('repaired')
}

/** How the fee rates of the index contradict the protocol's view; null where they agree. */
export const readFeesContradiction = async (handle: Handle, chainId: ChainId): Promise<string | null> => {
  const { feesContradiction } = cursors
  const [row] = await handle.select({ feesContradiction }).from(cursors).where(eq(cursors.chainId, chainId))
  return row?.feesContradiction ?? null
}
