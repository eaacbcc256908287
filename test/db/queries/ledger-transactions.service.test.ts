import { sql } from 'drizzle-orm'
import { type Hex, keccak256, numberToHex } from 'viem'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Database } from '../../../src/db/pool.ts'
import { createLedgerTransactions } from '../../../src/db/queries/ledger-transactions.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { openDatabase } from '../../support/open-database.ts'

const hashOf = (nth: number) => keccak256(numberToHex(nth))

let store: TestDatabase
let database: Database
beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url)
  // Two logs of transaction 1, one of transaction 2 in the same block, and one of transaction 3 on another chain.
  for (const [chainId, block, logIndex, nth] of [
    [8453, 7, 0, 1],
    [8453, 7, 1, 1],
    [8453, 7, 2, 2],
    [56, 7, 0, 3],
  ] as const)
    await database.run((handle) =>
      handle.execute(sql`INSERT INTO ledger (chain_id, block_number, block_hash, block_timestamp, log_index, tx_hash, topics, data, type)
        VALUES (${chainId}, ${block}, '\\x07', 1, ${logIndex}, ${`\\x${hashOf(nth).slice(2)}`}, '\\x', '\\x', 0)`),
    )
})
afterAll(async () => {
  await database?.close()
  await store?.close()
})

test('finds the transactions of a chain that have a log in the block of their receipt', async () => {
  const find = createLedgerTransactions(database)
  const at = (nth: number, block = 7n, blockHash: Hex = '0x07') => ({ hash: hashOf(nth), block, blockHash })
  expect(await find(8453, [at(1), at(2), at(3), at(4)])).toEqual(new Set([hashOf(1), hashOf(2)]))
  expect(await find(56, [at(3), at(1)])).toEqual(new Set([hashOf(3)]))
  expect(await find(8453, [at(1, 8n), at(2, 6n)])).toEqual(new Set())
  // The transaction of another fork in a block of the same number.
  expect(await find(8453, [at(1, 7n, '0x08'), at(2)])).toEqual(new Set([hashOf(2)]))
})

test('asks the database only when there is something to find', async () => {
  const rows = vi.fn(database.rows)
  expect(await createLedgerTransactions({ rows })(8453, [])).toEqual(new Set())
  expect(rows).not.toHaveBeenCalled()
})
