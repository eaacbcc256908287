import { sql } from 'drizzle-orm'
import { bigint, boolean, index, integer, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core'
import { kinds } from '../protocol/entities.ts'
import { block, chainId, hash, id } from './columns.ts'

/*
 * The tables of the index's own progress: the refresh queue, the blocks up to which it is complete, rollbacks and
 * upgrades. Some SQL names are older than the names in the code: `unobserved` is the refresh queue, `noted` its
 * sequence, `last_note` the last request of a rollback. A renamed column would break older builds, so only the
 * properties have the new names.
 */

/**
 * Changes of the diamond's functions, in the order in which the index found them. A rollback deletes those above its
 * ancestor.
 */
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
 * The refresh queue: entities that have to be observed again, `many` ids from `id` on. The transaction that stores a
 * change writes the request, and the transaction that stores the observation deletes it. Subject `chain` has id 0.
 * `sequence` is the order of arrival; a repeated request keeps its place, so that busy entities do not delay the
 * others. A repeated request raises `version`, so that an observation which was read before it does not complete it.
 */
export const refreshQueue = pgTable(
  'unobserved',
  {
    chainId,
    subject: text('subject', { enum: [...kinds, 'chain'] }).notNull(),
    id,
    many: integer('many').notNull().default(1),
    sequence: bigint('noted', { mode: 'bigint' }).notNull().generatedAlwaysAsIdentity(),
    version: integer('version').notNull().default(1),
    since: timestamp('since', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.chainId, table.subject, table.id] }),
    index('unobserved_by_arrival').on(table.chainId, table.sequence),
  ],
)

/** The block up to which a chain's facts are complete. */
export const cursors = pgTable('cursors', {
  chainId: integer('chain_id').primaryKey(),
  ...block,
})

/**
 * Blocks at which the index was written. After a reorg, the newest one that is still on the chain is the common
 * ancestor. While entities are read by ids, the newest anchor is above the cursor.
 */
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

/**
 * Rollbacks of a chain's index: when, and to which block (-1 for an empty index). Lists report to a paginating client
 * that rows of earlier pages may be orphaned.
 */
export const rollbacks = pgTable(
  'rollbacks',
  {
    chainId,
    seq: bigint('seq', { mode: 'bigint' }).notNull().generatedAlwaysAsIdentity(),
    ancestorNumber: bigint('ancestor_number', { mode: 'bigint' }).notNull(),
    /**
     * The newest sequence of the refresh queue at the rollback. While a request up to it waits, observations are
     * missing.
     */
    lastRequest: bigint('last_note', { mode: 'bigint' }).notNull().default(sql`0`),
    rolledBackAt: timestamp('rolled_back_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.chainId, table.seq] })],
)

/**
 * The oldest build that this schema still supports, as the number of the newest migration that the build knows; the
 * highest row counts. A migration that only expands the schema adds no row. One that contracts it adds a row (decision
 * 15).
 */
export const schemaFloors = pgTable('schema_floors', { oldest: integer('oldest').primaryKey() })
