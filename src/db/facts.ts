import { and, asc, between, eq, getTableColumns, gt, inArray, lte, max, sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import type { Address } from 'viem'
import type { ChainId } from '../protocol/chains.ts'
import type { Kind } from '../protocol/kinds.ts'
import { columnsOf } from './audit-columns.ts'
import { tablesOf } from './audit-rows.ts'
import { insertMany } from './bulk.ts'
import type { Handle } from './pool.ts'
import * as t from './schema.ts'
import { entityTables } from './stored.ts'
import type { DatedFact } from './write.ts'

/* Facts in the order of their ids, as the audit walks through them: never more at once than it asks for. */

const owners = { event: t.events.creator, deposit: t.deposits.lp, position: t.positions.hedger } as const

/** Ids from the one to the other, both included. */
export type IdRange = { readonly from: bigint; readonly upTo: bigint }

/** The facts of one kind by their ids. */
export const factsBetween = async (
  handle: Handle,
  chainId: ChainId,
  kind: Kind,
  { from, upTo }: IdRange,
): Promise<DatedFact[]> => {
  const within = (table: { readonly chainId: PgColumn; readonly id: PgColumn }) =>
    and(eq(table.chainId, chainId), between(table.id, from, upTo))
  if (kind === 'event') {
    const rows = await handle.select().from(t.events).where(within(t.events)).orderBy(t.events.id)
    return rows.map((row) => ({ kind, ...row }))
  }
  if (kind === 'deposit') {
    const rows = await handle.select().from(t.deposits).where(within(t.deposits)).orderBy(t.deposits.id)
    return rows.map((row) => ({ kind, ...row }))
  }
  const rows = await handle.select().from(t.positions).where(within(t.positions)).orderBy(t.positions.id)
  return rows.map((row) => ({ kind, ...row }))
}

/** The largest id of a kind among the facts up to a block; null when there is none. */
export const lastIdAt = async (
  handle: Handle,
  chainId: ChainId,
  kind: Kind,
  number: bigint,
): Promise<bigint | null> => {
  const table = entityTables[kind].facts
  const [row] = await handle
    .select({ id: max(table.id) })
    .from(table)
    .where(and(eq(table.chainId, chainId), lte(table.blockNumber, number)))
  return row?.id ?? null
}

/** The ids of the deposits or positions of events up to a block, ascending; events without any are left out. */
export const memberIds = async (
  handle: Handle,
  chainId: ChainId,
  kind: Exclude<Kind, 'event'>,
  eventIds: readonly bigint[],
  number: bigint,
): Promise<Map<bigint, bigint[]>> => {
  const table = entityTables[kind].facts
  const rows = await handle
    .select({ eventId: table.eventId, id: table.id })
    .from(table)
    .where(and(eq(table.chainId, chainId), inArray(table.eventId, [...eventIds]), lte(table.blockNumber, number)))
    .orderBy(asc(table.id))
  return grouped(rows.map(({ eventId, id }) => [eventId, id]))
}

/** The next wallets that own something of a kind up to a block, after `after` (from the first when null), each with its ids, ascending. */
export const ownedIds = async (
  handle: Handle,
  chainId: ChainId,
  kind: Kind,
  { after, limit, number }: { readonly after: Address | null; readonly limit: number; readonly number: bigint },
): Promise<Map<Address, bigint[]>> => {
  const table = entityTables[kind].facts
  const owner: PgColumn = owners[kind]
  const known = and(eq(table.chainId, chainId), lte(table.blockNumber, number))
  const next = handle
    .selectDistinct({ owner })
    .from(table as PgTable)
    .where(after === null ? known : and(known, gt(owner, after)))
    .orderBy(owner)
    .limit(limit)
  const rows = await handle
    .select({ owner: sql`${owner}`.mapWith(owners[kind]), id: table.id })
    .from(table)
    .where(and(known, inArray(owner, next)))
    .orderBy(owner, asc(table.id))
  return grouped(rows.map(({ owner, id }) => [owner, id]))
}

const grouped = <K>(pairs: readonly (readonly [K, bigint])[]): Map<K, bigint[]> => {
  const groups = new Map<K, bigint[]>()
  for (const [key, id] of pairs) {
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [id])
    else group.push(id)
  }
  return groups
}

/** Makes facts say what they are given with. One that is there keeps its block and its log; a new one is inserted as it is. */
export const putFact = async (handle: Handle, chainId: ChainId, fact: DatedFact): Promise<void> => {
  const table = entityTables[fact.kind].facts
  const columns: Readonly<Record<string, PgColumn>> = getTableColumns<PgTable>(table)
  const told = columnsOf(tablesOf[fact.kind][0], 'view').map((field) => {
    const name = sql.identifier(columns[field]?.name ?? field)
    return sql`${name} = excluded.${name}`
  })
  // A fact's fields are its table's columns, kind by kind; the union of the three is more than the compiler follows.
  const rows = [{ chainId, ...fact }] as never
  await insertMany(handle, table, rows, sql`ON CONFLICT (chain_id, id) DO UPDATE SET ${sql.join(told, sql`, `)}`)
}
