import { bigint, integer, pgTable, primaryKey, smallint } from 'drizzle-orm/pg-core'
import { address, chainId, uint256 } from './columns.ts'

/**
 * Sums of the ledger by day, token and type, up to `cursors.totals_number`. The rows of the ledger above it are summed when
 * they are read.
 */
export const ledgerDays = pgTable(
  'ledger_days',
  {
    chainId,
    /** Days since the epoch, in UTC. */
    day: integer('day').notNull(),
    /** The payment token of the events. */
    token: address('token').notNull(),
    /** The code of the type in `protocol/ledger.ts`. */
    type: smallint('type').notNull(),
    rows: bigint('rows', { mode: 'bigint' }).notNull(),
    amount: uint256('amount').notNull(),
    fee: uint256('fee').notNull(),
    /** The notional of the positions: of new ones, and of those of settled events. For withdrawals the capital deposited. */
    notional: uint256('notional').notNull(),
  },
  (table) => [primaryKey({ columns: [table.chainId, table.day, table.token, table.type] })],
)
