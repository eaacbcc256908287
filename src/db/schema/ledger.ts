import { sql } from 'drizzle-orm'
import { bigint, index, integer, pgTable, primaryKey, smallint } from 'drizzle-orm/pg-core'
import { address, block, bytes, chainId, hash, uint256 } from './columns.ts'

/** A log as the chain has it, and what follows from it (`protocol/ledger.ts`). */
const columns = {
  chainId,
  ...block,
  logIndex: integer('log_index').notNull(),
  txHash: hash('tx_hash').notNull(),
  /** The words of the topics, one after the other. */
  topics: bytes('topics').notNull(),
  data: bytes('data').notNull(),
  /** The code of its type in `protocol/ledger.ts`. */
  type: smallint('type').notNull(),
  /** The event of the log, or of its deposit or position; null where it has none. */
  eventId: bigint('event_id', { mode: 'bigint' }),
  depositId: bigint('deposit_id', { mode: 'bigint' }),
  positionId: bigint('position_id', { mode: 'bigint' }),
  /** The wallet that acted; null where it is not known. */
  wallet: address('wallet'),
  /** Before the fee, in units of the payment token. */
  amount: uint256('amount'),
  fee: uint256('fee'),
}

/**
 * The ledger: every log of the diamond, once, in the order (chain, block, log index), complete up to the cursor except
 * for the blocks of `log_gaps`. The first columns are the log as the chain has it; the others follow from it
 * (`protocol/ledger.ts`), so a release that reads logs in another way can make them again without the chain.
 */
export const ledger = pgTable(
  'ledger',
  {
    ...columns,
    /** The number of the change by which the row was news of its wallet; null for a row of the past. */
    seq: bigint('seq', { mode: 'number' }),
  },
  (table) => {
    const order = [table.blockNumber, table.logIndex] as const
    return [
      primaryKey({ columns: [table.chainId, ...order] }),
      index('ledger_by_type').on(table.chainId, table.type, ...order),
      index('ledger_by_event')
        .on(table.chainId, table.eventId, ...order)
        .where(sql`${table.eventId} IS NOT NULL`),
      index('ledger_by_wallet')
        .on(table.chainId, table.wallet, ...order)
        .where(sql`${table.wallet} IS NOT NULL`),
      index('ledger_by_deposit')
        .on(table.chainId, table.depositId, ...order)
        .where(sql`${table.depositId} IS NOT NULL`),
      index('ledger_by_position')
        .on(table.chainId, table.positionId, ...order)
        .where(sql`${table.positionId} IS NOT NULL`),
      index('ledger_by_seq').on(table.seq).where(sql`${table.seq} IS NOT NULL`),
    ]
  },
)

/** Rows of the ledger with a number that a reorg removed, with the number of the removal. Append-only. */
export const ledgerReversals = pgTable('ledger_reversals', {
  ...columns,
  seq: bigint('seq', { mode: 'number' }).primaryKey(),
})
