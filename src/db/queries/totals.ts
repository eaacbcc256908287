import { sql } from 'drizzle-orm'
import type { Address } from 'viem'
import type { ChainId } from '../../protocol/chains.ts'
import { type LedgerTypeName, ledgerTypeOf } from '../../protocol/ledger.ts'
import { hasGap } from '../index/work/log-gaps.ts'
import type { Database } from '../pool.ts'
import { cursors } from '../schema/index-state.ts'
import { ledger } from '../schema/ledger.ts'
import { ledgerDays } from '../schema/totals.ts'
import type { StoredBlock } from '../stored.ts'
import { DAY_SECONDS, totalsText } from '../totals-text.ts'

/** Most rows of the ledger that are summed when they are read. */
const MAX_ROWS = 200_000

/** The sums of the logs of a type on a day in a token, in its units. */
export type DaySum = {
  /** Days since the epoch, in UTC. */
  readonly day: number
  /** Null where the token of the events is not known yet. */
  readonly token: Address | null
  readonly type: LedgerTypeName
  readonly rows: bigint
  readonly amount: bigint
  readonly fee: bigint
  readonly notional: bigint
}

type Cells = { readonly [F in Exclude<keyof DaySum, 'token'>]: string } & { readonly token: Buffer | null }

/** Creates the query of totals. It throws `service_unavailable` when the database is out of reach. */
export const createTotals = (database: Pick<Database, 'run'>) => ({
  /**
   * The sums by day of the rows of a chain's ledger up to a block, in the order of the days. Null while the ledger lacks
   * logs, or too many of its rows are not summed yet.
   */
  async daysUpTo(
    chainId: ChainId,
    { number, timestamp }: Pick<StoredBlock, 'number' | 'timestamp'>,
  ): Promise<readonly DaySum[] | null> {
    const lastDay = sql`(${timestamp}::bigint / ${DAY_SECONDS})`
    // The stored sums, if they do not go beyond the block; else those of the days before.
    const isWithin = sql`(mark.number <= ${number})`
    const found = await database.run((handle) =>
      handle.execute<Cells & { readonly usable: boolean }>(sql`WITH mark AS MATERIALIZED (
        SELECT coalesce(totals_number, -1) AS number, ledger_number = block_number AND NOT ${hasGap(chainId)} AS is_complete
        FROM ${cursors} WHERE chain_id = ${chainId}
      ), base AS MATERIALIZED (
        SELECT is_complete, CASE WHEN ${isWithin} THEN number ELSE coalesce((SELECT block_number FROM ${ledger}
          WHERE chain_id = ${chainId} AND block_number <= ${number} AND block_timestamp < ${lastDay} * ${DAY_SECONDS}
          ORDER BY block_number DESC LIMIT 1), -1) END AS number FROM mark
      ), usable AS MATERIALIZED (
        SELECT is_complete AND (SELECT count(*) FROM (SELECT FROM ${ledger} WHERE chain_id = ${chainId}
          AND block_number > base.number AND block_number <= ${number} LIMIT ${MAX_ROWS + 1}) AS live) <= ${MAX_ROWS} AS usable FROM base
      )
      SELECT usable, sums.* FROM usable LEFT JOIN LATERAL (
        SELECT day::bigint, token, type, rows, amount, fee, notional FROM ${ledgerDays}, mark
          WHERE chain_id = ${chainId} AND (${isWithin} OR day < ${lastDay})
        UNION ALL ${totalsText(sql`${chainId}`, sql`(SELECT number FROM base)`, sql`${number}::bigint`)}
      ) AS sums ON usable ORDER BY day`),
    )
    if (found.rows[0]?.usable !== true) return null
    // There are few tokens, and the checksum of an address takes longer than the rest of a row.
    const tokens = new Map<string, Address>()
    const tokenOf = (stored: Buffer): Address => {
      const key = stored.toString('latin1')
      const token = tokens.get(key) ?? (ledgerDays.token.mapFromDriverValue(stored) as Address)
      tokens.set(key, token)
      return token
    }
    return found.rows.flatMap(({ day, token, type, rows, amount, fee, notional }) =>
      day === null
        ? []
        : {
            day: Number(day),
            token: token === null ? null : tokenOf(token),
            type: ledgerTypeOf(Number(type)),
            rows: BigInt(rows),
            amount: BigInt(amount),
            fee: BigInt(fee),
            notional: BigInt(notional),
          },
    )
  },
})
