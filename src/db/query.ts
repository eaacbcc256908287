import { and, asc, eq, gt, max, min, sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import type { Address, Hex } from 'viem'
import { unavailable } from '../lib/errors.ts'
import type { ChainId } from '../protocol/chains.ts'
import type { Output } from '../protocol/outputs.ts'
import type { Database } from './pool.ts'
import * as t from './schema.ts'

/** The block at which stored state was true; `timestamp` in Unix seconds. */
export type StoredBlock = { readonly number: bigint; readonly hash: Hex; readonly timestamp: bigint }

/** Ids strictly after one, ascending; from the start when `after` is null. */
export type Page = { readonly after: bigint | null; readonly limit: number }

type Observed<T> = T & { readonly observedAt: StoredBlock }

/** An event as its five views show it. */
export type StoredEvent = Observed<{
  readonly core: Output<'getHedgeEventCore'>
  readonly stats: Output<'getHedgeEventStats'>
  readonly range: Output<'getHedgeEventRange'>
  readonly utilization: Output<'getPoolUtilization'>
  readonly paymentToken: Address
}>

export type StoredDeposit = Observed<{ readonly deposit: Output<'getHedgeLpDeposit'>; readonly pending: bigint }>
export type StoredPosition = Observed<{ readonly position: Output<'getHedgePosition'> }>
export type StoredProtocol = Observed<{
  readonly fees: Output<'getHedgeFeeConfig'>
  readonly paused: boolean
  readonly total: bigint
  /** keccak256 of the loupe's listing: another one means that functions changed. Null where it is not known. */
  readonly loupeHash: Hex | null
}>

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

  const idsOf = <K>(
    name: string,
    table: PgTable & { readonly chainId: PgColumn; readonly id: PgColumn },
    owner: PgColumn,
  ): IdsOf<K> => {
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
      return row === undefined ? null : block(row)
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

type Keyed = PgTable & { readonly chainId: PgColumn; readonly id: PgColumn }

const same = (a: Keyed, b: Keyed) => and(eq(a.chainId, b.chainId), eq(a.id, b.id))

/** An entity is created and observed in two transactions; between them the index knows that it exists and not yet what it holds. */
const seen = <T>(kind: string, id: bigint, observation: T | null): T => {
  if (observation === null) throw unavailable(`${kind} ${id} is not observed yet`)
  return observation
}

type BlockColumns = { readonly blockNumber: bigint; readonly blockHash: Hex; readonly blockTimestamp: bigint }

const block = (row: BlockColumns): StoredBlock => ({
  number: row.blockNumber,
  hash: row.blockHash,
  timestamp: row.blockTimestamp,
})

type Row<T extends PgTable> = T['$inferSelect']

const storedEvent = (fact: Row<typeof t.events>, now: Row<typeof t.eventObservations>): StoredEvent => ({
  core: {
    id: fact.id,
    creator: fact.creator,
    name: now.name,
    underlying: fact.underlying,
    strike: fact.strike,
    premiumRate: fact.premiumRate,
    expiryDate: fact.expiryDate,
    status: now.status,
    poolOpen: now.poolOpen,
    allowExternalLp: now.allowExternalLp,
    initialRate: now.initialRate,
    strikeAbove: now.strikeAbove,
  },
  stats: {
    settlementPrice: now.settlementPrice,
    triggered: now.triggered,
    settledAt: now.settledAt,
    creatorEarnings: now.creatorEarnings,
    totalLiquidity: now.totalLiquidity,
    totalExposure: now.totalExposure,
    totalPremiums: now.totalPremiums,
    lpCount: now.lpCount,
    hedgerCount: now.hedgerCount,
    totalMaxPayout: now.totalMaxPayout,
  },
  range: {
    strike: fact.strike,
    payoutCap: now.payoutCap,
    initialRate: now.initialRate,
    strikeAbove: now.strikeAbove,
  },
  utilization: {
    totalLiquidity: now.totalLiquidity,
    totalExposure: now.totalExposure,
    availableCapacity: now.availableCapacity,
    utilizationPercent: now.utilizationPercent,
  },
  paymentToken: now.paymentToken,
  observedAt: block(now),
})

const storedDeposit = (fact: Row<typeof t.deposits>, now: Row<typeof t.depositObservations>): StoredDeposit => ({
  deposit: {
    id: fact.id,
    eventId: fact.eventId,
    lp: fact.lp,
    amount: fact.amount,
    shares: fact.shares,
    premiumsEarned: now.premiumsEarned,
    premiumsClaimed: now.premiumsClaimed,
    withdrawn: now.withdrawn,
  },
  pending: now.pending,
  observedAt: block(now),
})

const storedPosition = (fact: Row<typeof t.positions>, now: Row<typeof t.positionObservations>): StoredPosition => ({
  position: {
    id: fact.id,
    eventId: fact.eventId,
    hedger: fact.hedger,
    notional: fact.notional,
    premiumPaid: fact.premiumPaid,
    platformFeePaid: fact.platformFee,
    payoutAmount: now.payoutAmount,
    status: now.status,
    claimed: now.claimed,
  },
  observedAt: block(now),
})

const storedProtocol = (row: Row<typeof t.chainObservations>): StoredProtocol => ({
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
  observedAt: block(row),
})
