import { sql } from 'drizzle-orm'
import {
  boolean,
  type IndexColumn,
  index,
  integer,
  type PgColumn,
  pgTable,
  primaryKey,
  smallint,
} from 'drizzle-orm/pg-core'
import { address, block, blockRangeIndex, chainId, eventId, hash, height, id, uint256, utf8 } from './columns.ts'

/*
 * The tables of the index. Facts are the creations of entities and are append-only. Observations are the state that the
 * chain's views returned at a block; only a newer block replaces one. Both carry the block at which they are true, so a
 * rollback deletes the rows above the common ancestor. Ids and block numbers are counters of a chain and fit 63 bits.
 * Amounts, rates and every number that a caller of the protocol may choose are uint256.
 *
 * Columns of a fixed length stand first, the longest before the others, so that PostgreSQL fills no gaps between them:
 * 6 % of the disk. A column that is named twice keeps its first place.
 */

/**
 * The log that created an entity. A fact that was read from the chain's state has no log: its transaction and log index
 * are null, and its block is the first at which it was read.
 */
export const origin = { logIndex: integer('log_index'), ...block, txHash: hash('tx_hash') }

/** The rows without a log, by their block. */
const withoutLog = (
  name: string,
  table: { readonly chainId: IndexColumn; readonly blockNumber: IndexColumn; readonly txHash: PgColumn },
) => index(name).on(table.chainId, table.blockNumber).where(sql`${table.txHash} IS NULL`)

/** The values of an event that are fixed at its creation and that views return. */
export const eventColumns = {
  creator: address('creator').notNull(),
  underlying: utf8('underlying').notNull(),
  strike: uint256('strike').notNull(),
  premiumRate: uint256('premium_rate').notNull(),
  expiryDate: uint256('expiry_date').notNull(),
}

export const events = pgTable(
  'events',
  {
    id,
    ...height,
    chainId,
    ...origin,
    ...eventColumns,
    /** Only the creation log has it; null where the event was read from the chain's state. Only the audit uses it. */
    initialLiquidity: uint256('initial_liquidity'),
    /** The token of the last observation, even a rolled back one; null before the first. */
    paymentToken: address('payment_token'),
  },
  (table) => [
    primaryKey({ columns: [table.chainId, table.id] }),
    index('events_by_creator').on(table.chainId, table.creator, table.id),
    index('events_by_block').on(table.chainId, table.blockNumber),
    withoutLog('events_without_log', table),
    index('events_by_expiry').on(table.chainId, table.expiryDate, table.id),
    // The condition of the filter (`queries/filters.ts`). Rows of an index have a limited size.
    index('events_by_pair').on(
      table.chainId,
      sql`left(lower(encode(${table.underlying}, 'escape') COLLATE "C"), 1280)`,
      table.id,
    ),
  ],
)

/** What identifies a member of an event. */
const member = { id, eventId }

/** The values of a deposit that are fixed at its creation and that views return. */
export const depositColumns = {
  eventId,
  lp: address('lp').notNull(),
  amount: uint256('amount').notNull(),
  shares: uint256('shares').notNull(),
}

export const deposits = pgTable(
  'deposits',
  { ...member, ...height, chainId, ...origin, ...depositColumns },
  (table) => [
    primaryKey({ columns: [table.chainId, table.id] }),
    index('deposits_by_lp').on(table.chainId, table.lp, table.id),
    index('deposits_by_event').on(table.chainId, table.eventId, table.id),
    index('deposits_by_block').on(table.chainId, table.blockNumber),
    withoutLog('deposits_without_log', table),
  ],
)

/** The values of a position that are fixed at its creation and that views return. */
export const positionColumns = {
  eventId,
  hedger: address('hedger').notNull(),
  notional: uint256('notional').notNull(),
  premiumPaid: uint256('premium_paid').notNull(),
  platformFee: uint256('platform_fee').notNull(),
}

export const positions = pgTable(
  'positions',
  { ...member, ...height, chainId, ...origin, ...positionColumns },
  (table) => [
    primaryKey({ columns: [table.chainId, table.id] }),
    index('positions_by_hedger').on(table.chainId, table.hedger, table.id),
    index('positions_by_event').on(table.chainId, table.eventId, table.id),
    index('positions_by_block').on(table.chainId, table.blockNumber),
    withoutLog('positions_without_log', table),
  ],
)

/**
 * The fee rates of the protocol over time, one row per log that set them, complete up to `cursors.feesNumber`. An event
 * keeps the rates of the last log before its creation log; no view returns them.
 */
export const feeRates = pgTable(
  'fee_rates',
  {
    chainId,
    ...block,
    txHash: hash('tx_hash').notNull(),
    logIndex: integer('log_index').notNull(),
    hedgerFeeRate: uint256('hedger_fee_rate').notNull(),
    payoutFeeRate: uint256('payout_fee_rate').notNull(),
    lpProfitFeeRate: uint256('lp_profit_fee_rate').notNull(),
    creatorLoyaltyRate: uint256('creator_loyalty_rate').notNull(),
  },
  (table) => [primaryKey({ columns: [table.chainId, table.blockNumber, table.logIndex] })],
)

/** Symbols and decimals that payment tokens return. Configured tokens are not stored. */
export const tokens = pgTable(
  'tokens',
  {
    chainId,
    address: address('address').notNull(),
    /** Null where the token has no symbol. */
    symbol: utf8('symbol'),
    decimals: smallint('decimals').notNull(),
  },
  (table) => [primaryKey({ columns: [table.chainId, table.address] })],
)

/** The values of an event that views return and that its creation log lacks. Most of them change. */
export const eventStateColumns = {
  status: smallint('status').notNull(),
  strikeAbove: boolean('strike_above').notNull(),
  poolOpen: boolean('pool_open').notNull(),
  allowExternalLp: boolean('allow_external_lp').notNull(),
  triggered: boolean('triggered').notNull(),
  name: utf8('name').notNull(),
  payoutCap: uint256('payout_cap').notNull(),
  initialRate: uint256('initial_rate').notNull(),
  paymentToken: address('payment_token').notNull(),
  settlementPrice: uint256('settlement_price').notNull(),
  settledAt: uint256('settled_at').notNull(),
  creatorEarnings: uint256('creator_earnings').notNull(),
  totalLiquidity: uint256('total_liquidity').notNull(),
  totalExposure: uint256('total_exposure').notNull(),
  totalPremiums: uint256('total_premiums').notNull(),
  lpCount: uint256('lp_count').notNull(),
  hedgerCount: uint256('hedger_count').notNull(),
  totalMaxPayout: uint256('total_max_payout').notNull(),
  availableCapacity: uint256('available_capacity').notNull(),
  utilizationPercent: uint256('utilization_percent').notNull(),
}

export const eventObservations = pgTable(
  'event_observations',
  {
    id,
    ...height,
    chainId,
    ...eventStateColumns,
    ...block,
  },
  (table) => [
    primaryKey({ columns: [table.chainId, table.id] }),
    blockRangeIndex('event_observations_since_block', table.blockNumber),
    index('event_observations_by_token').on(table.chainId, table.paymentToken, table.id),
    // Only these pools can have capacity. The columns of the capacity itself change too often for an index (HOT).
    index('event_observations_writing')
      .on(table.chainId, table.id)
      .where(sql`${table.poolOpen} AND ${table.status} = 0`),
  ],
)

/** The values of a deposit that views return and that change. */
export const depositStateColumns = {
  withdrawn: boolean('withdrawn').notNull(),
  /**
   * Answers show claimed + pending instead (`protocol/records.ts`), because some deployments update this figure only at
   * a claim.
   */
  premiumsEarned: uint256('premiums_earned').notNull(),
  premiumsClaimed: uint256('premiums_claimed').notNull(),
  pending: uint256('pending').notNull(),
}

export const depositObservations = pgTable(
  'deposit_observations',
  { id, ...height, chainId, ...depositStateColumns, ...block },
  (table) => [
    primaryKey({ columns: [table.chainId, table.id] }),
    blockRangeIndex('deposit_observations_since_block', table.blockNumber),
    index('deposit_observations_withdrawn').on(table.chainId, table.id).where(sql`${table.withdrawn}`),
  ],
)

/** The values of a position that views return and that change. */
export const positionStateColumns = {
  status: smallint('status').notNull(),
  claimed: boolean('claimed').notNull(),
  payoutAmount: uint256('payout_amount').notNull(),
}

export const positionObservations = pgTable(
  'position_observations',
  { id, ...height, chainId, ...positionStateColumns, ...block },
  (table) => [
    primaryKey({ columns: [table.chainId, table.id] }),
    blockRangeIndex('position_observations_since_block', table.blockNumber),
    index('position_observations_claimed').on(table.chainId, table.id).where(sql`${table.claimed}`),
    index('position_observations_claimable')
      .on(table.chainId, table.id)
      .where(sql`NOT ${table.claimed} AND ${table.payoutAmount} > 0 AND ${table.status} <> 0`),
  ],
)

/** The protocol's own state that views return. */
export const chainStateColumns = {
  creationFee: uint256('creation_fee').notNull(),
  hedgerFeeRate: uint256('hedger_fee_rate').notNull(),
  payoutFeeRate: uint256('payout_fee_rate').notNull(),
  lpProfitFeeRate: uint256('lp_profit_fee_rate').notNull(),
  creatorLoyaltyRate: uint256('creator_loyalty_rate').notNull(),
  paused: boolean('paused').notNull(),
  totalEvents: uint256('total_events').notNull(),
}

export const chainObservations = pgTable('chain_observations', {
  chainId: integer('chain_id').primaryKey(),
  ...chainStateColumns,
  /** keccak256 of the functions that the loupe lists; null without a loupe, and from an upgrade to its observation. */
  loupeHash: hash('loupe_hash'),
  ...block,
})
