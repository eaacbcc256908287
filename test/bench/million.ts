import { Pool } from 'pg'
import { pino } from 'pino'
import { migrate } from '../../src/db/migrate.ts'
import { createDatabase, type Database } from '../../src/db/pool.ts'
import type { ChainId } from '../../src/protocol/chains.ts'
import { startPostgres } from '../../src/sandbox/postgres.ts'
import { blockOf, type Plan, seedDeposit, seedEvent, seedPosition, writeSeeded } from '../support/seed-index.ts'

/** Positions, of one chain. */
export const ROWS = Number(process.env.ROWS ?? 1_000_000)
export const chainId: ChainId = 8453
export const token = '0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d'

const CHUNK = 10_000

// About 62 positions a wallet and 400 an event.
const plan: Plan = { token, rowsABlock: 100, wallets: Math.ceil(ROWS / 62), events: Math.ceil(ROWS / 400) }

/** So many numbers from one on. */
export const from = (first: number, count: number): number[] => Array.from({ length: count }, (_, at) => first + at)

/** The rows, through the writes of the index. */
const load = async (database: Database): Promise<void> => {
  const events = from(1, plan.events).map((id) => seedEvent(id, plan))
  const deposits = from(1, plan.events * 2).map((id) => seedDeposit(id, plan))
  const tip = blockOf(BigInt(Math.ceil(ROWS / plan.rowsABlock)))
  await writeSeeded(database, chainId, tip, { events, deposits })
  for (let first = 1; first <= ROWS; first += CHUNK) {
    const ids = from(first, Math.min(CHUNK, ROWS - first + 1))
    await writeSeeded(database, chainId, tip, { positions: ids.map((id) => seedPosition(id, plan)) })
    process.stderr.write(`\rwriting ${ROWS} positions: ${first + ids.length - 1}`)
  }
  process.stderr.write('\n')
}

/** A database of its own with so many positions, as autovacuum would have left it by the time there are so many. */
export const startMillion = async () => {
  const log = pino({ level: 'silent' })
  const postgres = await startPostgres()
  await migrate({ databaseUrl: postgres.url, log })
  const start = performance.now()
  const database = createDatabase({ url: postgres.url, log, maxConnections: 2, statementTimeoutMs: 60_000 })
  await load(database)
  await database.close()
  const client = new Pool({ connectionString: postgres.url, max: 1 })
  await client.query('VACUUM ANALYZE')
  await client.end()
  const took = ((performance.now() - start) / 1000).toFixed(0)
  console.log(`${ROWS} positions of ${plan.wallets} wallets written in ${took} s`)
  return { url: postgres.url, close: postgres.close }
}
