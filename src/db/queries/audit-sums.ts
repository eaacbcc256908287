import { type SQL, sql } from 'drizzle-orm'
import type { ChainId } from '../../protocol/chains.ts'
import { ledgerTypeOf } from '../../protocol/ledger.ts'
import type { Database } from '../pool.ts'
import { cursors } from '../schema/index-state.ts'
import { ledger } from '../schema/ledger.ts'
import { ledgerDays } from '../schema/totals.ts'
import { DAY_SECONDS, totalsText } from '../totals-text.ts'
import { firstBlockFrom } from './activity.ts'

const DAY = 86_400n

/** The day of the first or the last summed row of the ledger. */
const endOfRows = (chainId: ChainId, order: SQL): SQL => sql`(SELECT block_timestamp / ${DAY_SECONDS} FROM ${ledger}
  WHERE chain_id = ${chainId} AND block_number <= (SELECT totals_number FROM ${cursors} WHERE chain_id = ${chainId})
  ORDER BY block_number ${order} LIMIT 1)`

/** The first and the last day (since the epoch) with sums or with summed rows of the ledger; null without any. */
export const summedDays = async (
  database: Pick<Database, 'run'>,
  chainId: ChainId,
): Promise<{ readonly first: bigint; readonly last: bigint } | null> => {
  const { rows } = await database.run((handle) =>
    handle.execute<{ first: string | null; last: string | null }>(sql`
      WITH days AS (SELECT min(day)::bigint AS low, max(day)::bigint AS high FROM ${ledgerDays} WHERE chain_id = ${chainId}
        UNION ALL SELECT ${endOfRows(chainId, sql`ASC`)}, ${endOfRows(chainId, sql`DESC`)})
      SELECT min(low)::text AS first, max(high)::text AS last FROM days`),
  )
  const [found] = rows
  return found?.first == null || found.last === null ? null : { first: BigInt(found.first), last: BigInt(found.last) }
}

/** The sums of a day that are not those of the rows of the ledger, each as a text. */
export const differentSums = async (
  database: Pick<Database, 'run' | 'rows'>,
  chainId: ChainId,
  day: bigint,
): Promise<readonly string[]> => {
  const low = await firstBlockFrom(database, chainId, day * DAY)
  const high = await firstBlockFrom(database, chainId, (day + 1n) * DAY)
  const mark = sql`(SELECT coalesce(totals_number, -1) FROM ${cursors} WHERE chain_id = ${chainId})`
  const summed = totalsText(sql`${chainId}`, sql`${low - 1n}::bigint`, sql`least(${high - 1n}::bigint, ${mark})`)
  const { rows } = await database.run((handle) =>
    handle.execute<{ token: string | null; type: number; stored: string | null; added: string | null }>(sql`
      SELECT encode(token, 'hex') AS token, type, known.sums AS stored, own.sums AS added
      FROM (SELECT token, type, row(rows, amount, fee, notional)::text AS sums FROM ${ledgerDays} WHERE chain_id = ${chainId} AND day = ${day}) AS known
      FULL JOIN (SELECT token, type, row(rows, amount, fee, notional)::text AS sums FROM (${summed}) AS days) AS own USING (token, type)
      WHERE known.sums IS DISTINCT FROM own.sums ORDER BY 1, 2`),
  )
  const date = new Date(Number(day * DAY) * 1_000).toISOString().slice(0, 10)
  return rows.map(
    ({ token, type, stored, added }) =>
      `ledger_days ${date} 0x${token} ${ledgerTypeOf(type)}: ${stored ?? 'no sums'} stored, ${added ?? 'no rows'} in the ledger`,
  )
}
