import type { Hex } from 'viem'
import type { ChainId } from '../../protocol/chains.ts'
import type { Reader } from '../pool.ts'

/** A transaction, and the block that its receipt names. */
export type PlacedTransaction = { readonly hash: Hex; readonly block: bigint }

/**
 * Finds the transactions that have a log in the ledger in the block of their receipt: that block is on the fork of the
 * index. Throws `service_unavailable` when the database is out of reach.
 */
export const createLedgerTransactions =
  (database: Pick<Reader, 'rows'>) =>
  async (chainId: ChainId, transactions: readonly PlacedTransaction[]): Promise<ReadonlySet<Hex>> => {
    if (transactions.length === 0) return new Set()
    const rows = await database.rows({
      name: 'ledger_transactions',
      text: `SELECT DISTINCT encode(tx_hash, 'hex') FROM unnest($2::bigint[], $3::text[]) AS placed (block, hash)
        JOIN ledger ON chain_id = $1 AND block_number = block AND tx_hash = decode(hash, 'hex')`,
      values: [chainId, transactions.map(({ block }) => block), transactions.map(({ hash }) => hash.slice(2))],
    })
    return new Set(rows.map(([hash]): Hex => `0x${hash}`))
  }
