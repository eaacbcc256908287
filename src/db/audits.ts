import { and, eq, gt, lte, sql } from 'drizzle-orm'
import type { ChainId } from '../protocol/chains.ts'
import { type Kind, kinds } from '../protocol/kinds.ts'
import { type AuditedKind, type Held, readHeld, tablesOf } from './audit-rows.ts'
import { type IdRange, lastIdAt } from './facts.ts'
import type { Database, Handle } from './pool.ts'
import { newestAnchor } from './progress.ts'
import type { Renderer } from './rendering.ts'
import * as t from './schema.ts'
import * as work from './schema-work.ts'
import type { StoredBlock } from './stored.ts'

/** Where the audit of a chain goes on. */
type Mark = { readonly kind: Kind; readonly nextId: bigint }

/** The part of the index that one run of the audit compares. */
export type Slice = Mark &
  Held & {
    readonly ids: readonly bigint[]
    /** Entities that the index has among the ids. */
    readonly rowCount: number
    /** Nothing of the kind lies beyond. */
    readonly isLast: boolean
  }

/** What a run found, in numbers of entities. */
export type Findings = {
  readonly compared: number
  readonly differences: number
  readonly repaired: number
  /** The last difference in words; null when there was none. */
  readonly lastDifference: string | null
}

/** How far the audit has come, for people; ages in seconds, by the clock of the database. */
export type AuditState = Pick<
  typeof work.audits.$inferSelect,
  'blockNumber' | 'auditedAt' | 'compared' | 'rounds' | 'roundAt' | 'differences' | 'repaired'
> & { readonly last: { readonly difference: string; readonly at: Date; readonly ageSeconds: number } | null }

const begin: Mark = { kind: 'event', nextId: 0n }

const isKind = (text: string): text is Kind => kinds.some((kind) => kind === text)

const markOf = (row: Pick<typeof work.audits.$inferSelect, 'kind' | 'nextId'> | undefined): Mark =>
  row !== undefined && isKind(row.kind) ? { kind: row.kind, nextId: row.nextId } : begin

/**
 * The next slice of at most `size` ids, up to the cursor, as of one moment; null while nothing is indexed. Where the index is proved up to
 * the anchor, the first id that must not exist is part of it; else what lies beyond the last row may be a range that is looked for just now.
 */
export const readSlice = (
  database: Database,
  chainId: ChainId,
  renderer: Renderer,
  size: bigint,
): Promise<Slice | null> =>
  database.snapshot(async (handle) => {
    const [cursor] = await handle.select().from(t.cursors).where(eq(t.cursors.chainId, chainId))
    const anchor = await newestAnchor(handle, chainId)
    if (cursor === undefined || anchor === null) return null
    const [row] = await handle.select().from(work.audits).where(eq(work.audits.chainId, chainId))
    const mark = markOf(row)
    const last = await lastIdAt(handle, chainId, mark.kind, cursor.blockNumber)
    const [look] = await handle
      .select({ proven: work.looks.provenNumber })
      .from(work.looks)
      .where(eq(work.looks.chainId, chainId))
    const isProven = anchor.number === cursor.blockNumber && (look?.proven ?? -1n) >= cursor.blockNumber
    const end = isProven ? (last ?? 0n) + 1n : (last ?? -1n)
    const most = mark.nextId + size - 1n
    const ids = idsIn({ from: mark.nextId, upTo: most < end ? most : end })
    const held = await readHeld(handle, chainId, anchor, mark.kind, ids, renderer)
    const rowCount = held.rows[tablesOf[mark.kind][0]]?.size ?? 0
    return { ...mark, ...held, ids, rowCount, isLast: most >= end }
  })

/** The ids of a range. */
export const idsIn = ({ from, upTo }: IdRange): bigint[] =>
  Array.from({ length: upTo < from ? 0 : Number(upTo - from) + 1 }, (_, at) => from + BigInt(at))

/** What the index holds of one kind, as of one moment. */
export type Part = Held & {
  readonly ids: readonly bigint[]
  /** The last id of the kind; null when there is none. */
  readonly last: bigint | null
  /** Facts are complete up to the block: nothing of the kind lies beyond the last id there. */
  readonly isComplete: boolean
}

/** Reads the rows of the ids that `choose` picks once the last one is known; null while nothing is indexed. */
export const readPart = (
  database: Database,
  chainId: ChainId,
  renderer: Renderer,
  kind: AuditedKind,
  choose: (last: bigint | null) => readonly bigint[],
): Promise<Part | null> =>
  database.snapshot(async (handle) => {
    const [cursor] = await handle.select().from(t.cursors).where(eq(t.cursors.chainId, chainId))
    const anchor = await newestAnchor(handle, chainId)
    if (cursor === undefined || anchor === null) return null
    const last = kind === 'chain' ? null : await lastIdAt(handle, chainId, kind, cursor.blockNumber)
    const ids = choose(last)
    const held = await readHeld(handle, chainId, anchor, kind, ids, renderer)
    return { ...held, ids, last, isComplete: anchor.number === cursor.blockNumber }
  })

/**
 * Stores what a slice came to and moves on to the next. False when another process has done so already: then nothing is to be written of
 * this one.
 */
export const saveSlice = async (handle: Handle, chainId: ChainId, slice: Slice, found: Findings): Promise<boolean> => {
  const zero = { ...begin, compared: 0n, rounds: 0n, differences: 0n, repaired: 0n }
  const at = { blockNumber: slice.anchor.number, blockHash: slice.anchor.hash, auditedAt: sql`now()` }
  await handle
    .insert(work.audits)
    .values({ chainId, ...zero, ...at })
    .onConflictDoNothing()
  const [held] = await handle.select().from(work.audits).where(eq(work.audits.chainId, chainId)).for('update')
  const mark = markOf(held)
  if (mark.kind !== slice.kind || mark.nextId !== slice.nextId) return false
  const nextKind = slice.isLast ? kinds[kinds.indexOf(slice.kind) + 1] : slice.kind
  const isRound = nextKind === undefined
  await handle
    .update(work.audits)
    .set({
      ...at,
      kind: nextKind ?? begin.kind,
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

const tables = { event: t.events, deposit: t.deposits, position: t.positions } as const

/** The block of the next row after an id, if that is not above `at`; else `at`: whatever has the id was there by then. */
export const blockAfter = async (
  handle: Handle,
  chainId: ChainId,
  { kind, id }: { readonly kind: Kind; readonly id: bigint },
  at: StoredBlock,
): Promise<StoredBlock> => {
  const table = tables[kind]
  const [row] = await handle
    .select({ number: table.blockNumber, hash: table.blockHash, timestamp: table.blockTimestamp })
    .from(table)
    .where(and(eq(table.chainId, chainId), gt(table.id, id), lte(table.blockNumber, at.number)))
    .orderBy(table.id)
    .limit(1)
  return row ?? at
}

/** How far the audit of a chain has come; null before its first run. */
export const readAudit = async (handle: Handle, chainId: ChainId): Promise<AuditState | null> => {
  const age = sql`extract(epoch from clock_timestamp() - ${work.audits.lastDifferenceAt})`
  const [found] = await handle
    .select({ row: work.audits, age: age.mapWith(Number) })
    .from(work.audits)
    .where(eq(work.audits.chainId, chainId))
  if (found === undefined) return null
  const { lastDifference: difference, lastDifferenceAt: lastAt, ...row } = found.row
  const isClean = difference === null || lastAt === null
  return { ...row, last: isClean ? null : { difference, at: lastAt, ageSeconds: found.age } }
}
