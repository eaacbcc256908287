import { getTableColumns, sql } from 'drizzle-orm'
import type { ChainId } from '../../protocol/chains.ts'
import { announce } from '../changes/changes.ts'
import { touchingAll } from '../changes/scopes.ts'
import { logGaps } from '../schema/index-state.ts'
import { ledger, ledgerReversals } from '../schema/ledger.ts'
import { copyTable, type Databases } from './tables.ts'

const isSameLog = sql`other.chain_id = it.chain_id AND other.block_number = it.block_number
  AND other.log_index = it.log_index AND other.block_hash = it.block_hash`

/** Gives the rows of the ledger the numbers of the previous database, which receivers of webhooks have. */
export const carryNumbers = async (databases: Databases): Promise<void> => {
  const { rebuilt } = databases
  await rebuilt.delete(ledgerReversals)
  await copyTable(databases, ledgerReversals)
  await rebuilt.execute(sql`CREATE TEMP TABLE numbered (LIKE ${ledger}) ON COMMIT DROP`)
  await rebuilt.execute(sql`CREATE TEMP TABLE known (LIKE ${ledger}) ON COMMIT DROP`)
  await copyTable(databases, ledger, { into: 'numbered', where: 'seq IS NOT NULL' })
  await rebuilt.execute(sql`ANALYZE numbered`)
  await rebuilt.execute(sql`UPDATE ${ledger} SET seq = NULL WHERE seq IS NOT NULL`)
  await rebuilt.execute(sql`UPDATE ${ledger} AS it SET seq = other.seq FROM numbered AS other WHERE ${isSameLog}`)
}

/**
 * Resets the feed of changes of a chain, and numbers what the previous database, whose last block is `cursor`, did not
 * report: numbered rows that the chain does not have any more, as reversals, and new rows of wallets, as news. Returns
 * how many there are of each.
 */
export const announceRebuilt = async (databases: Databases, chainId: ChainId, cursor: bigint) => {
  const { rebuilt } = databases
  const inGap = sql`SELECT FROM ${logGaps} AS gap WHERE gap.chain_id = it.chain_id
    AND it.block_number BETWEEN gap.from_block AND gap.to_block`
  const removed = sql`SELECT it.* FROM numbered AS it WHERE it.chain_id = ${chainId}
    AND NOT EXISTS (SELECT FROM ${ledger} AS other WHERE ${isSameLog}) AND NOT EXISTS (${inGap})`
  const { rows: lost } = await rebuilt.execute<{ many: number; first: string }>(sql`
    SELECT count(*)::integer AS many, least(min(block_number), ${cursor + 1n}::bigint) AS first FROM (${removed}) AS removed`)
  const [{ many: reversals, first } = { many: 0, first: '0' }] = lost
  await copyTable(databases, ledger, { into: 'known', where: `chain_id = ${chainId} AND block_number >= ${first}` })
  const added = sql`SELECT it.* FROM ${ledger} AS it WHERE it.chain_id = ${chainId} AND it.block_number >= ${first}::bigint
    AND it.wallet IS NOT NULL AND NOT EXISTS (SELECT FROM known AS other WHERE ${isSameLog})`
  const { rows: found } = await rebuilt.execute<{ many: number }>(
    sql`SELECT count(*)::integer AS many FROM (${added}) AS added`,
  )
  const news = found[0]?.many ?? 0
  const last = await announce(rebuilt, chainId, touchingAll('rebuilt'), reversals + news)
  const { seq: _, ...kept } = getTableColumns(ledgerReversals)
  const columns = sql.raw(
    Object.values(kept)
      .map(({ name }) => name)
      .join(),
  )
  await rebuilt.execute(sql`INSERT INTO ${ledgerReversals} (${columns}, seq)
    SELECT ${columns}, ${last - news - reversals}::bigint + row_number() OVER (ORDER BY block_number DESC, log_index DESC)
    FROM (${removed}) AS removed`)
  await rebuilt.execute(sql`UPDATE ${ledger} AS it SET seq = other.number FROM (
      SELECT *, ${last - news}::bigint + row_number() OVER (ORDER BY block_number, log_index) AS number FROM (${added}) AS added
    ) AS other WHERE ${isSameLog}`)
  return { reversals, news }
}
