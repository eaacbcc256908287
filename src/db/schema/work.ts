import { sql } from 'drizzle-orm'
import { bigint, boolean, integer, jsonb, pgTable, text, timestamp } from 'drizzle-orm/pg-core'
import { kinds } from '../../protocol/entities.ts'
import { hash } from './columns.ts'

/*
 * Tables in which processes record their own work, separate from the index: one row per chain, except for calibrations.
 */

/** The worker that may write a chain's index (`index/work/lease.ts`). The epoch grows with every change of holder. */
export const leases = pgTable('leases', {
  chainId: integer('chain_id').primaryKey(),
  holder: text('holder').notNull(),
  epoch: bigint('epoch', { mode: 'bigint' }).notNull(),
  expiresAt: timestamp('expires_at', { withTimezone: true }).notNull(),
  /** The holder's database session, which ends with its process. */
  sessionPid: integer('session_pid'),
  sessionSince: timestamp('session_since', { withTimezone: true }),
})

/** The leader's last report on a chain (`index/work/heartbeat.ts`). */
export const heartbeats = pgTable('heartbeats', {
  chainId: integer('chain_id').primaryKey(),
  reportedAt: timestamp('reported_at', { withTimezone: true }).notNull().defaultNow(),
  headNumber: bigint('head_number', { mode: 'bigint' }).notNull(),
  headTimestamp: bigint('head_timestamp', { mode: 'bigint' }).notNull(),
  /**
   * The number that belongs to the next two columns. Builds that do not know these leave all three, so they count only
   * while it is `head_number`.
   */
  checkedNumber: bigint('checked_number', { mode: 'bigint' }),
  headHash: hash('head_hash'),
  /** Whether no log of the protocol lies between the cursor and the head, as far as the node that was polled knows. */
  isQuiet: boolean('is_quiet').notNull().default(false),
  provenNumber: bigint('proven_number', { mode: 'bigint' }),
  provenHash: hash('proven_hash'),
  provenTimestamp: bigint('proven_timestamp', { mode: 'bigint' }),
  /** `logs`, or `ids` where no node serves logs. */
  source: text('source', { enum: ['logs', 'ids'] }).notNull(),
  problem: text('problem'),
  endpoints: jsonb('endpoints').notNull(),
  /** The logs that no build that indexed them knew: how many, and the first topic and the block of the newest. */
  unknownLogs: bigint('unknown_logs', { mode: 'bigint' }).notNull().default(sql`0`),
  unknownTopic: hash('unknown_topic'),
  unknownBlock: bigint('unknown_block', { mode: 'bigint' }),
})

/** The position and the results of the continuous audit. */
export const audits = pgTable('audits', {
  chainId: integer('chain_id').primaryKey(),
  /** The kind and id to continue with. */
  kind: text('kind', { enum: kinds }).notNull(),
  nextId: bigint('next_id', { mode: 'bigint' }).notNull(),
  /** The block at which the comparison of the ledger goes on; 0 for the first. */
  ledgerNext: bigint('ledger_next', { mode: 'bigint' }).notNull().default(sql`0`),
  blockNumber: bigint('block_number', { mode: 'bigint' }).notNull(),
  blockHash: hash('block_hash').notNull(),
  auditedAt: timestamp('audited_at', { withTimezone: true }).notNull(),
  /** Totals since the first run: rows compared, rounds over all rows, rows that differed, and those repaired. */
  compared: bigint('compared', { mode: 'bigint' }).notNull(),
  rounds: bigint('rounds', { mode: 'bigint' }).notNull(),
  differences: bigint('differences', { mode: 'bigint' }).notNull(),
  repaired: bigint('repaired', { mode: 'bigint' }).notNull(),
  roundAt: timestamp('round_at', { withTimezone: true }),
  lastDifference: text('last_difference'),
  lastDifferenceAt: timestamp('last_difference_at', { withTimezone: true }),
})

/** The worker's calibrations, one row per set. The model defines `pairs`; a reader ignores models it does not know. */
export const calibrations = pgTable('calibrations', {
  version: bigint('version', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
  model: integer('model').notNull(),
  computedAt: timestamp('computed_at', { withTimezone: true }).notNull().defaultNow(),
  pairs: jsonb('pairs').notNull(),
})
