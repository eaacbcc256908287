import { bigint, integer, jsonb, pgTable, text, timestamp } from 'drizzle-orm/pg-core'
import { hash } from './columns.ts'

/*
 * Tables in which processes record their own work, separate from the index: one row per chain, except for calibrations.
 * SQL names are older than the names in the code: `looks` are heartbeats, `looked_at` is `reportedAt`.
 */

/**
 * The worker that may write a chain's index. The epoch grows with every change of holder, and each write transaction
 * checks it.
 */
export const leases = pgTable('leases', {
  chainId: integer('chain_id').primaryKey(),
  holder: text('holder').notNull(),
  epoch: bigint('epoch', { mode: 'bigint' }).notNull(),
  expiresAt: timestamp('expires_at', { withTimezone: true }).notNull(),
  /** The holder's database session, which ends with its process. */
  sessionPid: integer('session_pid'),
  sessionSince: timestamp('session_since', { withTimezone: true }),
})

/** The leader's last report on a chain; one row per chain. */
export const heartbeats = pgTable('looks', {
  chainId: integer('chain_id').primaryKey(),
  reportedAt: timestamp('looked_at', { withTimezone: true }).notNull().defaultNow(),
  headNumber: bigint('head_number', { mode: 'bigint' }).notNull(),
  headTimestamp: bigint('head_timestamp', { mode: 'bigint' }).notNull(),
  /** The last block at which the ids of the index and of the chain were compared and equal. */
  provenNumber: bigint('proven_number', { mode: 'bigint' }),
  provenHash: hash('proven_hash'),
  provenTimestamp: bigint('proven_timestamp', { mode: 'bigint' }),
  /** `logs`, or `ids` where no node serves logs. */
  source: text('source').notNull(),
  /** A sentence about the problem that prevents a proof of the index; null when there is none. */
  trouble: text('trouble'),
  /** The worker's status of its endpoints (`NodeStatus`). */
  endpoints: jsonb('endpoints').notNull(),
})

/** The position and the results of the continuous audit; one row per chain. */
export const audits = pgTable('audits', {
  chainId: integer('chain_id').primaryKey(),
  /** The kind and id to continue with. */
  kind: text('kind').notNull(),
  nextId: bigint('next_id', { mode: 'bigint' }).notNull(),
  blockNumber: bigint('block_number', { mode: 'bigint' }).notNull(),
  blockHash: hash('block_hash').notNull(),
  auditedAt: timestamp('audited_at', { withTimezone: true }).notNull(),
  /**
   * Totals since the first run: rows compared, complete rounds over all rows, rows that differed, and differing rows
   * that were repaired.
   */
  compared: bigint('compared', { mode: 'bigint' }).notNull(),
  rounds: bigint('rounds', { mode: 'bigint' }).notNull(),
  differences: bigint('differences', { mode: 'bigint' }).notNull(),
  repaired: bigint('repaired', { mode: 'bigint' }).notNull(),
  roundAt: timestamp('round_at', { withTimezone: true }),
  lastDifference: text('last_difference'),
  lastDifferenceAt: timestamp('last_difference_at', { withTimezone: true }),
})

/**
 * The worker's calibrations, one row per set. A set is written and read as a whole, so a reader never sees half of one.
 * The model defines the contents of `pairs`; a reader ignores models that it does not know.
 */
export const calibrations = pgTable('calibrations', {
  version: bigint('version', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
  model: integer('model').notNull(),
  computedAt: timestamp('computed_at', { withTimezone: true }).notNull().defaultNow(),
  pairs: jsonb('pairs').notNull(),
})
