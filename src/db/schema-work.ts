import { bigint, integer, jsonb, pgTable, text, timestamp } from 'drizzle-orm/pg-core'
import { hash } from './columns.ts'

/* What processes note of their own work, beside the index that they keep: one row a chain, but for calibrations. */

/** Who writes a chain's index. The epoch grows with every change of holder; each write transaction checks it. */
export const leases = pgTable('leases', {
  chainId: integer('chain_id').primaryKey(),
  holder: text('holder').notNull(),
  epoch: bigint('epoch', { mode: 'bigint' }).notNull(),
  expiresAt: timestamp('expires_at', { withTimezone: true }).notNull(),
  /** The holder's session with this server, which ends with its process. */
  sessionPid: integer('session_pid'),
  sessionSince: timestamp('session_since', { withTimezone: true }),
})

/** What the leader saw of a chain lately; one row a chain. */
export const looks = pgTable('looks', {
  chainId: integer('chain_id').primaryKey(),
  lookedAt: timestamp('looked_at', { withTimezone: true }).notNull().defaultNow(),
  headNumber: bigint('head_number', { mode: 'bigint' }).notNull(),
  headTimestamp: bigint('head_timestamp', { mode: 'bigint' }).notNull(),
  /** The last block at which the ids of index and chain were compared and found equal. */
  provenNumber: bigint('proven_number', { mode: 'bigint' }),
  provenHash: hash('proven_hash'),
  provenTimestamp: bigint('proven_timestamp', { mode: 'bigint' }),
  /** `logs`, or `ids` where no node serves logs. */
  source: text('source').notNull(),
  /** What keeps the index from being proved, in words; null when nothing does. */
  trouble: text('trouble'),
  /** What the worker knows of its endpoints, as `Nodes`. */
  endpoints: jsonb('endpoints').notNull(),
})

/** How far the audit of a chain's rows has come in its rounds, and what it found; one row a chain. */
export const audits = pgTable('audits', {
  chainId: integer('chain_id').primaryKey(),
  /** The kind and id to go on with. */
  kind: text('kind').notNull(),
  nextId: bigint('next_id', { mode: 'bigint' }).notNull(),
  blockNumber: bigint('block_number', { mode: 'bigint' }).notNull(),
  blockHash: hash('block_hash').notNull(),
  auditedAt: timestamp('audited_at', { withTimezone: true }).notNull(),
  /** Since ever: rows compared, rounds over all rows, rows that differed, and of those the ones that were put right. */
  compared: bigint('compared', { mode: 'bigint' }).notNull(),
  rounds: bigint('rounds', { mode: 'bigint' }).notNull(),
  differences: bigint('differences', { mode: 'bigint' }).notNull(),
  repaired: bigint('repaired', { mode: 'bigint' }).notNull(),
  roundAt: timestamp('round_at', { withTimezone: true }),
  lastDifference: text('last_difference'),
  lastDifferenceAt: timestamp('last_difference_at', { withTimezone: true }),
})

/**
 * What the worker has calibrated, a row a set: written and read as a whole, so it is never half there. A model says what `pairs`
 * holds; a reader leaves those it does not know alone.
 */
export const calibrations = pgTable('calibrations', {
  version: bigint('version', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
  model: integer('model').notNull(),
  computedAt: timestamp('computed_at', { withTimezone: true }).notNull().defaultNow(),
  pairs: jsonb('pairs').notNull(),
})
