import { and, desc, eq, lte, sql } from 'drizzle-orm'
import type { ChainId } from '../protocol/chains.ts'
import type { Kind } from '../protocol/kinds.ts'
import type { Database, Handle } from './pool.ts'
import * as t from './schema.ts'
import type { StoredBlock } from './stored.ts'

/** Facts kind by kind, in their order. */
export const byKind = <F extends { readonly kind: Kind }>(
  facts: readonly F[],
): Readonly<Record<Kind, readonly F[]>> => {
  const sorted: Record<Kind, F[]> = { event: [], deposit: [], position: [] }
  for (const fact of facts) sorted[fact.kind].push(fact)
  return sorted
}

/** The last id of each kind in the index; null where there is none. */
export type LastIds = Readonly<Record<Kind, bigint | null>>

/**
 * How far a chain's index has come, for the worker that continues it. Facts are complete up to `cursor`; `anchor` is the newest block at
 * which something was written, above the cursor only while entities are read by their ids.
 */
export type Progress = {
  readonly cursor: StoredBlock | null
  readonly anchor: StoredBlock | null
  readonly last: LastIds
}

const toBlock = (row: Omit<typeof t.cursors.$inferSelect, 'chainId'>): StoredBlock => ({
  number: row.blockNumber,
  hash: row.blockHash,
  timestamp: row.blockTimestamp,
})

/** Of the anchors of a chain, the newest. */
const newestOf = (handle: Handle, chainId: ChainId) =>
  handle.select().from(t.anchors).where(eq(t.anchors.chainId, chainId)).orderBy(desc(t.anchors.blockNumber)).limit(1)

/** The newest block at which something was written; null before the first. What is read to be stored beside the facts is pinned to it. */
export const newestAnchor = async (handle: Handle, chainId: ChainId): Promise<StoredBlock | null> => {
  const [row] = await newestOf(handle, chainId)
  return row === undefined ? null : toBlock(row)
}

/** The block that something was read at is no anchor any more: it left the chain, or newer ones took its place. Read again. */
export class AnchorGone extends Error {
  override readonly name = 'AnchorGone'
}

/**
 * Keeps an anchor for the rest of a transaction, so that what was read at it can be stored by a process that does not lead: a rollback
 * waits, or was first. Throws AnchorGone.
 */
export const holdAnchor = async (handle: Handle, chainId: ChainId, block: StoredBlock): Promise<void> => {
  const held = await handle
    .select({ number: t.anchors.blockNumber })
    .from(t.anchors)
    .where(
      and(eq(t.anchors.chainId, chainId), eq(t.anchors.blockNumber, block.number), eq(t.anchors.blockHash, block.hash)),
    )
    .for('key share')
  if (held.length === 0) throw new AnchorGone(`block ${block.number} of chain ${chainId} is no anchor any more`)
}

/** Reads all of it in one statement, and so as of one moment. */
export const readProgress = (database: Database, chainId: ChainId): Promise<Progress> =>
  database.run(async (handle) => {
    const lastOf = (table: typeof t.events | typeof t.deposits | typeof t.positions) =>
      sql`(SELECT max(${table.id}) FROM ${table} WHERE ${eq(table.chainId, chainId)})`.mapWith(table.id)
    const newest = newestOf(handle, chainId).as('newest')
    const { blockNumber, blockHash, blockTimestamp } = newest
    const [row] = await handle
      .select({
        cursor: t.cursors,
        anchor: { blockNumber, blockHash, blockTimestamp },
        event: lastOf(t.events),
        deposit: lastOf(t.deposits),
        position: lastOf(t.positions),
      })
      .from(sql`(SELECT) AS here`)
      .leftJoin(t.cursors, eq(t.cursors.chainId, chainId))
      .leftJoin(newest, sql`true`)
    const { cursor = null, anchor = null, event = null, deposit = null, position = null } = row ?? {}
    return { cursor: cursor && toBlock(cursor), anchor: anchor && toBlock(anchor), last: { event, deposit, position } }
  })

/** Anchors at or below `number`, newest first. */
export const anchorsBelow = async (
  database: Database,
  chainId: ChainId,
  number: bigint,
  limit: number,
): Promise<StoredBlock[]> => {
  const rows = await database.run((handle) =>
    handle
      .select()
      .from(t.anchors)
      .where(and(eq(t.anchors.chainId, chainId), lte(t.anchors.blockNumber, number)))
      .orderBy(desc(t.anchors.blockNumber))
      .limit(limit),
  )
  return rows.map(toBlock)
}

/** The number of the block in which an entity was created; null for one that the index does not hold. */
export const createdIn = async (
  database: Database,
  chainId: ChainId,
  kind: Kind,
  id: bigint,
): Promise<bigint | null> => {
  const table = { event: t.events, deposit: t.deposits, position: t.positions }[kind]
  const [row] = await database.run((handle) =>
    handle
      .select({ number: table.blockNumber })
      .from(table)
      .where(and(eq(table.chainId, chainId), eq(table.id, id))),
  )
  return row?.number ?? null
}

type Facts = {
  readonly events: (typeof t.events.$inferSelect)[]
  readonly deposits: (typeof t.deposits.$inferSelect)[]
  readonly positions: (typeof t.positions.$inferSelect)[]
}

/** Every fact of a chain and the block up to which they are complete, as of one moment; null before the first block. */
export const readFacts = (
  database: Database,
  chainId: ChainId,
): Promise<(Facts & { readonly cursor: StoredBlock }) | null> =>
  database.snapshot(async (handle) => {
    const [cursor] = await handle.select().from(t.cursors).where(eq(t.cursors.chainId, chainId))
    if (cursor === undefined) return null
    return {
      cursor: toBlock(cursor),
      events: await handle.select().from(t.events).where(eq(t.events.chainId, chainId)).orderBy(t.events.id),
      deposits: await handle.select().from(t.deposits).where(eq(t.deposits.chainId, chainId)).orderBy(t.deposits.id),
      positions: await handle
        .select()
        .from(t.positions)
        .where(eq(t.positions.chainId, chainId))
        .orderBy(t.positions.id),
    }
  })
