import { and, eq, getTableColumns, gt, inArray, lte, max, sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import type { Address } from 'viem'
import type { ChainId } from '../../protocol/chains.ts'
import type { Kind, MemberKind } from '../../protocol/entities.ts'
import { insertMany } from '../bulk.ts'
import type { Handle } from '../pool.ts'
import { entityTables } from '../stored.ts'
import { columnsOf } from './audit/columns.ts'
import { tablesOf } from './audit/rows.ts'
import type { DatedFact } from './write.ts'

/* Queries of the audit over facts, in the order of their ids and in batches of a bounded size. */

/** The largest id of a kind among the facts up to a block; null when there is none. */
export const lastIdAt = async (handle: Handle, chainId: ChainId, kind: Kind, number: bigint) => {
  const table = entityTables[kind].facts
  const [row] = await handle
    .select({ id: max(table.id) })
    .from(table)
    .where(and(eq(table.chainId, chainId), lte(table.blockNumber, number)))
  return row?.id ?? null
}

/** The ids of a group of rows, ascending. */
const groupedIds = ({ id }: { readonly id: PgColumn }) =>
  sql`array_agg(${id} ORDER BY ${id})`.mapWith((ids: string[]) => ids.map(BigInt))

/** The ids of the deposits or positions of events up to a block, ascending; events without any are left out. */
export const memberIds = async (
  handle: Handle,
  chainId: ChainId,
  kind: MemberKind,
  eventIds: readonly bigint[],
  number: bigint,
): Promise<Map<bigint, bigint[]>> => {
  const table = entityTables[kind].facts
  const rows = await handle
    .select({ eventId: table.eventId, ids: groupedIds(table) })
    .from(table)
    .where(and(eq(table.chainId, chainId), inArray(table.eventId, [...eventIds]), lte(table.blockNumber, number)))
    .groupBy(table.eventId)
  return new Map(rows.map(({ eventId, ids }) => [eventId, ids]))
}

/**
 * The next wallets that own entities of a kind up to a block, after `after` (null for the first), each with its ids,
 * ascending.
 */
export const ownedIds = async (
  handle: Handle,
  chainId: ChainId,
  kind: Kind,
  { after, limit, number }: { readonly after: Address | null; readonly limit: number; readonly number: bigint },
): Promise<Map<Address, bigint[]>> => {
  const table = entityTables[kind].facts
  const owner: PgColumn = entityTables[kind].owner
  const known = and(eq(table.chainId, chainId), lte(table.blockNumber, number))
  const next = handle
    .selectDistinct({ owner })
    .from(table as PgTable)
    .where(after === null ? known : and(known, gt(owner, after)))
    .orderBy(owner)
    .limit(limit)
  const rows = await handle
    .select({ owner: sql`${owner}`.mapWith(entityTables[kind].owner), ids: groupedIds(table) })
    .from(table)
    .where(and(known, inArray(owner, next)))
    .groupBy(owner)
    .orderBy(owner)
  return new Map(rows.map(({ owner, ids }) => [owner, ids]))
}

/** Inserts a fact, or corrects the values of a stored one that views return. It keeps its block and its log. */
export const putFact = async (handle: Handle, chainId: ChainId, fact: DatedFact): Promise<void> => {
  const table = entityTables[fact.kind].facts
  const columns: Readonly<Record<string, PgColumn>> = getTableColumns<PgTable>(table)
  const updates = columnsOf(tablesOf[fact.kind][0], 'view').map((field) => {
    const name = sql.identifier(columns[field]?.name ?? field)
    return sql`${name} = excluded.${name}`
  })
  // A fact's fields are its table's columns, kind by kind; the union of the three is more than the compiler follows.
  const rows = [{ chainId, ...fact }] as never
  await insertMany(handle, table, rows, sql`ON CONFLICT (chain_id, id) DO UPDATE SET ${sql.join(updates, sql`, `)}`)
}
