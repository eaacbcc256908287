import { and, desc, eq, lte, sql } from 'drizzle-orm'
import type { ChainId } from '../../../protocol/chains.ts'
import { type Kind, perKind } from '../../../protocol/entities.ts'
import type { Database, Handle } from '../../pool.ts'
import { anchors, cursors } from '../../schema/index-state.ts'
import { entityTables, type FactRow, rowsById, type StoredBlock, storedBlock } from '../../stored.ts'

/** Facts by kind, in their order. */
export const byKind = <F extends { readonly kind: Kind }>(facts: readonly F[]) => {
  const sorted: Record<Kind, F[]> = { event: [], deposit: [], position: [] }
  for (const fact of facts) sorted[fact.kind].push(fact)
  return sorted
}

/** The last id of each kind in the index; null when there is none. */
export type LastIds = Readonly<Record<Kind, bigint | null>>

/**
 * The progress of a chain's index. Facts are complete up to `cursor`. `anchor` is the newest block at which the index
 * was written, which is above the cursor only while entities are read by id.
 */
export type Progress = {
  readonly cursor: StoredBlock | null
  readonly anchor: StoredBlock | null
  readonly last: LastIds
}

/** The block up to which facts are complete; null before the first. */
export const readCursor = async (handle: Handle, chainId: ChainId): Promise<StoredBlock | null> => {
  const [row] = await handle.select().from(cursors).where(eq(cursors.chainId, chainId))
  return row === undefined ? null : storedBlock(row)
}

/** The newest anchors of a chain, optionally at or below a block. */
const newestOf = (handle: Handle, chainId: ChainId, limit: number, upTo?: bigint) =>
  handle
    .select()
    .from(anchors)
    .where(and(eq(anchors.chainId, chainId), upTo === undefined ? undefined : lte(anchors.blockNumber, upTo)))
    .orderBy(desc(anchors.blockNumber))
    .limit(limit)

/** The newest anchor; null before the first. Observations are read at this block. */
export const newestAnchor = async (handle: Handle, chainId: ChainId): Promise<StoredBlock | null> => {
  const [row] = await newestOf(handle, chainId, 1)
  return row === undefined ? null : storedBlock(row)
}

/**
 * The block of a read is no anchor any more, because of a reorg or because anchors were thinned out. Repeat the read.
 */
export class AnchorLost extends Error {
  override readonly name = 'AnchorLost'
}

/**
 * Locks an anchor until the end of the transaction, so that any process, not only the leader, can store what it read at
 * the anchor. A concurrent rollback waits for the transaction. Throws AnchorLost when a rollback came first.
 */
export const holdAnchor = async (handle: Handle, chainId: ChainId, block: StoredBlock): Promise<void> => {
  const held = await handle
    .select({ number: anchors.blockNumber })
    .from(anchors)
    .where(and(eq(anchors.chainId, chainId), eq(anchors.blockNumber, block.number), eq(anchors.blockHash, block.hash)))
    .for('key share')
  if (held.length === 0) throw new AnchorLost(`block ${block.number} of chain ${chainId} is no anchor any more`)
}

/** Reads the progress in one statement, so that it is consistent. */
export const readProgress = (database: Database, chainId: ChainId): Promise<Progress> =>
  database.run(async (handle) => {
    const lastIds = perKind((kind) => {
      const table = entityTables[kind].facts
      return sql<bigint | null>`(SELECT max(${table.id}) FROM ${table} WHERE ${eq(table.chainId, chainId)})`.mapWith(
        table.id,
      )
    })
    const newest = newestOf(handle, chainId, 1).as('newest')
    const { blockNumber, blockHash, blockTimestamp } = newest
    const [row] = await handle
      .select({
        cursor: cursors,
        anchor: { blockNumber, blockHash, blockTimestamp },
        ...lastIds,
      })
      .from(sql`(SELECT) AS here`)
      .leftJoin(cursors, eq(cursors.chainId, chainId))
      .leftJoin(newest, sql`true`)
    const { cursor = null, anchor = null, event = null, deposit = null, position = null } = row ?? {}
    return {
      cursor: cursor && storedBlock(cursor),
      anchor: anchor && storedBlock(anchor),
      last: { event, deposit, position },
    }
  })

/** The anchors at or below `number`, newest first. */
export const anchorsBelow = async (database: Database, chainId: ChainId, number: bigint, limit: number) => {
  const rows = await database.run((handle) => newestOf(handle, chainId, limit, number))
  return rows.map(storedBlock)
}

/** The fact of an entity; null when the index lacks it. */
export const factById = async (database: Database, chainId: ChainId, kind: Kind, id: bigint) => {
  const { facts } = entityTables[kind]
  const rows = await database.run((handle) => rowsById<FactRow<Kind>>(handle, facts, chainId, [id]))
  return rows.get(id) ?? null
}
