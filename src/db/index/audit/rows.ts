import { eq, sql } from 'drizzle-orm'
import type { ChainId } from '../../../protocol/chains.ts'
import type { Kind } from '../../../protocol/entities.ts'
import type { Handle } from '../../pool.ts'
import { refreshQueue } from '../../schema/index-state.ts'
import * as t from '../../schema/records.ts'
import * as work from '../../schema/work.ts'
import { entityTables, rowsById, type StoredBlock } from '../../stored.ts'
import { newestSettlements } from '../settlements.ts'
import { type AuditedTable, auditedTables } from './columns.ts'

/** A row, keyed by the column names of the schema. */
export type AuditedRow = Readonly<Record<string, unknown>>

/** Rows by table and by the id of their entity. The key of the protocol's own state is the chain's id. */
export type AuditedRows = { [T in AuditedTable]?: ReadonlyMap<bigint, AuditedRow> }

/** A unit of the audit: entities of one kind, or the protocol's own state (`chain`). */
export type AuditedKind = Kind | 'chain'

/** The tables that hold what belongs to a kind. */
export const tablesOf = {
  event: ['events', 'event_observations', 'settlements'],
  deposit: ['deposits', 'deposit_observations'],
  position: ['positions', 'position_observations'],
  chain: ['chain_observations'],
} as const satisfies Readonly<Record<AuditedKind, readonly AuditedTable[]>>

const rowsOf = async (handle: Handle, chainId: ChainId, table: AuditedTable, ids: readonly bigint[]) => {
  if (table === 'settlements')
    return new Map((await newestSettlements(handle, chainId, ids)).map((row) => [row.eventId, row]))
  if (table !== 'chain_observations') return rowsById(handle, auditedTables[table], chainId, ids)
  const rows = await handle.select().from(t.chainObservations).where(eq(t.chainObservations.chainId, chainId))
  return new Map(rows.map((row) => [BigInt(row.chainId), row]))
}

/** The ids that are in the refresh queue, themselves or by their event. */
const waitingOf = async (handle: Handle, chainId: ChainId, kind: AuditedKind, ids: readonly bigint[]) => {
  const queued = (subject: string, id: unknown) => sql`EXISTS (SELECT FROM ${refreshQueue} AS request
    WHERE request.chain_id = ${chainId} AND request.subject = ${subject} AND request.id <= ${id}
      AND request.id > ${id} - (SELECT max(many) FROM ${refreshQueue} WHERE chain_id = ${chainId})
      AND request.id + request.many > ${id})`
  const asked = sql`unnest(${sql.param(ids.map(String))}::bigint[]) AS asked (id)`
  const itself = queued(kind, kind === 'chain' ? sql`0` : sql`asked.id`)
  const { rows } = await handle.execute<{ id: string }>(
    kind !== 'chain' && kind !== 'event'
      ? sql`SELECT asked.id FROM ${asked} LEFT JOIN ${entityTables[kind].facts} AS fact ON fact.chain_id = ${chainId} AND fact.id = asked.id
          WHERE ${itself} OR ${queued('event', sql`fact.event_id`)}`
      : sql`SELECT asked.id FROM ${asked} WHERE ${itself}`,
  )
  return new Set(rows.map(({ id }) => BigInt(id)))
}

/** The rows of some entities in the index, as of one snapshot. */
export type IndexedRows = Readonly<Awaited<ReturnType<typeof readIndexedRows>>>

/** Reads the rows of some entities. Call it in the snapshot in which `anchor` was read. */
export const readIndexedRows = async (
  handle: Handle,
  chainId: ChainId,
  anchor: StoredBlock,
  kind: AuditedKind,
  ids: readonly bigint[],
) => {
  const rows: AuditedRows = {}
  for (const table of tablesOf[kind]) rows[table] = await rowsOf(handle, chainId, table, ids)
  const waiting = await waitingOf(handle, chainId, kind, ids)
  const [heartbeat] = await handle.select().from(work.heartbeats).where(eq(work.heartbeats.chainId, chainId))
  if (heartbeat?.source === 'ids') {
    // Without logs no change is reported, so an observation may be outdated until the next sweep.
    for (const [id, { blockNumber }] of rows[`${kind}_observations`] ?? [])
      if (blockNumber !== anchor.number) waiting.add(id)
  }
  return {
    /** The newest block of the index, at which the rows are compared. No row is newer. */
    anchor,
    rows,
    /** The ids whose observations may be outdated according to the index. */
    waiting,
  }
}
