import { and, eq, gt, sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import type { Fact } from '../../protocol/abi/logs.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { kinds } from '../../protocol/entities.ts'
import { copyMany } from '../bulk.ts'
import { announce } from '../changes/changes.ts'
import { suspendFeed } from '../changes/feed.ts'
import {
  MOST_SCOPES,
  settlementsScope,
  type Touched,
  touchedAbove,
  touchedByMembers,
  touching,
  touchingAll,
  union,
} from '../changes/scopes.ts'
import type { Copy, Handle } from '../pool.ts'
import { anchors, cursors, refreshQueue, rollbacks, settlementLogs, upgrades } from '../schema/index-state.ts'
import { ledger } from '../schema/ledger.ts'
import * as t from '../schema/records.ts'
import { blockColumns, entityTables, type StoredBlock } from '../stored.ts'
import { insertReversals, newsAbove } from './ledger-reversals.ts'
import { type Draft, insertSettlements, keepSettlements, settlementsAbove } from './settlements.ts'
import { forgetSums } from './totals.ts'
import { deleteProof } from './work/heartbeat.ts'
import { cutGaps } from './work/log-gaps.ts'
import { byKind } from './work/progress.ts'
import { lockRefreshQueue, onConflictRaiseVersion, requestRefresh } from './work/refresh-queue.ts'

/** What a log reports, with the time of its block in Unix seconds. */
export type Dated<T> = T & { readonly blockTimestamp: bigint }

export type DatedFact = Dated<Fact>

/** Inserts new facts. A fact that exists already is an error: ids are dense, and new facts follow the last ones. */
export const insertFacts = async (copy: Copy, chainId: ChainId, facts: readonly DatedFact[]): Promise<void> => {
  const sorted = byKind(facts)
  for (const kind of kinds) await copyMany(copy, entityTables[kind].facts, { chainId }, sorted[kind])
}

/** Stores a block at which the index was written, and whether facts are complete up to it. */
export const addAnchor = async (handle: Handle, chainId: ChainId, block: StoredBlock, complete: boolean) => {
  const row = { chainId, ...blockColumns(block), complete }
  await handle
    .insert(anchors)
    .values(row)
    .onConflictDoUpdate({ target: [anchors.chainId, anchors.blockNumber], set: row })
}

/**
 * Moves the block up to which a chain's facts are complete. With `hasLogs`, the fee rates after the old cursor are stored
 * too; they are then complete up to the block if they were complete up to the old cursor. The logs of the blocks between
 * must be in the ledger, or the blocks in a gap.
 */
export const moveCursor = async (
  handle: Handle,
  chainId: ChainId,
  block: StoredBlock,
  { hasLogs = false } = {},
): Promise<void> => {
  const row = { chainId, ...blockColumns(block) }
  const byLogs = hasLogs ? { feesNumber: block.number, feesHash: block.hash } : {}
  const { feesNumber, feesHash, ledgerNumber, blockNumber } = cursors
  const moved = (column: PgColumn, number: PgColumn) =>
    sql`CASE WHEN ${number} = ${blockNumber} THEN ${sql.raw(`excluded.${column.name}`)} ELSE ${column} END`
  await handle
    .insert(cursors)
    .values({ ...row, ledgerNumber: block.number, ...byLogs })
    .onConflictDoUpdate({
      target: cursors.chainId,
      set: {
        ...row,
        ledgerNumber: moved(ledgerNumber, ledgerNumber),
        ...(hasLogs && { feesNumber: moved(feesNumber, feesNumber), feesHash: moved(feesHash, feesNumber) }),
      },
    })
}

/** Anchors of this many newest blocks are all kept. Of each older age, which doubles, about as many are kept. */
const DENSE_ANCHORS = 512

/** How often anchors are thinned, in blocks. */
const THIN_EVERY = 64n

/**
 * Thins out anchors with age, so that they stay few and a deep reorg still finds an anchor not far below the fork: at
 * every block `tip` that `every` divides.
 */
export const pruneAnchors = async (
  handle: Handle,
  chainId: ChainId,
  tip: bigint,
  { dense = DENSE_ANCHORS, every = THIN_EVERY } = {},
): Promise<void> => {
  if (tip % every !== 0n) return
  await handle.execute(sql`DELETE FROM ${anchors} AS anchor USING (
      SELECT block_number, row_number() OVER (PARTITION BY width, block_number / width ORDER BY block_number) AS nth
      FROM (SELECT block_number, (2 ^ floor(log(2, (${tip}::bigint - block_number) / ${dense}::numeric)))::bigint AS width
        FROM ${anchors} WHERE chain_id = ${chainId} AND block_number < ${tip}::bigint - ${dense}::bigint) AS aged
    ) AS thinned
    WHERE anchor.chain_id = ${chainId} AND anchor.block_number = thinned.block_number AND thinned.nth > 1`)
}

/** Observations of one kind that are deleted per transaction: about one second of work. */
const DELETE_BATCH = 20_000

/**
 * Deletes a batch of observations above `ancestor` of entities that were created at or below it, and requests their
 * refresh. Correct whether or not the rollback follows. There may be as many observations as facts, too many for one
 * transaction. Returns false when none is left.
 */
export const deleteSomeObservations = async (
  handle: Handle,
  chainId: ChainId,
  ancestor: StoredBlock | null,
  batch = DELETE_BATCH,
): Promise<boolean> => {
  await lockRefreshQueue(handle, chainId)
  const number = ancestor?.number ?? -1n
  let isMore = false
  for (const kind of kinds) {
    const { observations: table, facts } = entityTables[kind]
    const { rows } = await handle.execute<{ gone: number }>(sql`WITH gone AS (
        DELETE FROM ${table} WHERE chain_id = ${chainId} AND id IN (
          SELECT id FROM ${table} AS seen JOIN ${facts} AS fact USING (chain_id, id)
          WHERE chain_id = ${chainId} AND seen.block_number > ${number} AND fact.block_number <= ${number} LIMIT ${batch}
        ) RETURNING chain_id, id
      ), requested AS (
        INSERT INTO ${refreshQueue} (chain_id, subject, id) SELECT chain_id, ${kind}, id FROM gone ${onConflictRaiseVersion}
      ) SELECT count(*)::integer AS gone FROM gone`)
    if (rows[0]?.gone === batch) isMore = true
  }
  return isMore
}

/**
 * Rolls the index back to `ancestor`: deletes facts, observations (that of the protocol too), rows of the ledger and
 * their sums, fee rates, upgrades, logs of settlements, gaps, anchors and proofs above it, requests a refresh of the
 * protocol and of the entities whose observations were deleted, moves the cursor to the newest remaining block up to
 * which facts are complete, and records the rollback. Without an ancestor the chain's index starts again from the first
 * block.
 */
export const rollBack = async (
  handle: Handle,
  chainId: ChainId,
  ancestor: StoredBlock | null,
  batch = DELETE_BATCH,
): Promise<void> => {
  const ancestorNumber = ancestor?.number ?? -1n
  const removeAbove = (table: PgTable & { readonly chainId: PgColumn; readonly blockNumber: PgColumn }) =>
    handle.delete(table).where(and(eq(table.chainId, chainId), gt(table.blockNumber, ancestorNumber)))
  await lockRefreshQueue(handle, chainId)
  if (ancestor !== null) await keepSettlements(handle, chainId, ancestor)
  const reverted = await settlementsAbove(handle, chainId, ancestorNumber)
  // More are a reset, as more subjects are.
  const removed = await newsAbove(handle, chainId, ancestorNumber, MOST_SCOPES + 1)
  const touched = union([
    touchingAll(removed.length > MOST_SCOPES ? 'many_changes' : null),
    await touchedAbove(handle, chainId, ancestorNumber),
    await touchedByMembers(
      handle,
      chainId,
      reverted.map(({ eventId }) => eventId),
    ),
  ])
  while (await deleteSomeObservations(handle, chainId, ancestor, batch));
  for (const kind of kinds.toReversed()) {
    await removeAbove(entityTables[kind].observations)
    await removeAbove(entityTables[kind].facts)
  }
  await forgetSums(handle, chainId, ancestorNumber + 1n)
  await removeAbove(ledger)
  await removeAbove(t.feeRates)
  await removeAbove(t.chainObservations)
  await removeAbove(upgrades)
  await removeAbove(settlementLogs)
  await cutGaps(handle, chainId, ancestorNumber)
  await requestRefresh(handle, chainId, [{ subject: 'chain', id: 0n }])
  await removeAbove(anchors)
  await deleteProof(handle, chainId, ancestorNumber)
  const lastRequest = sql`coalesce((SELECT max(sequence) FROM ${refreshQueue} WHERE chain_id = ${chainId}), 0)`
  await handle.insert(rollbacks).values({ chainId, ancestorNumber, lastRequest })
  // While entities are read by id, facts are not complete up to every anchor. Fee rates may be complete up to an earlier
  // block, which stays.
  await handle.execute(sql`WITH gone AS (
      DELETE FROM ${cursors} WHERE chain_id = ${chainId} AND block_number > ${ancestorNumber} RETURNING fees_number, fees_hash, ledger_number, totals_number
    ) INSERT INTO ${cursors} (chain_id, block_number, block_hash, block_timestamp, ledger_number, totals_number, fees_number, fees_hash)
    SELECT chain_id, block_number, block_hash, block_timestamp,
      CASE WHEN ledger_number > block_number THEN block_number ELSE ledger_number END, totals_number,
      CASE WHEN fees_number > block_number THEN block_number ELSE fees_number END,
      CASE WHEN fees_number > block_number THEN block_hash ELSE fees_hash END
    FROM gone CROSS JOIN (SELECT * FROM ${anchors} WHERE chain_id = ${chainId} AND complete ORDER BY block_number DESC LIMIT 1) AS newest`)
  if (ancestor === null) await suspendFeed(handle, chainId, 'rebuilt')
  // Which cached answers showed the orphaned blocks is not known completely, so all count as changed.
  const isReset = ancestor === null || touched.reset !== null
  await announceChanges(handle, chainId, touched, reverted, isReset ? [] : removed)
}

/** Announces what was touched, and stores the settlements and the removed rows of the ledger among the changes. */
export const announceChanges = async (
  handle: Handle,
  chainId: ChainId,
  touched: Touched,
  drafts: readonly Draft[],
  removed: Parameters<typeof insertReversals>[1] = [],
) => {
  const all = drafts.length === 0 ? touched : union([touched, touching(settlementsScope)])
  const last = await announce(handle, chainId, all, removed.length + drafts.length)
  await insertReversals(handle, removed, last - drafts.length)
  await insertSettlements(handle, chainId, drafts, last)
}
