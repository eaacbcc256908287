import { and, asc, eq, gt, lte, type SQL, sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import type { Address, Hex } from 'viem'
import { unavailable } from '../../lib/errors.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { entities, type Kind, perKind } from '../../protocol/entities.ts'
import { reachedOf, selectReached } from '../changes/changes.ts'
import type { Database } from '../pool.ts'
import { cursors } from '../schema/index-state.ts'
import * as t from '../schema/records.ts'
import {
  entityTables,
  type FactRow,
  type Keyed,
  type ObservationRow,
  type StoredBlock,
  storedBlock,
  storedEntity,
  storedProtocol,
} from '../stored.ts'

/**
 * A page of ids after `after`, ascending; from the first id when `after` is null. With `upTo`, only those that were created
 * up to that block.
 */
export type Page = { readonly after: bigint | null; readonly limit: number; readonly upTo?: bigint }

/** A table of facts. */
type Dated = Keyed & { readonly blockNumber: PgColumn }

type Values = Record<string, unknown>

/** An entity that a transaction created. */
export type CreatedRow = { readonly id: bigint; readonly owner: Address; readonly block: StoredBlock }

export type Queries = ReturnType<typeof createQueries>

/**
 * Prepares reads of the index. Null means that the index lacks the entity. All throw `service_unavailable` when the
 * database is out of reach.
 */
export const createQueries = (database: Database) => {
  const { handle } = database
  const [ofChain, withId] = [sql.placeholder('chainId'), sql.placeholder('id')]

  const first = async <R>(statement: { execute(values: Values): Promise<R[]> }, values: Values): Promise<R | null> => {
    const [row] = await database.run(() => statement.execute(values))
    return row ?? null
  }

  const idsOf = <K>(name: string, { facts }: { readonly facts: Dated }, owner: PgColumn) => {
    const isOwned = eq(owner, sql.param(sql.placeholder('key'), owner))
    // LIMIT is a parameter: with a literal, the server chooses a generic plan that sorts.
    const statement = (condition: SQL | undefined, called: string) =>
      handle
        .select({ id: sql`${facts.id}`.mapWith(BigInt) })
        .from(facts)
        .where(and(eq(facts.chainId, ofChain), isOwned, gt(facts.id, sql.placeholder('after')), condition))
        .orderBy(asc(facts.id))
        .limit(sql.placeholder('limit'))
        .prepare(called)
    const present = statement(undefined, name)
    const past = statement(lte(facts.blockNumber, sql.placeholder('upTo')), `${name}_up_to`)
    return async (chainId: ChainId, key: K, { after, limit, upTo }: Page): Promise<bigint[]> => {
      const values = { chainId, key, after: after ?? -1n, limit }
      const rows = await database.run(() =>
        upTo === undefined ? present.execute(values) : past.execute({ ...values, upTo }),
      )
      return rows.map(({ id }) => id)
    }
  }

  const entityOf = <K extends Kind>(kind: K) => {
    const { facts, observations }: { readonly facts: Keyed; readonly observations: Keyed } = entityTables[kind]
    const statement = handle
      .select({ fact: facts, seen: observations })
      .from(facts as PgTable)
      .leftJoin(observations, and(eq(facts.chainId, observations.chainId), eq(facts.id, observations.id)))
      .where(and(eq(facts.chainId, ofChain), eq(facts.id, withId)))
      .prepare(kind)
    return async (chainId: ChainId, id: bigint) => {
      const row = await first(statement, { chainId, id })
      if (row === null) return null
      // An entity is created and observed in two transactions. Between them the index does not know its state.
      if (row.seen === null) throw unavailable(`${kind} ${id} is not observed yet`)
      return storedEntity(kind, row.fact as FactRow<K>, row.seen as ObservationRow<K>)
    }
  }

  const createdIn = (kind: Kind) => {
    const { facts, owner }: { readonly facts: Keyed; readonly owner: PgColumn } = entityTables[kind]
    const { blockNumber, blockHash, blockTimestamp, txHash } = entityTables[kind].facts
    // Without an index on transactions, the blocks limit the rows to search.
    const statement = handle
      .select({ id: sql`${facts.id}`.mapWith(BigInt), owner, blockNumber, blockHash, blockTimestamp })
      .from(facts as PgTable)
      .where(
        and(
          eq(facts.chainId, ofChain),
          gt(blockNumber, sql.placeholder('after')),
          eq(txHash, sql.param(sql.placeholder('txHash'), txHash)),
        ),
      )
      .orderBy(asc(facts.id))
      .prepare(`${kind}s_created_in`)
    return async (chainId: ChainId, txHash: Hex, after: bigint): Promise<CreatedRow[]> => {
      const rows = await database.run(() => statement.execute({ chainId, txHash, after }))
      return rows.map(({ id, owner, ...block }) => ({ id, owner: owner as Address, block: storedBlock(block) }))
    }
  }

  const { chainObservations } = t
  const protocol = handle
    .select()
    .from(chainObservations)
    .where(eq(chainObservations.chainId, ofChain))
    .prepare('protocol')
  const cursor = handle.select().from(cursors).where(eq(cursors.chainId, ofChain)).prepare('cursor')
  const progress = selectReached(handle).where(eq(cursors.chainId, ofChain)).prepare('progress')

  return {
    /** Pages of the ids that a wallet owns, by kind. */
    idsByOwner: perKind((kind) =>
      idsOf<Address>(`${kind}s_by_${entities[kind].owner}`, entityTables[kind], entityTables[kind].owner),
    ),
    /** Pages of the ids that belong to an event, by kind. */
    idsByEvent: {
      deposit: idsOf<bigint>('deposits_by_event', entityTables.deposit, t.deposits.eventId),
      position: idsOf<bigint>('positions_by_event', entityTables.position, t.positions.eventId),
    },
    /** The entities that a transaction created in a block above `after`, by kind. */
    createdIn: perKind(createdIn),
    event: entityOf('event'),
    deposit: entityOf('deposit'),
    position: entityOf('position'),
    async singleton(chainId: ChainId) {
      const row = await first(protocol, { chainId })
      return row && storedProtocol(row)
    },
    /** The block up to which the chain's facts are complete; null before the first. */
    async indexed(chainId: ChainId) {
      const row = await first(cursor, { chainId })
      return row && storedBlock(row)
    },
    /** The progress of the chain's index; null before its first block. */
    async reached(chainId: ChainId) {
      const row = await first(progress, { chainId })
      return row && reachedOf(row)
    },
  }
}
