import { sql } from 'drizzle-orm'
import { putLedger } from '../../src/db/index/ledger.ts'
import { storeObservations } from '../../src/db/index/observations.ts'
import { createTestDatabase } from './database.ts'
import { openDatabase } from './open-database.ts'
import { blockOf, type Plan, seedRows, seedToken, writeSeeded } from './seed-index.ts'
import { seededFees, seededLedger } from './seeded-chain.ts'

/** The chain of the index. */
export const chainId = 8453

const plan: Plan = { token: seedToken, rowsABlock: 2, wallets: 7, events: 3 }

/** Three rows of each kind. No event is settled. */
export const rows = seedRows(plan, { events: 3, deposits: 3, positions: 3 })

/** The tables that a test may change. */
const changing = [
  ...['events', 'deposits', 'positions', 'event_observations', 'deposit_observations', 'position_observations'],
  ...['chain_observations', 'ledger', 'anchors', 'cursors'],
]
const filled = ['audits', 'refresh_queue', 'changes', 'feed_floors', 'fee_rates']

/** A database with an index at block 10 that equals the `seededChain` of its rows. The test closes it. */
export const openAuditedIndex = async () => {
  const store = await createTestDatabase()
  const database = openDatabase(store.url)
  const run = (statement: string) => database.run((handle) => handle.execute(sql.raw(statement)))
  const protocol = { fees: seededFees, paused: false, total: BigInt(rows.events.length), loupeHash: null }
  const seen = { events: [], deposits: [], positions: [], protocol }
  await writeSeeded(database, chainId, blockOf(10n), rows)
  await database.transaction((handle) => storeObservations(handle, chainId, blockOf(10n), seen))
  await database.transaction((handle) => putLedger(handle, chainId, seededLedger(rows, chainId)))
  for (const table of changing) await run(`CREATE TABLE kept_${table} AS TABLE ${table}`)
  return {
    database,
    run,
    /** Makes the index what it was at first, without results of the audit. */
    reset: () =>
      run(
        [
          ...changing.toReversed().map((table) => `DELETE FROM ${table}`),
          ...changing.map((table) => `INSERT INTO ${table} SELECT * FROM kept_${table}`),
          ...filled.map((table) => `DELETE FROM ${table}`),
        ].join(';'),
      ),
    async close() {
      await database.close()
      await store.close()
    },
  }
}
