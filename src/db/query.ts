import { and, asc, eq, gt, max, min, sql } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import type { Address } from 'viem'
import { unavailable } from '../lib/errors.ts'
import type { ChainId } from '../protocol/chains.ts'
import type { Database } from './pool.ts'
import * as t from './schema.ts'
import {
  type Keyed,
  type StoredBlock,
  type StoredDeposit,
  type StoredEvent,
  type StoredPosition,
  type StoredProtocol,
  storedBlock,
  storedDeposit,
  storedEvent,
  storedPosition,
  storedProtocol,
} from './stored.ts'

/** Ids strictly after one, ascending; from the start when `after` is null. */
export type Page = { readonly after: bigint | null; readonly limit: number }

type IdsOf<K> = (chainId: ChainId, key: K, page: Page) => Promise<bigint[]>

/**
 * What the index can answer. Stored entities have the shapes of the protocol's views, so one function makes a record of either
 * source; null means that the index does not hold it. Everything throws `service_unavailable` when the database is out of reach.
 */
export type Queries = {
  readonly eventIdsByCreator: IdsOf<Address>
  readonly depositIdsByLp: IdsOf<Address>
  readonly depositIdsByEvent: IdsOf<bigint>
  readonly positionIdsByHedger: IdsOf<Address>
  readonly positionIdsByEvent: IdsOf<bigint>
  event(chainId: ChainId, id: bigint): Promise<StoredEvent | null>
  deposit(chainId: ChainId, id: bigint): Promise<StoredDeposit | null>
  position(chainId: ChainId, id: bigint): Promise<StoredPosition | null>
  singleton(chainId: ChainId): Promise<StoredProtocol | null>
  /** The block up to which the chain's facts are complete; null before the first. */
  indexed(chainId: ChainId): Promise<StoredBlock | null>
  /** The newest note of what waits to be observed; null when nothing waits. */
  newestNote(chainId: ChainId): Promise<bigint | null>
  /** The oldest; null when nothing waits. */
  oldestNote(chainId: ChainId): Promise<bigint | null>
}

export const createQueries = (database: Database): Queries => {
  const { handle } = database

  const idsOf = <K>(name: string, table: Keyed, owner: PgColumn): IdsOf<K> => {
    // LIMIT is a parameter: with a literal one the server takes a generic plan that sorts.
    const statement = handle
      .select({ id: sql`${table.id}`.mapWith(BigInt) })
      .from(table)
      .where(
        and(
          eq(table.chainId, sql.placeholder('chainId')),
          eq(owner, sql.param(sql.placeholder('key'), owner)),
          gt(table.id, sql.placeholder('after')),
        ),
      )
      .orderBy(asc(table.id))
      .limit(sql.placeholder('limit'))
      .prepare(name)
    return async (chainId, key, { after, limit }) => {
      const rows = await database.run(() => statement.execute({ chainId, key, after: after ?? -1n, limit }))
      return rows.map(({ id }) => id)
    }
  }

  const one = { chainId: sql.placeholder('chainId'), id: sql.placeholder('id') }

  const eventStatement = handle
    .select({ fact: t.events, seen: t.eventObservations })
    .from(t.events)
    .leftJoin(t.eventObservations, same(t.events, t.eventObservations))
    .where(and(eq(t.events.chainId, one.chainId), eq(t.events.id, one.id)))
    .prepare('event')
  const depositStatement = handle
    .select({ fact: t.deposits, seen: t.depositObservations })
    .from(t.deposits)
    .leftJoin(t.depositObservations, same(t.deposits, t.depositObservations))
    .where(and(eq(t.deposits.chainId, one.chainId), eq(t.deposits.id, one.id)))
    .prepare('deposit')
  const positionStatement = handle
    .select({ fact: t.positions, seen: t.positionObservations })
    .from(t.positions)
    .leftJoin(t.positionObservations, same(t.positions, t.positionObservations))
    .where(and(eq(t.positions.chainId, one.chainId), eq(t.positions.id, one.id)))
    .prepare('position')
  const protocolStatement = handle
    .select()
    .from(t.chainObservations)
    .where(eq(t.chainObservations.chainId, one.chainId))
    .prepare('protocol')
  const cursorStatement = handle.select().from(t.cursors).where(eq(t.cursors.chainId, one.chainId)).prepare('cursor')
  const ofChain = eq(t.unobserved.chainId, one.chainId)
  const noteStatement = handle
    .select({ newest: max(t.unobserved.noted) })
    .from(t.unobserved)
    .where(ofChain)
    .prepare('newest')
  const oldestStatement = handle
    .select({ oldest: min(t.unobserved.noted) })
    .from(t.unobserved)
    .where(ofChain)
    .prepare('oldest')

  return {
    eventIdsByCreator: idsOf('events_by_creator', t.events, t.events.creator),
    depositIdsByLp: idsOf('deposits_by_lp', t.deposits, t.deposits.lp),
    depositIdsByEvent: idsOf('deposits_by_event', t.deposits, t.deposits.eventId),
    positionIdsByHedger: idsOf('positions_by_hedger', t.positions, t.positions.hedger),
    positionIdsByEvent: idsOf('positions_by_event', t.positions, t.positions.eventId),
    async event(chainId, id) {
      const [row] = await database.run(() => eventStatement.execute({ chainId, id }))
      return row === undefined ? null : storedEvent(row.fact, seen('event', id, row.seen))
    },
    async deposit(chainId, id) {
      const [row] = await database.run(() => depositStatement.execute({ chainId, id }))
      return row === undefined ? null : storedDeposit(row.fact, seen('deposit', id, row.seen))
    },
    async position(chainId, id) {
      const [row] = await database.run(() => positionStatement.execute({ chainId, id }))
      return row === undefined ? null : storedPosition(row.fact, seen('position', id, row.seen))
    },
    async singleton(chainId) {
      const [row] = await database.run(() => protocolStatement.execute({ chainId }))
      return row === undefined ? null : storedProtocol(row)
    },
    async indexed(chainId) {
      const [row] = await database.run(() => cursorStatement.execute({ chainId }))
      return row === undefined ? null : storedBlock(row)
    },
    async newestNote(chainId) {
      const [row] = await database.run(() => noteStatement.execute({ chainId }))
      return row?.newest ?? null
    },
    async oldestNote(chainId) {
      const [row] = await database.run(() => oldestStatement.execute({ chainId }))
      return row?.oldest ?? null
    },
  }
}

const same = (a: Keyed, b: Keyed) => and(eq(a.chainId, b.chainId), eq(a.id, b.id))

/** An entity is created and observed in two transactions; between them the index knows that it exists and not yet what it holds. */
const seen = <T>(kind: string, id: bigint, observation: T | null): T => {
  if (observation === null) throw unavailable(`${kind} ${id} is not observed yet`)
  return observation
}
