import { bigint, boolean, index, pgTable, smallint, text } from 'drizzle-orm/pg-core'
import { block, chainId, eventId, uint256 } from './columns.ts'

/* The log of changes for processes that cache answers, and the settlements, which are numbered with it. */

/**
 * The change log: what each write transaction changed, for processes that cache answers. Only the newest rows are kept.
 * `seq` grows in commit order. `before` is the number of the previous change, so that a reader detects changes that it
 * missed. `scopes` null means everything of the chain.
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
})

/**
 * Settlements that were observed, and settlements that a reorg removed (`reverted`). Append-only, numbered with the
 * changes.
 */
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
  },
  (table) => [
    index('settlements_by_event').on(table.chainId, table.eventId, table.seq),
    index('settlements_by_chain').on(table.chainId, table.seq),
    index('settlements_by_block').on(table.chainId, table.blockNumber),
  ],
)
