import type { Hex } from 'viem'
import type { ChainId } from '../../protocol/chains.ts'
import type { Reader } from '../pool.ts'

/** A transaction, and the number and hash of the block that its receipt names. */
export type PlacedTransaction = { readonly hash: Hex; readonly block: bigint; readonly blockHash: Hex }

/**
 * Finds the transactions that have a log in the ledger in the block of their receipt: that block is on the fork of the
 * index. A reorg may put a transaction into a block of the same number. Throws `service_unavailable` when the database
 * is out of reach.
 */
export const createLedgerTransactions =
  (database: Pick<Reader, 'rows'>) =>
  async (chainId: ChainId, transactions: readonly PlacedTransaction[]): Promise<ReadonlySet<Hex>> => {
    if (transactions.length === 0) return new Set()
    const rows = await database.rows({
      name: 'ledger_transactions',
      text: `SELECT DISTINCT encode(tx_hash, 'hex') FROM unnest($2::bigint[], $3::text[], $4::text[]) AS placed (block, fork, hash)
        JOIN ledger ON chain_id = $1 AND block_number = block AND block_hash = decode(fork, 'hex') AND tx_hash = decode(hash, 'hex')`,
      values: [
        chainId,
        transactions.map(({ block }) => block),
        transactions.map(({ blockHash }) => blockHash.slice(2)),
        transactions.map(({ hash }) => hash.slice(2)),
      ],
    })
    return new Set(rows.map(([hash]): Hex => `0x${hash}`))
  }
