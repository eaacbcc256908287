import { sql } from 'drizzle-orm'
import type { ChainId } from '../../protocol/chains.ts'
import type { Handle } from '../pool.ts'
import { cursors, logGaps } from '../schema/index-state.ts'
import { ledger } from '../schema/ledger.ts'
import { SUM_AFTER_SECONDS } from './totals.ts'
import { ledgerCompleteFrom } from './work/log-gaps.ts'

/** The plan of a statement as JSON: PostgreSQL's estimate of its rows, by the size of the table and its statistics. */
type Plan = { readonly 'QUERY PLAN': readonly { readonly Plan: { readonly 'Plan Rows': number } }[] }

type Cells = Readonly<Record<'low' | 'unread' | 'pruned' | 'summed' | 'lag', string | null>> & { readonly gaps: number }

/**
 * The progress of a chain's ledger: from which block on it is complete (null when it lacks no logs), how many ranges of
 * blocks and blocks are still to be read, of how many of them no node has logs, and about how many logs are stored. The
 * sums by day: the block up to which they are made (null for none), and for how many seconds the oldest row that is not
 * summed has been due.
 */
export const readLedgerState = async (handle: Handle, chainId: ChainId) => {
  const unread = sql`FROM ${logGaps} WHERE ${logGaps.chainId} = c.chain_id AND state`
  const { rows } = await handle.execute<Cells>(sql`SELECT ${sql.raw(ledgerCompleteFrom)} AS low,
      (SELECT coalesce(sum(unread_to - from_block + 1), 0) ${unread} <> 'absent') + block_number - coalesce(ledger_number, block_number) AS unread,
      (SELECT coalesce(sum(unread_to - from_block + 1), 0) ${unread} = 'pruned') AS pruned,
      (SELECT count(*)::integer ${unread} = 'open') AS gaps, totals_number AS summed,
      (SELECT extract(epoch FROM now()) - ${SUM_AFTER_SECONDS} - block_timestamp FROM ${ledger} WHERE chain_id = c.chain_id
        AND block_number > coalesce(c.totals_number, -1) ORDER BY block_number LIMIT 1) AS lag
    FROM ${cursors} c WHERE chain_id = ${chainId}`)
  const [plan] = (
    await handle.execute<Plan>(sql`EXPLAIN (FORMAT JSON) SELECT FROM ${ledger} WHERE chain_id = ${chainId}`)
  ).rows
  const [row] = rows
  const logs = BigInt(plan?.['QUERY PLAN'][0]?.Plan['Plan Rows'] ?? 0)
  return {
    ...{ completeFrom: row?.low == null ? null : BigInt(row.low), unreadBlocks: BigInt(row?.unread ?? 0) },
    ...{ prunedBlocks: BigInt(row?.pruned ?? 0), gaps: row?.gaps ?? 0, logs },
    ...{
      summedTo: row?.summed == null ? null : BigInt(row.summed),
      sumsLagSeconds: Math.max(0, Number(row?.lag ?? 0)),
    },
  }
}
