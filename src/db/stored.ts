import { and, eq, inArray } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import type { Hex } from 'viem'
import type { Output } from '../protocol/abi/outputs.ts'
import type { EntityViews, Kind } from '../protocol/entities.ts'
import type { Handle } from './pool.ts'
import * as t from './schema/records.ts'

/* Stored entities in the shapes of the protocol's views, so that one function makes records from either source. */

/** The block at which stored state is true; `timestamp` in Unix seconds. */
export type StoredBlock = { readonly number: bigint; readonly hash: Hex; readonly timestamp: bigint }

type Observed<T> = T & { readonly observedAt: StoredBlock }

/** An entity in the shape of its views, and the block of the observation. */
export type Stored<K extends Kind> = Observed<EntityViews<K>>

export type StoredProtocol = Observed<{
  readonly fees: Output<'getHedgeFeeConfig'>
  readonly paused: boolean
  readonly total: bigint
  /** keccak256 of the functions that the loupe lists; null when unknown. */
  readonly loupeHash: Hex | null
}>

type BlockColumns = { readonly blockNumber: bigint; readonly blockHash: Hex; readonly blockTimestamp: bigint }

export const storedBlock = (row: BlockColumns): StoredBlock => ({
  number: row.blockNumber,
  hash: row.blockHash,
  timestamp: row.blockTimestamp,
})

/** The columns that date a row by a block. */
export const blockColumns = ({ number, hash, timestamp }: StoredBlock): BlockColumns => ({
  blockNumber: number,
  blockHash: hash,
  blockTimestamp: timestamp,
})

/** The tables of each kind, and the owner's column in the table of facts. */
export const entityTables = {
  event: { facts: t.events, observations: t.eventObservations, owner: t.events.creator },
  deposit: { facts: t.deposits, observations: t.depositObservations, owner: t.deposits.lp },
  position: { facts: t.positions, observations: t.positionObservations, owner: t.positions.hedger },
} as const

/** A table with rows of entities. */
export type Keyed = PgTable & { readonly chainId: PgColumn; readonly id: PgColumn }

/** Reads the rows of some entities of a table, by their ids. */
export const rowsById = async <R = Readonly<Record<string, unknown>>>(
  handle: Handle,
  table: Keyed,
  chainId: number,
  ids: readonly bigint[],
) => {
  const rows: Readonly<Record<string, unknown>>[] = await handle
    .select()
    .from(table as PgTable)
    .where(and(eq(table.chainId, chainId), inArray(table.id, [...ids])))
  return new Map(rows.map((row) => [BigInt(String(row.id)), row as R]))
}

export type FactRow<K extends Kind> = (typeof entityTables)[K]['facts']['$inferSelect']

export type ObservationRow<K extends Kind> = (typeof entityTables)[K]['observations']['$inferSelect']

/**
 * Makes the views of an entity. The objects may have more fields than their views, so read fields by name. Values that
 * are fixed at creation come from the fact: an observation that is about to be stored also has the fields of its views.
 */
const viewsOf: { readonly [K in Kind]: (fact: FactRow<K>, seen: ObservationRow<K>) => EntityViews<K> } = {
  event: (fact, seen) => ({
    core: { ...seen, ...fact },
    stats: seen,
    range: { ...seen, ...fact },
    utilization: seen,
    paymentToken: seen.paymentToken,
  }),
  deposit: (fact, seen) => ({ deposit: { ...seen, ...fact }, pending: seen.pending }),
  position: (fact, seen) => ({ position: { ...seen, ...fact, platformFeePaid: fact.platformFee } }),
}

/** Makes a stored entity from its fact and its observation. */
export const storedEntity = <K extends Kind>(kind: K, fact: FactRow<K>, seen: ObservationRow<K>): Stored<K> => ({
  ...viewsOf[kind](fact, seen),
  observedAt: storedBlock(seen as BlockColumns),
})

export const storedProtocol = (row: typeof t.chainObservations.$inferSelect): StoredProtocol => ({
  fees: {
    eventCreationFee: row.creationFee,
    hedgerFeeRate: row.hedgerFeeRate,
    hedgerPayoutFeeRate: row.payoutFeeRate,
    lpProfitFeeRate: row.lpProfitFeeRate,
    creatorLoyaltyRate: row.creatorLoyaltyRate,
  },
  paused: row.paused,
  total: row.totalEvents,
  loupeHash: row.loupeHash,
  observedAt: storedBlock(row),
})
