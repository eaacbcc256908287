import { and, eq, inArray } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import type { Address, Hex } from 'viem'
import type { Kind } from '../protocol/kinds.ts'
import type { Output } from '../protocol/outputs.ts'
import type { Handle } from './pool.ts'
import * as t from './schema.ts'

/* What the index holds, in the shapes of the protocol's views: one function makes a record of either. */

/** The block at which stored state was true; `timestamp` in Unix seconds. */
export type StoredBlock = { readonly number: bigint; readonly hash: Hex; readonly timestamp: bigint }

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

type BlockColumns = { readonly blockNumber: bigint; readonly blockHash: Hex; readonly blockTimestamp: bigint }

export const storedBlock = (row: BlockColumns): StoredBlock => ({
  number: row.blockNumber,
  hash: row.blockHash,
  timestamp: row.blockTimestamp,
})

/** A kind's tables: what was created, and what was observed of it. */
export const entityTables = {
  event: { facts: t.events, observations: t.eventObservations },
  deposit: { facts: t.deposits, observations: t.depositObservations },
  position: { facts: t.positions, observations: t.positionObservations },
} as const

/** A table whose rows belong to entities. */
export type Keyed = PgTable & { readonly chainId: PgColumn; readonly id: PgColumn }

/** The rows of some entities in a table, by their ids. */
export const rowsById = async <R = Readonly<Record<string, unknown>>>(
  handle: Handle,
  table: Keyed,
  chainId: number,
  ids: readonly bigint[],
): Promise<Map<bigint, R>> => {
  const rows: Readonly<Record<string, unknown>>[] = await handle
    .select()
    .from(table as PgTable)
    .where(and(eq(table.chainId, chainId), inArray(table.id, [...ids])))
  return new Map(rows.map((row) => [BigInt(String(row.id)), row as R]))
}

export type FactRow<K extends Kind> = (typeof entityTables)[K]['facts']['$inferSelect']

type Observation<K extends Kind> = (typeof entityTables)[K]['observations']['$inferSelect']

/** The columns of an observation but for the texts that were rendered from it. */
export type SeenRow<K extends Kind> = Omit<Observation<K>, 'rowText' | 'renderKey' | 'renderFlip' | 'inclusions'>

export const storedEvent = (fact: FactRow<'event'>, now: SeenRow<'event'>): StoredEvent => ({
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
  observedAt: storedBlock(now),
})

export const storedDeposit = (fact: FactRow<'deposit'>, now: SeenRow<'deposit'>): StoredDeposit => ({
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
  observedAt: storedBlock(now),
})

export const storedPosition = (fact: FactRow<'position'>, now: SeenRow<'position'>): StoredPosition => ({
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
  observedAt: storedBlock(now),
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
