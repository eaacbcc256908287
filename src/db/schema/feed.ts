import { sql } from 'drizzle-orm'
import { bigint, index, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { block, chainId } from './columns.ts'

/*
 * The change feed (`changes/feed.ts`): which wallets and events changed, for clients that keep a copy of their state.
 * Its numbers are those of the change log.
 */

const seq = (name: string) => bigint(name, { mode: 'number' }).notNull()

/**
 * The newest change of each subject that ever changed: a wallet, an event, the protocol's own state. Every aspect has
 * the number of its newest change, 0 when it never changed.
 */
export const feed = pgTable(
  'feed',
  {
    chainId,
    type: text('type', { enum: ['wallet', 'event', 'protocol'] }).notNull(),
    /** The wallet's address in lower case, the event's id in decimal, or empty. */
    key: text('key').notNull(),
    events: seq('events'),
    deposits: seq('deposits'),
    positions: seq('positions'),
    claimables: seq('claimables'),
    /** 0 by default: builds without a ledger leave it out. */
    activity: seq('activity').default(0),
    /** The number of the row's newest change. */
    seq: seq('seq'),
    blockNumber: block.blockNumber,
    blockHash: block.blockHash,
  },
  (table) => [
    primaryKey({ columns: [table.chainId, table.type, table.key] }),
    index('feed_by_seq').on(table.chainId, table.type, table.seq),
    ...[table.events, table.deposits, table.positions, table.claimables, table.activity].map((number) =>
      index(`feed_by_${number.name}`).on(table.chainId, table.type, number).where(sql`${number} > 0`),
    ),
  ],
)

/** Why a client has to fetch everything of a chain again. */
export const resetReasons = [
  /** The index had to catch up with the chain, and wrote no rows meanwhile. */
  'backfill',
  /** The index of the chain was built again. */
  'rebuilt',
  /** One transaction changed more subjects than the feed lists at once. */
  'many_changes',
  /** Rows were repaired, and the subjects of the wrong rows are unknown. */
  'repaired',
  /** The index was written by an older version of the service, or by hand. */
  'unannounced',
  /** An operator began the feed again. */
  'operator',
] as const

/** The change before which the feed of a chain is not complete. */
export const feedFloors = pgTable('feed_floors', {
  chainId: integer('chain_id').primaryKey(),
  /** Null while the index catches up: no rows are written then. */
  seq: bigint('seq', { mode: 'number' }),
  reason: text('reason', { enum: resetReasons }).notNull(),
})

/** Earlier histories of this database, of which it has every change up to a number (decision 27). */
export const feedEpochs = pgTable('feed_epochs', {
  epoch: text('epoch').primaryKey(),
  last: seq('last'),
})
