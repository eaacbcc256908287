import { and, desc, eq, inArray, sql } from 'drizzle-orm'
import type { ChainId } from '../protocol/chains.ts'
import type { Kind } from '../protocol/kinds.ts'
import type { AuditedTable } from './audit-columns.ts'
import type { Handle } from './pool.ts'
import { type Renderer, withTexts } from './rendering.ts'
import * as t from './schema.ts'
import * as work from './schema-work.ts'
import { entityTables, rowsById, type SeenRow, type StoredBlock } from './stored.ts'

/** A row by the names of its columns in the schema. */
export type AuditedRow = Readonly<Record<string, unknown>>

/** Rows by table and by the id of their entity; those of the protocol's own state by the chain's. */
export type AuditedRows = Partial<Record<AuditedTable, ReadonlyMap<bigint, AuditedRow>>>

/** What is audited together: entities of one kind, or the protocol's own state (`chain`). */
export type AuditedKind = Kind | 'chain'

/** The tables that hold what belongs to a kind. */
export const tablesOf = {
  event: ['events', 'event_observations', 'settlements'],
  deposit: ['deposits', 'deposit_observations'],
  position: ['positions', 'position_observations'],
  chain: ['chain_observations'],
} as const satisfies Readonly<Record<AuditedKind, readonly AuditedTable[]>>

/** The newest settlement of each event; one that left the chain with a reorg counts as none. */
const settlementsOf = async (handle: Handle, chainId: ChainId, ids: readonly bigint[]) => {
  const { settlements } = t
  const rows = await handle
    .selectDistinctOn([settlements.eventId])
    .from(settlements)
    .where(and(eq(settlements.chainId, chainId), inArray(settlements.eventId, [...ids])))
    .orderBy(settlements.eventId, desc(settlements.seq))
  return new Map<bigint, AuditedRow>(rows.map((row) => [row.eventId, row]))
}

/** The rows of some entities of a kind. */
const auditedRows = async (
  handle: Handle,
  chainId: ChainId,
  kind: AuditedKind,
  ids: readonly bigint[],
): Promise<AuditedRows> => {
  if (kind === 'event') {
    return {
      events: await rowsById(handle, t.events, chainId, ids),
      event_observations: await rowsById(handle, t.eventObservations, chainId, ids),
      settlements: await settlementsOf(handle, chainId, ids),
    }
  }
  if (kind === 'deposit') {
    return {
      deposits: await rowsById(handle, t.deposits, chainId, ids),
      deposit_observations: await rowsById(handle, t.depositObservations, chainId, ids),
    }
  }
  if (kind === 'position') {
    return {
      positions: await rowsById(handle, t.positions, chainId, ids),
      position_observations: await rowsById(handle, t.positionObservations, chainId, ids),
    }
  }
  const rows = await handle.select().from(t.chainObservations).where(eq(t.chainObservations.chainId, chainId))
  return { chain_observations: new Map<bigint, AuditedRow>(rows.map((row) => [BigInt(row.chainId), row])) }
}

const members = { deposit: t.deposits, position: t.positions } as const

/** Those of the ids that the refresh queue holds, be it themselves or their event: what was observed of them may be out of date. */
const waitingOf = async (
  handle: Handle,
  chainId: ChainId,
  kind: AuditedKind,
  ids: readonly bigint[],
): Promise<Set<bigint>> => {
  const { unobserved } = t
  const queued = (subject: string, id: unknown) => sql`EXISTS (SELECT FROM ${unobserved} AS request
    WHERE request.chain_id = ${chainId} AND request.subject = ${subject} AND request.id <= ${id}
      AND request.id > ${id} - (SELECT max(many) FROM ${unobserved} WHERE chain_id = ${chainId})
      AND request.id + request.many > ${id})`
  const asked = sql`unnest(${sql.param(ids.map(String))}::bigint[]) AS asked (id)`
  const itself = queued(kind, kind === 'chain' ? sql`0` : sql`asked.id`)
  const isMember = kind === 'deposit' || kind === 'position'
  const { rows } = await handle.execute<{ id: string }>(
    isMember
      ? sql`SELECT asked.id FROM ${asked} LEFT JOIN ${members[kind]} AS fact ON fact.chain_id = ${chainId} AND fact.id = asked.id
          WHERE ${itself} OR ${queued('event', sql`fact.event_id`)}`
      : sql`SELECT asked.id FROM ${asked} WHERE ${itself}`,
  )
  return new Set(rows.map(({ id }) => BigInt(id)))
}

/** What the index holds of some entities, as of one moment. */
export type Held = {
  /** The newest block of the index, to compare it at. No row is newer. */
  readonly anchor: StoredBlock
  readonly rows: AuditedRows
  /** Observations that have a text under the renderer's key, by their ids, with the texts that their columns are rendered to. */
  readonly rendered: ReadonlyMap<bigint, AuditedRow>
  /** The ids whose observations may be out of date, as the index knows. */
  readonly waiting: ReadonlySet<bigint>
}

const observationsOf = {
  event: 'event_observations',
  deposit: 'deposit_observations',
  position: 'position_observations',
  chain: 'chain_observations',
} as const

/** Renders the observations that have a text again. One whose columns give none has a text of nothing. */
const renderedOf = async (
  handle: Handle,
  chainId: ChainId,
  kind: AuditedKind,
  renderer: Renderer,
  rows: AuditedRows,
): Promise<Held['rendered']> => {
  if (kind === 'chain') return new Map()
  const observed = [...(rows[observationsOf[kind]]?.values() ?? [])]
  const texts = observed.filter((row) => row.rowText !== null && row.renderKey === renderer.key)
  const rendered = await withTexts(handle, chainId, kind, renderer, texts as SeenRow<Kind>[])
  return new Map(rendered.map((row) => [row.id, { ...row }]))
}

/** Takes texts away: rows are rendered from their columns then, until they are rendered anew. */
export const clearTexts = async (handle: Handle, kind: Kind, chainId: ChainId, id: bigint): Promise<void> => {
  const { observations } = entityTables[kind]
  await handle.execute(sql`UPDATE ${observations} SET row_text = NULL WHERE chain_id = ${chainId} AND id = ${id}`)
}

/** Reads what the index holds of some entities at its newest block; to be called in the snapshot that `anchor` was read in. */
export const readHeld = async (
  handle: Handle,
  chainId: ChainId,
  anchor: StoredBlock,
  kind: AuditedKind,
  ids: readonly bigint[],
  renderer: Renderer,
): Promise<Held> => {
  const rows = await auditedRows(handle, chainId, kind, ids)
  const waiting = await waitingOf(handle, chainId, kind, ids)
  const [look] = await handle
    .select({ source: work.looks.source })
    .from(work.looks)
    .where(eq(work.looks.chainId, chainId))
  if (look?.source === 'ids') {
    // Without logs nothing reports a change: each observation is right until the next sweep finds it changed.
    for (const [id, { blockNumber }] of rows[observationsOf[kind]] ?? [])
      if (blockNumber !== anchor.number) waiting.add(id)
  }
  return { anchor, rows, rendered: await renderedOf(handle, chainId, kind, renderer, rows), waiting }
}
