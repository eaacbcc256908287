import { sql } from 'drizzle-orm'
import type { ChainId } from '../../protocol/chains.ts'
import type { Database, Handle } from '../pool.ts'
import { cursors } from '../schema/index-state.ts'
import { ledger } from '../schema/ledger.ts'
import { ledgerDays } from '../schema/totals.ts'
import { DAY_SECONDS, lacksToken, totalsText } from '../totals-text.ts'
import { hasGap } from './work/log-gaps.ts'
import { lockRefreshQueue } from './work/refresh-queue.ts'

/* Sums of the ledger by day. They follow the ledger at a distance, so that a rollback seldom has to make them again. */

/** Rows of the ledger that one transaction sums: about a tenth of a second of work. */
const SUM_BATCH = 10_000

/** The age of a block, in seconds, from which on its rows are summed. */
export const SUM_AFTER_SECONDS = 3_600

/**
 * Sums the next rows of a chain's ledger. Returns whether there are others. Nothing is summed while the ledger lacks logs,
 * and beyond an event whose token is not known yet.
 */
export const sumSomeRows = (
  database: Pick<Database, 'transaction'>,
  chainId: ChainId,
  { batch = SUM_BATCH, afterSeconds = SUM_AFTER_SECONDS } = {},
): Promise<boolean> =>
  database.transaction(async (handle) => {
    await lockRefreshQueue(handle, chainId)
    const { rows } = await handle.execute<{ mark: string | null; to: string | null; rows: number }>(sql`
      SELECT c.totals_number AS mark, max(next.block_number) AS to, count(next.block_number)::integer AS rows FROM ${cursors} c LEFT JOIN LATERAL (
        SELECT block_number FROM ${ledger} WHERE chain_id = c.chain_id AND block_number > coalesce(c.totals_number, -1) AND block_number <= c.block_number
          AND block_timestamp <= extract(epoch from now()) - ${afterSeconds} ORDER BY block_number LIMIT ${batch}) AS next ON true
      WHERE c.chain_id = ${chainId} AND ledger_number = c.block_number AND NOT ${hasGap(chainId)} GROUP BY c.totals_number`)
    const [next] = rows
    if (next?.to == null) return false
    if (next.mark === null) await handle.execute(sql`DELETE FROM ${ledgerDays} WHERE chain_id = ${chainId}`)
    const range = [sql`${chainId}`, sql`${next.mark ?? -1}::bigint`, sql`${next.to}::bigint`] as const
    const { rows: unknown } = await handle.execute<{ is: boolean }>(sql`SELECT ${lacksToken(...range)} AS is`)
    if (unknown[0]?.is === true) return false
    await handle.execute(sql`INSERT INTO ${ledgerDays} AS known (chain_id, day, token, type, rows, amount, fee, notional)
      SELECT ${chainId}, sums.* FROM (${totalsText(...range)}) AS sums ON CONFLICT (chain_id, day, token, type) DO UPDATE
      SET rows = known.rows + excluded.rows, amount = known.amount + excluded.amount, fee = known.fee + excluded.fee,
        notional = known.notional + excluded.notional`)
    await handle.execute(sql`UPDATE ${cursors} SET totals_number = ${next.to}::bigint WHERE chain_id = ${chainId}`)
    return next.rows === batch
  })

/**
 * Removes the sums of the day of the first row at or above a block, and of the days after it, if rows from that block on
 * are summed: they changed, or are about to be deleted. The transaction must hold the lock of the refresh queue.
 */
export const forgetSums = async (handle: Handle, chainId: ChainId, from: bigint): Promise<void> => {
  await handle.execute(sql`WITH first AS (
      SELECT block_timestamp / ${DAY_SECONDS} AS day FROM ${ledger}
      WHERE chain_id = ${chainId} AND block_number >= ${from}
        AND ${from} <= (SELECT totals_number FROM ${cursors} WHERE chain_id = ${chainId}) ORDER BY block_number LIMIT 1
    ), forgotten AS (
      DELETE FROM ${ledgerDays} USING first WHERE chain_id = ${chainId} AND ${ledgerDays.day} >= first.day
    ) UPDATE ${cursors} SET totals_number = coalesce((SELECT block_number FROM ${ledger}, first WHERE chain_id = ${chainId}
        AND block_number < ${from} AND block_timestamp < first.day * ${DAY_SECONDS} ORDER BY block_number DESC LIMIT 1), -1)
      FROM first WHERE chain_id = ${chainId}`)
}
