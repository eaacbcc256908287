import { and, eq, gt, lte, sql } from 'drizzle-orm'
import type { ChainId } from '../../../protocol/chains.ts'
import { type Entity, kinds } from '../../../protocol/entities.ts'
import type { Database, Handle } from '../../pool.ts'
import { ageOf } from '../../schema/columns.ts'
import * as work from '../../schema/work.ts'
import { entityTables, type StoredBlock } from '../../stored.ts'
import { lastIdAt } from '../facts.ts'
import { newestAnchor, readCursor } from '../work/progress.ts'
import { type AuditedKind, readIndexedRows, tablesOf } from './rows.ts'

/** The part of the index that one run of the audit compares. */
export type Slice = Readonly<NonNullable<Awaited<ReturnType<typeof readSlice>>>>

/** The results of a run, as numbers of entities. */
export type Findings = {
  readonly compared: number
  readonly differences: number
  readonly repaired: number
  /** The description of the last difference; null when there was none. */
  readonly lastDifference: string | null
}

/** The position from which the audit of a chain starts a round. */
const firstPosition = { kind: 'event', nextId: 0n } as const

/**
 * Reads the next slice of at most `size` ids, up to the cursor, in one snapshot; null while nothing is indexed. If the
 * index is proved up to the anchor, the slice also has the first id that must not exist. Otherwise the follower may
 * just be reading the ids after the last row.
 */
export const readSlice = (database: Database, chainId: ChainId, size: bigint) =>
  database.snapshot(async (handle) => {
    const cursor = await readCursor(handle, chainId)
    const anchor = await newestAnchor(handle, chainId)
    if (cursor === null || anchor === null) return null
    const [row] = await handle.select().from(work.audits).where(eq(work.audits.chainId, chainId))
    const { kind, nextId } = row ?? firstPosition
    const last = await lastIdAt(handle, chainId, kind, cursor.number)
    const [heartbeat] = await handle.select().from(work.heartbeats).where(eq(work.heartbeats.chainId, chainId))
    const isProven = anchor.number === cursor.number && (heartbeat?.provenNumber ?? -1n) >= cursor.number
    const end = isProven ? (last ?? 0n) + 1n : (last ?? -1n)
    const most = nextId + size - 1n
    const ids = idsIn(nextId, most < end ? most : end)
    const indexed = await readIndexedRows(handle, chainId, anchor, kind, ids)
    /** The number of ids of which the index has a row. */
    const rowCount = indexed.rows[tablesOf[kind][0]]?.size ?? 0
    return { kind, nextId, ...indexed, ids, rowCount, isLast: most >= end }
  })

/** The ids of a range, both ends included. */
export const idsIn = (from: bigint, upTo: bigint): bigint[] =>
  Array.from({ length: upTo < from ? 0 : Number(upTo - from) + 1 }, (_, at) => from + BigInt(at))

/** Rows of one kind in the index, as of one snapshot. */
export type Part = Readonly<NonNullable<Awaited<ReturnType<typeof readPart>>>>

/**
 * Reads the rows of the ids that `choose` returns for the last id of the kind (null when there is none); null while
 * nothing is indexed. If facts are complete up to the block (`isComplete`), no id after the last one exists there.
 */
export const readPart = (
  database: Database,
  chainId: ChainId,
  kind: AuditedKind,
  choose: (last: bigint | null) => readonly bigint[],
) =>
  database.snapshot(async (handle) => {
    const cursor = await readCursor(handle, chainId)
    const anchor = await newestAnchor(handle, chainId)
    if (cursor === null || anchor === null) return null
    const last = kind === 'chain' ? null : await lastIdAt(handle, chainId, kind, cursor.number)
    const ids = choose(last)
    const indexed = await readIndexedRows(handle, chainId, anchor, kind, ids)
    return { ...indexed, ids, last, isComplete: anchor.number === cursor.number }
  })

/**
 * Stores the findings of a slice and moves the audit to the next one. Returns false when another process has done so
 * already: then the caller must not store repairs of this slice either.
 */
export const saveSlice = async (handle: Handle, chainId: ChainId, slice: Slice, found: Findings) => {
  const zero = { ...firstPosition, compared: 0n, rounds: 0n, differences: 0n, repaired: 0n }
  const at = { blockNumber: slice.anchor.number, blockHash: slice.anchor.hash, auditedAt: sql`now()` }
  await handle
    .insert(work.audits)
    .values({ chainId, ...zero, ...at })
    .onConflictDoNothing()
  const [row] = await handle.select().from(work.audits).where(eq(work.audits.chainId, chainId)).for('update')
  if (row?.kind !== slice.kind || row.nextId !== slice.nextId) return false
  const nextKind = slice.isLast ? kinds[kinds.indexOf(slice.kind) + 1] : slice.kind
  const isRound = nextKind === undefined
  await handle
    .update(work.audits)
    .set({
      ...at,
      kind: nextKind ?? firstPosition.kind,
      nextId: slice.isLast ? 0n : slice.nextId + BigInt(slice.ids.length),
      compared: sql`${work.audits.compared} + ${found.compared}`,
      differences: sql`${work.audits.differences} + ${found.differences}`,
      repaired: sql`${work.audits.repaired} + ${found.repaired}`,
      ...(isRound && { rounds: sql`${work.audits.rounds} + 1`, roundAt: sql`now()` }),
      ...(found.lastDifference !== null && { lastDifference: found.lastDifference, lastDifferenceAt: sql`now()` }),
    })
    .where(eq(work.audits.chainId, chainId))
  return true
}

/** The block of the next row after an id, or `at` if that is lower: the entity existed by then. */
export const blockAfter = async (
  handle: Handle,
  chainId: ChainId,
  { kind, id }: Entity,
  at: StoredBlock,
): Promise<StoredBlock> => {
  const table = entityTables[kind].facts
  const [row] = await handle
    .select({ number: table.blockNumber, hash: table.blockHash, timestamp: table.blockTimestamp })
    .from(table)
    .where(and(eq(table.chainId, chainId), gt(table.id, id), lte(table.blockNumber, at.number)))
    .orderBy(table.id)
    .limit(1)
  return row ?? at
}

/** The results of a chain's audit; null before its first run. The age of the last difference is in seconds. */
export const readAudit = async (handle: Handle, chainId: ChainId) => {
  const [found] = await handle
    .select({ audit: work.audits, ageSeconds: ageOf(work.audits.lastDifferenceAt) })
    .from(work.audits)
    .where(eq(work.audits.chainId, chainId))
  if (found === undefined) return null
  const { blockNumber, auditedAt, compared, rounds, roundAt, differences, repaired } = found.audit
  const { lastDifference: difference, lastDifferenceAt: at } = found.audit
  const last = difference === null || at === null ? null : { difference, at, ageSeconds: found.ageSeconds }
  return { blockNumber, auditedAt, compared, rounds, roundAt, differences, repaired, last }
}
