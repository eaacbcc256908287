import { and, eq, gt, sql } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import type { ChainId } from '../protocol/chains.ts'
import { type Kind, kinds } from '../protocol/kinds.ts'
import type { Fact } from '../protocol/logs.ts'
import { copyMany } from './bulk.ts'
import { announce } from './changes.ts'
import { forgetProof } from './looks.ts'
import type { Copy, Handle } from './pool.ts'
import { byKind } from './progress.ts'
import * as t from './schema.ts'
import { type Scopes, settlementsScope, union } from './scopes.ts'
import { type Draft, insertSettlements, settlementsAbove } from './settlements.ts'
import { entityTables, type StoredBlock } from './stored.ts'
import { again, holdNotes, markUnobserved } from './unobserved.ts'

/** A fact and the time of its block, in Unix seconds. */
export type DatedFact = Fact & { readonly blockTimestamp: bigint }

/** Writes new facts. One that is there already is a fault: ids are dense, and what is written follows the last ones. */
export const insertFacts = async (copy: Copy, chainId: ChainId, facts: readonly DatedFact[]): Promise<void> => {
  const sorted = byKind(facts)
  for (const kind of kinds) await copyMany(copy, entityTables[kind].facts, { chainId }, sorted[kind])
}

const columnsOf = (chainId: ChainId, block: StoredBlock) => ({
  chainId,
  blockNumber: block.number,
  blockHash: block.hash,
  blockTimestamp: block.timestamp,
})

/** Remembers a block at which something was written, and whether facts are complete up to it. */
export const addAnchor = async (
  handle: Handle,
  chainId: ChainId,
  block: StoredBlock,
  complete: boolean,
): Promise<void> => {
  const row = { ...columnsOf(chainId, block), complete }
  await handle
    .insert(t.anchors)
    .values(row)
    .onConflictDoUpdate({ target: [t.anchors.chainId, t.anchors.blockNumber], set: row })
}

/** Moves the block up to which a chain's facts are complete. */
export const moveCursor = async (handle: Handle, chainId: ChainId, block: StoredBlock): Promise<void> => {
  const row = columnsOf(chainId, block)
  await handle.insert(t.cursors).values(row).onConflictDoUpdate({ target: t.cursors.chainId, set: row })
}

/** Anchors younger than this many blocks are all kept; of those that are older by a power of two, about as many. */
const DENSE_ANCHORS = 512

/** Anchors are thinned once in about so many blocks. */
const THIN_EVERY = 64n

/** Thins the anchors out with age, so that they stay few and a deep reorg still finds one not far below. */
export const thinAnchors = async (handle: Handle, chainId: ChainId, tip: bigint): Promise<void> => {
  if (tip % THIN_EVERY !== 0n) return
  await handle.execute(sql`DELETE FROM ${t.anchors} AS anchor USING (
      SELECT block_number, row_number() OVER (PARTITION BY width, block_number / width ORDER BY block_number) AS nth
      FROM (SELECT block_number, (2 ^ floor(log(2, (${tip}::bigint - block_number) / ${DENSE_ANCHORS}::numeric)))::bigint AS width
        FROM ${t.anchors} WHERE chain_id = ${chainId} AND block_number < ${tip}::bigint - ${DENSE_ANCHORS}) AS aged
    ) AS thinned
    WHERE anchor.chain_id = ${chainId} AND anchor.block_number = thinned.block_number AND thinned.nth > 1`)
}

/** Observations of one kind that are forgotten at once: about a second's work. */
const FORGOTTEN = 20_000

/** Deletes observations from above a block of what was created below it, and notes that; gives how many, `FORGOTTEN` at most. */
const forgetObservations = async (handle: Handle, chainId: ChainId, subject: Kind, number: bigint): Promise<number> => {
  const { observations: table, facts } = entityTables[subject]
  const { rows } = await handle.execute<{ gone: number }>(sql`WITH gone AS (
      DELETE FROM ${table} WHERE chain_id = ${chainId} AND id IN (
        SELECT id FROM ${table} AS seen JOIN ${facts} AS fact USING (chain_id, id)
        WHERE chain_id = ${chainId} AND seen.block_number > ${number} AND fact.block_number <= ${number} LIMIT ${FORGOTTEN}
      ) RETURNING chain_id, id
    ), noted AS (
      INSERT INTO ${t.unobserved} (chain_id, subject, id) SELECT chain_id, ${subject}, id FROM gone ${again}
    ) SELECT count(*)::integer AS gone FROM gone`)
  return rows[0]?.gone ?? 0
}

/**
 * Forgets observations from above `ancestor`, to which the index is about to be taken back, and notes what they were of: right whether it is
 * taken back or not. There may be as many as there are facts, more than one transaction should hold; false when none is left.
 */
export const forgetSome = async (handle: Handle, chainId: ChainId, ancestor: StoredBlock | null): Promise<boolean> => {
  await holdNotes(handle, chainId)
  let isMore = false
  for (const kind of kinds) {
    const gone = await forgetObservations(handle, chainId, kind, ancestor?.number ?? -1n)
    if (gone === FORGOTTEN) isMore = true
  }
  return isMore
}

/**
 * Takes the index back to `ancestor`: deletes facts, observations, anchors and proofs above it, notes the entities whose observation went,
 * moves the cursor to the newest block left up to which facts are complete, and records that it was done. With no ancestor the chain's index starts anew.
 */
export const rollBack = async (handle: Handle, chainId: ChainId, ancestor: StoredBlock | null): Promise<void> => {
  const above = (table: { readonly chainId: PgColumn; readonly blockNumber: PgColumn }) =>
    and(eq(table.chainId, chainId), gt(table.blockNumber, ancestor?.number ?? -1n))
  await holdNotes(handle, chainId)
  while (await forgetSome(handle, chainId, ancestor));
  // Members first: what is deleted with its event needs no texts cleared.
  for (const kind of kinds.toReversed()) {
    await handle.delete(entityTables[kind].observations).where(above(entityTables[kind].observations))
    await handle.delete(entityTables[kind].facts).where(above(entityTables[kind].facts))
  }
  await handle.delete(t.chainObservations).where(above(t.chainObservations))
  await handle.delete(t.upgrades).where(above(t.upgrades))
  await markUnobserved(handle, chainId, [{ subject: 'chain', id: 0n }])
  await handle.delete(t.anchors).where(above(t.anchors))
  await forgetProof(handle, chainId, ancestor?.number ?? -1n)
  const lastNote = sql`coalesce((SELECT max(noted) FROM ${t.unobserved} WHERE chain_id = ${chainId}), 0)`
  await handle.insert(t.rollbacks).values({ chainId, ancestorNumber: ancestor?.number ?? -1n, lastNote })
  await handle.delete(t.cursors).where(above(t.cursors))
  // While entities are read by their ids, facts are not complete up to every anchor.
  await handle.execute(sql`INSERT INTO ${t.cursors} (chain_id, block_number, block_hash, block_timestamp)
    SELECT chain_id, block_number, block_hash, block_timestamp FROM ${t.anchors} WHERE chain_id = ${chainId} AND complete
    ORDER BY block_number DESC LIMIT 1 ON CONFLICT DO NOTHING`)
  // What the blocks above had touched is not known in full any more.
  await tell(handle, chainId, null, await settlementsAbove(handle, chainId, ancestor?.number ?? -1n))
}

/** Announces what was touched, and stores the settlements that it brings. */
export const tell = async (
  handle: Handle,
  chainId: ChainId,
  scopes: Scopes,
  drafts: readonly Draft[],
): Promise<void> => {
  const all = drafts.length === 0 ? scopes : union([scopes, new Set([settlementsScope])])
  const last = await announce(handle, chainId, all, Math.max(1, drafts.length))
  await insertSettlements(handle, chainId, drafts, last)
}
