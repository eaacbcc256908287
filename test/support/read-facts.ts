import { eq } from 'drizzle-orm'
import { readCursor } from '../../src/db/index/work/progress.ts'
import type { Database } from '../../src/db/pool.ts'
import { deposits, events, positions } from '../../src/db/schema/records.ts'
import type { ChainId } from '../../src/protocol/chains.ts'

/**
 * Every fact of a chain by kind, in the order of their ids, and the block up to which they are complete, as of one
 * moment.
 */
export const readAllFacts = (database: Database, chainId: ChainId) =>
  database.snapshot(async (handle) => ({
    cursor: await readCursor(handle, chainId),
    events: await handle.select().from(events).where(eq(events.chainId, chainId)).orderBy(events.id),
    deposits: await handle.select().from(deposits).where(eq(deposits.chainId, chainId)).orderBy(deposits.id),
    positions: await handle.select().from(positions).where(eq(positions.chainId, chainId)).orderBy(positions.id),
  }))

/** The same; null before the first block is complete. */
export const readFacts = async (database: Database, chainId: ChainId) => {
  const { cursor, ...facts } = await readAllFacts(database, chainId)
  return cursor && { cursor, ...facts }
}
