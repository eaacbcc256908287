import { type SQL, sql } from 'drizzle-orm'
import type { ChainId } from '../../protocol/chains.ts'
import { requestRefresh } from '../index/work/refresh-queue.ts'
import { settlements } from '../schema/index-state.ts'
import { copyTable, type Databases } from './tables.ts'

const newest = sql`SELECT DISTINCT ON (chain_id, event_id) * FROM ${settlements} ORDER BY chain_id, event_id, seq DESC`

/** Whether two rows of events report the same settlement. */
const isSame = sql`old.settled_at = new.settled_at AND old.triggered = new.triggered AND old.settlement_price = new.settlement_price`
const areSettled = sql`old.type = 'settled' AND new.type = 'settled'`

/**
 * Replaces the record of settlements by that of the previous database, whose numbers clients have. Where the index found
 * another settlement of an event, the event is observed again, which records the difference under a new number. Returns
 * the numbers of settlements and of these events.
 */
export const carrySettlements = async (databases: Databases) => {
  const { rebuilt } = databases
  await rebuilt.execute(sql`CREATE TEMP TABLE found_settlements ON COMMIT DROP AS ${newest}`)
  await rebuilt.delete(settlements)
  const rows = await copyTable(databases, settlements)
  // The block of a settlement that is not final may not be on the chain any more.
  await rebuilt.execute(sql`UPDATE ${settlements} AS kept SET block_number = new.block_number, block_hash = new.block_hash
    FROM (${newest}) AS old JOIN found_settlements AS new USING (chain_id, event_id)
    WHERE kept.seq = old.seq AND old.finalized_seq IS NULL AND ${areSettled} AND ${isSame}`)
  const other: SQL = sql`SELECT chain_id, event_id FROM (${newest}) AS old FULL JOIN found_settlements AS new USING (chain_id, event_id)
    WHERE (old.type = 'settled') IS DISTINCT FROM (new.type = 'settled') AND 'settled' IN (old.type, new.type)
      OR ${areSettled} AND NOT (${isSame})`
  const { rows: differing } = await rebuilt.execute<{ chain_id: ChainId; event_id: string }>(other)
  for (const chainId of new Set(differing.map((row) => row.chain_id))) {
    const events = differing.filter((row) => row.chain_id === chainId)
    const ids = events.map((row) => ({ subject: 'event' as const, id: BigInt(row.event_id) }))
    await requestRefresh(rebuilt, chainId, ids)
  }
  return { settlements: rows, events: differing.length }
}
