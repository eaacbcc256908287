import { sql } from 'drizzle-orm'
import { bigint, boolean, index, integer, pgTable, primaryKey, smallint, text, timestamp } from 'drizzle-orm/pg-core'
import { kinds } from '../../protocol/entities.ts'
import { block, chainId, eventId, hash, id, uint256 } from './columns.ts'

/*
 * The progress of the index (refresh queue, complete blocks, rollbacks, upgrades), the log of its changes, and the
 * settlements, which are numbered with the changes.
 */

/** Changes of the diamond's functions, in the order in which the index found them. */
export const upgrades = pgTable(
  'upgrades',
  {
    chainId,
    seq: bigint('seq', { mode: 'bigint' }).notNull().generatedAlwaysAsIdentity(),
    blockNumber: block.blockNumber,
    blockHash: block.blockHash,
    /** Null where no log reported it. */
    txHash: hash('tx_hash'),
    recordedAt: timestamp('recorded_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.chainId, table.seq] })],
)

/**
 * The refresh queue (`index/work/refresh-queue.ts`): `many` ids from `id` on; subject `chain` has id 0. `sequence` is
 * the order of arrival; a repeated request keeps its place, so that busy entities do not delay the others, and raises
 * `version`, so that an observation which was read before it does not complete it.
 */
export const refreshQueue = pgTable(
  'refresh_queue',
  {
    chainId,
    subject: text('subject', { enum: [...kinds, 'chain'] }).notNull(),
    id,
    many: integer('many').notNull().default(1),
    sequence: bigint('sequence', { mode: 'bigint' }).notNull().generatedAlwaysAsIdentity(),
    version: integer('version').notNull().default(1),
    since: timestamp('since', { withTimezone: true }).notNull().defaultNow(),
    /**
     * The oldest block whose changes the request has to show; reads of that block or a later one wait for it. Null when
     * no block caused it, so that no read waits. The default, 0, also serves builds that do not know the column: every
     * read waits.
     */
    fromBlock: bigint('from_block', { mode: 'bigint' }).default(sql`0`),
  },
  (table) => [
    primaryKey({ columns: [table.chainId, table.subject, table.id] }),
    index('refresh_queue_by_arrival').on(table.chainId, table.sequence),
  ],
)

/** The block up to which a chain's facts are complete. */
export const cursors = pgTable('cursors', {
  chainId: integer('chain_id').primaryKey(),
  ...block,
  /**
   * The block up to which `fee_rates` is complete: the cursor, unless logs of blocks below it were not read (`logGaps`).
   * Null before the first block of the history.
   */
  feesNumber: bigint('fees_number', { mode: 'bigint' }),
  feesHash: hash('fees_hash'),
  /**
   * The block up to which each log is in the ledger, or its block in a gap: the cursor, unless a build without a ledger
   * moved it. Null when such a build began the index or rolled it back: the ledger is then made again.
   */
  ledgerNumber: bigint('ledger_number', { mode: 'bigint' }),
  /**
   * The block up to which the ledger is summed by day (`index/totals.ts`). Null for no block, and when a build without
   * sums rolled the index back: they are then made again.
   */
  totalsNumber: bigint('totals_number', { mode: 'bigint' }),
  /** How the newest rates contradict those of the protocol's view (`index/fees.ts`); null where they agree. */
  feesContradiction: text('fees_contradiction'),
})

/**
 * Ranges of blocks of which the index was written without all of their logs (`index/work/log-gaps.ts`). The job `gaps`
 * reads the logs of an `open` one from its last block down. Then all nodes returned the range without the log of some
 * row (`absent`), or have no logs of its older blocks (`pruned`). An absent one is requested again when it is due.
 */
export const logGaps = pgTable(
  'log_gaps',
  {
    chainId,
    seq: bigint('seq', { mode: 'bigint' }).notNull().generatedAlwaysAsIdentity(),
    fromBlock: bigint('from_block', { mode: 'bigint' }).notNull(),
    toBlock: bigint('to_block', { mode: 'bigint' }).notNull(),
    /** The newest block whose logs are still to be read; those of the blocks above it were read. */
    unreadTo: bigint('unread_to', { mode: 'bigint' }).notNull(),
    state: text('state', { enum: ['open', 'absent', 'pruned'] })
      .notNull()
      .default('open'),
    /** Whether the index has everything that the logs report, and only the ledger lacks them. */
    ledgerOnly: boolean('ledger_only').notNull().default(false),
    since: timestamp('since', { withTimezone: true }).notNull().defaultNow(),
    /** When the logs are requested next. */
    nextAt: timestamp('next_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.chainId, table.seq] })],
)

/** Blocks at which the index was written. A rollback goes to the newest one that is still on the chain. */
export const anchors = pgTable(
  'anchors',
  {
    chainId,
    ...block,
    /** Whether facts were complete up to the block. */
    complete: boolean('complete').notNull().default(true),
  },
  (table) => [primaryKey({ columns: [table.chainId, table.blockNumber] })],
)

/** Rollbacks of a chain's index: when, and to which block (-1 for an empty index). */
export const rollbacks = pgTable(
  'rollbacks',
  {
    chainId,
    seq: bigint('seq', { mode: 'bigint' }).notNull().generatedAlwaysAsIdentity(),
    ancestorNumber: bigint('ancestor_number', { mode: 'bigint' }).notNull(),
    /** The newest request at the rollback. While a request up to it waits, observations are missing. */
    lastRequest: bigint('last_request', { mode: 'bigint' }).notNull().default(sql`0`),
    rolledBackAt: timestamp('rolled_back_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.chainId, table.seq] })],
)

/**
 * The oldest build that this schema still supports, as the number of the newest migration that the build knows; the
 * highest row counts (decision 15).
 */
export const schemaFloors = pgTable('schema_floors', { oldest: integer('oldest').primaryKey() })

/**
 * The change log (`changes/changes.ts`). Only the newest rows are kept. `seq` grows in commit order. `before` is the
 * number of the previous change, so that a reader detects changes that it missed. `scopes` null means everything of the
 * chain.
 */
export const changes = pgTable('changes', {
  seq: bigint('seq', { mode: 'number' }).primaryKey(),
  before: bigint('before', { mode: 'number' }).notNull(),
  chainId,
  scopes: text('scopes').array(),
})

/** The number of the newest change. A transaction that announces a change locks this one row until it commits. */
export const changeCounter = pgTable('change_counter', {
  one: smallint('one').primaryKey(),
  last: bigint('last', { mode: 'number' }).notNull(),
  before: bigint('before', { mode: 'number' }).notNull(),
  /** The newest change whose writer also wrote the feed (`feed.ts`); builds that do not know the feed leave it. */
  fed: bigint('fed', { mode: 'number' }).notNull().default(0),
  /** The server and the database that wrote the newest change, and the history that began with them (decision 27). */
  server: text('server').notNull().default(''),
  epoch: text('epoch').notNull().default(''),
})

/** Settlements that were observed, and settlements that a reorg removed (`reverted`). Append-only. */
export const settlements = pgTable(
  'settlements',
  {
    seq: bigint('seq', { mode: 'number' }).primaryKey(),
    type: text('type', { enum: ['settled', 'reverted'] }).notNull(),
    chainId,
    eventId,
    /** Unix seconds. */
    settledAt: uint256('settled_at').notNull(),
    triggered: boolean('triggered').notNull(),
    /** 1e6. */
    settlementPrice: uint256('settlement_price').notNull(),
    /** The block at which it was observed. */
    blockNumber: block.blockNumber,
    blockHash: block.blockHash,
    /** The transaction that settled the event; null where no log reported it. */
    txHash: hash('tx_hash'),
    /** The number of the item in the feed of final settlements; null while it is not in there. */
    finalizedSeq: bigint('finalized_seq', { mode: 'number' }),
  },
  (table) => [
    index('settlements_by_event').on(table.chainId, table.eventId, table.seq),
    index('settlements_by_chain').on(table.chainId, table.seq),
    index('settlements_by_block').on(table.chainId, table.blockNumber),
    index('settlements_final').on(table.finalizedSeq).where(sql`${table.finalizedSeq} IS NOT NULL`),
    index('settlements_not_final')
      .on(table.chainId, table.blockNumber)
      .where(sql`${table.finalizedSeq} IS NULL AND ${table.type} = 'settled'`),
  ],
)

/** The logs of settlements, which are read before the settlement is observed. */
export const settlementLogs = pgTable(
  'settlement_logs',
  { chainId, eventId, blockNumber: block.blockNumber, txHash: hash('tx_hash').notNull() },
  (table) => [primaryKey({ columns: [table.chainId, table.eventId, table.blockNumber] })],
)
