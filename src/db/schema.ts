import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  type IndexColumn,
  index,
  integer,
  pgTable,
  primaryKey,
  smallint,
  text,
  timestamp,
} from 'drizzle-orm/pg-core'
import { address, hash, uint256, utf8 } from './columns.ts'

/*
 * Facts (what was created; append-only) and observations (what the chain said at a block; replaced by newer blocks only). Both
 * carry the block that makes them true, so a rollback deletes what lies above the ancestor. Ids and block numbers are counters of
 * a chain and fit 63 bits; amounts, rates and anything a caller may choose are uint256.
 */

const chainId = integer('chain_id').notNull()
const id = bigint('id', { mode: 'bigint' }).notNull()
const eventId = bigint('event_id', { mode: 'bigint' }).notNull()

/** Where a fact comes from. One that was read from the chain's state has no log: its block is then the first at which it was seen. */
const origin = {
  blockNumber: bigint('block_number', { mode: 'bigint' }).notNull(),
  blockHash: hash('block_hash').notNull(),
  blockTimestamp: bigint('block_timestamp', { mode: 'bigint' }).notNull(),
  txHash: hash('tx_hash'),
  logIndex: integer('log_index'),
}

const observedAt = {
  blockNumber: bigint('block_number', { mode: 'bigint' }).notNull(),
  blockHash: hash('block_hash').notNull(),
  blockTimestamp: bigint('block_timestamp', { mode: 'bigint' }).notNull(),
}

/**
 * The row of a list that was rendered from an observation (`protocol/rows.ts`): null until it is rendered, and again when what it was rendered
 * from changes. Triggers of migration 0010 see to that: see decision 22.
 */
const rendered = {
  rowText: text('row_text'),
  /** What the text depends on besides columns (`renderKeyOf`): a reader serves it only where the key is its own. */
  renderKey: bigint('render_key', { mode: 'bigint' }),
  /** Flipped by each statement that sets the text. A statement that changes other columns without flipping it loses the text. */
  renderFlip: boolean('render_flip').notNull().default(false),
}

export const events = pgTable(
  'events',
  {
    chainId,
    id,
    creator: address('creator').notNull(),
    underlying: utf8('underlying').notNull(),
    strike: uint256('strike').notNull(),
    premiumRate: uint256('premium_rate').notNull(),
    expiryDate: uint256('expiry_date').notNull(),
    /** Told by the log alone. */
    initialLiquidity: uint256('initial_liquidity'),
    /** The token that it was last observed with, which its members' rows show; a trigger keeps it. Null before the first observation. */
    paymentToken: address('payment_token'),
    ...origin,
  },
  (table) => [
    primaryKey({ columns: [table.chainId, table.id] }),
    index('events_by_creator').on(table.chainId, table.creator, table.id),
    index('events_by_block').on(table.chainId, table.blockNumber),
    index('events_by_expiry').on(table.chainId, table.expiryDate, table.id),
    index('events_by_underlying').on(table.chainId, table.underlying, table.id),
  ],
)

export const deposits = pgTable(
  'deposits',
  {
    chainId,
    id,
    eventId,
    lp: address('lp').notNull(),
    amount: uint256('amount').notNull(),
    shares: uint256('shares').notNull(),
    ...origin,
  },
  (table) => [
    primaryKey({ columns: [table.chainId, table.id] }),
    index('deposits_by_lp').on(table.chainId, table.lp, table.id),
    index('deposits_by_event').on(table.chainId, table.eventId, table.id),
    index('deposits_by_block').on(table.chainId, table.blockNumber),
  ],
)

export const positions = pgTable(
  'positions',
  {
    chainId,
    id,
    eventId,
    hedger: address('hedger').notNull(),
    notional: uint256('notional').notNull(),
    premiumPaid: uint256('premium_paid').notNull(),
    platformFee: uint256('platform_fee').notNull(),
    ...origin,
  },
  (table) => [
    primaryKey({ columns: [table.chainId, table.id] }),
    index('positions_by_hedger').on(table.chainId, table.hedger, table.id),
    index('positions_by_event').on(table.chainId, table.eventId, table.id),
    index('positions_by_block').on(table.chainId, table.blockNumber),
  ],
)

/** Finds what a rollback removes. Unlike a B-tree it lets an update stay on its page (HOT), although each one changes the block number. */
const observedSince = (table: string, blockNumber: IndexColumn) =>
  index(`${table}_since_block`).using('brin', blockNumber).with({ pages_per_range: 16, autosummarize: true })

/** What payment tokens return of themselves; those that are configured are not here. */
export const tokens = pgTable(
  'tokens',
  {
    chainId,
    address: address('address').notNull(),
    /** Null where the token has none. */
    symbol: utf8('symbol'),
    decimals: smallint('decimals').notNull(),
  },
  (table) => [primaryKey({ columns: [table.chainId, table.address] })],
)

/** An event as the chain described it, with what its log leaves out. */
export const eventObservations = pgTable(
  'event_observations',
  {
    chainId,
    id,
    name: utf8('name').notNull(),
    payoutCap: uint256('payout_cap').notNull(),
    initialRate: uint256('initial_rate').notNull(),
    strikeAbove: boolean('strike_above').notNull(),
    paymentToken: address('payment_token').notNull(),
    status: smallint('status').notNull(),
    poolOpen: boolean('pool_open').notNull(),
    allowExternalLp: boolean('allow_external_lp').notNull(),
    settlementPrice: uint256('settlement_price').notNull(),
    triggered: boolean('triggered').notNull(),
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
    ...observedAt,
    ...rendered,
    /** What lists can add to rows of the event and of its members: the texts of `inclusions` in their order, U+001F between them. */
    inclusions: text('inclusions'),
  },
  (table) => [
    primaryKey({ columns: [table.chainId, table.id] }),
    observedSince('event_observations', table.blockNumber),
    index('event_observations_by_token').on(table.chainId, table.paymentToken, table.id),
  ],
)

export const depositObservations = pgTable(
  'deposit_observations',
  {
    chainId,
    id,
    premiumsEarned: uint256('premiums_earned').notNull(),
    premiumsClaimed: uint256('premiums_claimed').notNull(),
    pending: uint256('pending').notNull(),
    withdrawn: boolean('withdrawn').notNull(),
    ...observedAt,
    ...rendered,
  },
  (table) => [
    primaryKey({ columns: [table.chainId, table.id] }),
    observedSince('deposit_observations', table.blockNumber),
    index('deposit_observations_withdrawn').on(table.chainId, table.id).where(sql`${table.withdrawn}`),
  ],
)

export const positionObservations = pgTable(
  'position_observations',
  {
    chainId,
    id,
    payoutAmount: uint256('payout_amount').notNull(),
    status: smallint('status').notNull(),
    claimed: boolean('claimed').notNull(),
    ...observedAt,
    ...rendered,
  },
  (table) => [
    primaryKey({ columns: [table.chainId, table.id] }),
    observedSince('position_observations', table.blockNumber),
    index('position_observations_claimed').on(table.chainId, table.id).where(sql`${table.claimed}`),
    index('position_observations_claimable')
      .on(table.chainId, table.id)
      .where(sql`NOT ${table.claimed} AND ${table.payoutAmount} > 0 AND ${table.status} <> 0`),
  ],
)

/** The protocol's own state; one row a chain. */
export const chainObservations = pgTable('chain_observations', {
  chainId: integer('chain_id').primaryKey(),
  creationFee: uint256('creation_fee').notNull(),
  hedgerFeeRate: uint256('hedger_fee_rate').notNull(),
  payoutFeeRate: uint256('payout_fee_rate').notNull(),
  lpProfitFeeRate: uint256('lp_profit_fee_rate').notNull(),
  creatorLoyaltyRate: uint256('creator_loyalty_rate').notNull(),
  paused: boolean('paused').notNull(),
  totalEvents: uint256('total_events').notNull(),
  /** keccak256 of the loupe's listing; null where the diamond has no loupe, and from an upgrade to the next observation. */
  loupeHash: hash('loupe_hash'),
  ...observedAt,
})

/** Changes of the diamond's functions, as the index learned of them. Append-only, but for those above a rollback's ancestor. */
export const upgrades = pgTable(
  'upgrades',
  {
    chainId,
    seq: bigint('seq', { mode: 'bigint' }).notNull().generatedAlwaysAsIdentity(),
    blockNumber: bigint('block_number', { mode: 'bigint' }).notNull(),
    blockHash: hash('block_hash').notNull(),
    /** Null where no log reported it. */
    txHash: hash('tx_hash'),
    recordedAt: timestamp('recorded_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.chainId, table.seq] })],
)

/**
 * What has to be observed again: `many` ids from `id` on. Written with the facts that say so, deleted with the observation. Subject `chain` has id 0. `noted`
 * is the order of arrival: what is noted over and over must not keep the rest waiting. `version` grows when it is noted again, so that an
 * observation from before that does not count.
 */
export const unobserved = pgTable(
  'unobserved',
  {
    chainId,
    subject: text('subject').notNull(),
    id,
    many: integer('many').notNull().default(1),
    noted: bigint('noted', { mode: 'bigint' }).notNull().generatedAlwaysAsIdentity(),
    version: integer('version').notNull().default(1),
    since: timestamp('since', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.chainId, table.subject, table.id] }),
    index('unobserved_by_arrival').on(table.chainId, table.noted),
  ],
)

/** The block up to which a chain's facts are complete. */
export const cursors = pgTable('cursors', {
  chainId: integer('chain_id').primaryKey(),
  blockNumber: bigint('block_number', { mode: 'bigint' }).notNull(),
  blockHash: hash('block_hash').notNull(),
  blockTimestamp: bigint('block_timestamp', { mode: 'bigint' }).notNull(),
})

/** Blocks at which something was written, one of them the common ancestor of a reorg. While entities are read by ids, the newest is above the cursor. */
export const anchors = pgTable(
  'anchors',
  {
    chainId,
    blockNumber: bigint('block_number', { mode: 'bigint' }).notNull(),
    blockHash: hash('block_hash').notNull(),
    blockTimestamp: bigint('block_timestamp', { mode: 'bigint' }).notNull(),
    /** Facts were complete up to it. */
    complete: boolean('complete').notNull().default(true),
  },
  (table) => [primaryKey({ columns: [table.chainId, table.blockNumber] })],
)

/**
 * When a chain's index was taken back, and to which block (-1 for nothing): who walks through a list is told when what they have seen
 * may have left the chain.
 */
export const rollbacks = pgTable(
  'rollbacks',
  {
    chainId,
    seq: bigint('seq', { mode: 'bigint' }).notNull().generatedAlwaysAsIdentity(),
    ancestorNumber: bigint('ancestor_number', { mode: 'bigint' }).notNull(),
    /** The newest entry of `unobserved` then: while one that is not newer waits, observations are missing. */
    lastNote: bigint('last_note', { mode: 'bigint' }).notNull().default(sql`0`),
    rolledBackAt: timestamp('rolled_back_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.chainId, table.seq] })],
)

/**
 * What write transactions changed, for the processes that keep answers: the newest rows alone. `seq` grows in the order of the commits;
 * `before` is the number of the change before, by which a reader sees that it missed some. No scopes: everything of the chain.
 */
export const changes = pgTable('changes', {
  seq: bigint('seq', { mode: 'number' }).primaryKey(),
  before: bigint('before', { mode: 'number' }).notNull(),
  chainId,
  scopes: text('scopes').array(),
})

/** The number of the newest change: one row, which whoever announces a change holds until the commit. */
export const changeCounter = pgTable('change_counter', {
  one: smallint('one').primaryKey(),
  last: bigint('last', { mode: 'number' }).notNull(),
  before: bigint('before', { mode: 'number' }).notNull(),
})

/** Settlements as they were seen, and those that left the chain again; append-only, numbered with the changes. */
export const settlements = pgTable(
  'settlements',
  {
    seq: bigint('seq', { mode: 'number' }).primaryKey(),
    type: text('type').notNull(),
    chainId,
    eventId,
    settledAt: uint256('settled_at').notNull(),
    triggered: boolean('triggered').notNull(),
    settlementPrice: uint256('settlement_price').notNull(),
    blockNumber: bigint('block_number', { mode: 'bigint' }).notNull(),
    blockHash: hash('block_hash').notNull(),
  },
  (table) => [
    index('settlements_by_event').on(table.chainId, table.eventId, table.seq),
    index('settlements_by_chain').on(table.chainId, table.seq),
    index('settlements_by_block').on(table.chainId, table.blockNumber),
  ],
)

/**
 * The oldest builds that this schema still serves, by the number of the newest migration that they know; the highest row counts. A migration
 * that only expands leaves it alone, one that contracts adds a row: see decision 15.
 */
export const schemaFloors = pgTable('schema_floors', { oldest: integer('oldest').primaryKey() })
