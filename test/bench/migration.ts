import { setTimeout as sleep } from 'node:timers/promises'
import { Client, Pool } from 'pg'
import { pino } from 'pino'
import { migrate } from '../../src/db/migrate.ts'
import { errorText } from '../../src/lib/errors.ts'
import { startPostgres } from '../../src/sandbox/parts/postgres.ts'
import { turnIntoRelease } from '../support/release-0.1.0.ts'
import { walletOf } from '../support/seed-index.ts'
import { chainId, fill, from, planOf, ROWS } from './million.ts'

/*
 * Measures how a database of release 0.1.0, with positions and the texts of their rows, comes to this version: how long
 * the migration takes, how long statements of 0.1.0 wait meanwhile, and the size before and after it.
 *
 *   npm run bench:migration
 *   ROWS=100000 npm run bench:migration
 */

/** Clients that read at the same time. */
const READERS = 4

/** The bytes of a row's text. */
const TEXT_BYTES = 600

const log = pino({ level: 'silent' })
const postgres = await startPostgres()
const pool = new Pool({ connectionString: postgres.url, max: READERS + 1 })
const client = new Client(postgres.url)
await client.connect()

/** A page of a wallet, as 0.1.0 reads it. */
const page = `SELECT f.id, seen.row_text, l.head_number, l.looked_at, (SELECT min(noted) FROM unobserved WHERE chain_id = $1)
  FROM positions f JOIN position_observations seen USING (chain_id, id) JOIN cursors USING (chain_id) LEFT JOIN looks l USING (chain_id)
  WHERE chain_id = $1 AND f.hedger = $2 ORDER BY f.id DESC LIMIT 51`

/** Reads a page of one wallet after another. */
const reader = (first: number) => {
  const { wallets } = planOf(ROWS)
  let nth = first
  return async () => {
    nth = (nth + READERS) % wallets
    const wallet = Buffer.from(walletOf(nth).slice(2), 'hex')
    const { rowCount } = await pool.query({ name: 'page', text: page, values: [chainId, wallet] })
    if (rowCount === 0) throw new Error(`no row of ${walletOf(nth)}`)
  }
}

/** Writes as the worker of 0.1.0 does with each block: a heartbeat, a request and its completion. */
const writer = async () => {
  await pool.query('UPDATE looks SET looked_at = now(), head_number = head_number + 1 WHERE chain_id = $1', [chainId])
  await pool.query(
    `INSERT INTO unobserved (chain_id, subject, id) VALUES ($1, 'event', 1)
      ON CONFLICT (chain_id, subject, id) DO UPDATE SET version = unobserved.version + 1`,
    [chainId],
  )
  await pool.query('UPDATE position_observations SET claimed = NOT claimed WHERE chain_id = $1 AND id = 1', [chainId])
  await pool.query('DELETE FROM unobserved WHERE chain_id = $1', [chainId])
}

type Waits = { readonly longest: number; readonly count: number; readonly faults: readonly string[] }

/** Repeats `use` until `over` aborts. */
const repeat = async (use: () => Promise<void>, over: AbortSignal): Promise<Waits> => {
  let [longest, count] = [0, 0]
  const faults: string[] = []
  while (!over.aborted) {
    const start = performance.now()
    await use().catch((fault: unknown) => faults.push(errorText(fault)))
    longest = Math.max(longest, performance.now() - start)
    count += 1
  }
  return { longest, count, faults }
}

const line = (what: string, waits: readonly Waits[]): string => {
  const longest = Math.max(...waits.map((it) => it.longest))
  const faults = waits.flatMap((it) => it.faults)
  const failed = faults.length > 0 ? `, ${faults.length} failed: ${faults[0]}` : ''
  return `longest of ${waits.reduce((sum, it) => sum + it.count, 0)} ${what} ${longest.toFixed(0)} ms${failed}`
}

/** Does `work` while clients read and write, and prints how long it took and the longest time of a read and a write. */
const underLoad = async (what: string, work: () => Promise<unknown>): Promise<void> => {
  const over = new AbortController()
  const reads = from(0, READERS).map((first) => repeat(reader(first), over.signal))
  const writes = [repeat(writer, over.signal)]
  await sleep(200)
  const start = performance.now()
  await work()
  const took = ((performance.now() - start) / 1_000).toFixed(2)
  await sleep(200)
  over.abort()
  const [read, written] = [await Promise.all(reads), await Promise.all(writes)]
  console.log(`  ${what.padEnd(12)} ${took} s; ${line('reads', read)}; ${line('writes', written)}`)
}

const size = async (): Promise<string> => {
  const { rows } = await client.query<{ size: string }>(
    'SELECT pg_size_pretty(pg_database_size(current_database())) AS size',
  )
  return rows[0]?.size ?? ''
}

try {
  await migrate({ databaseUrl: postgres.url, log })
  await fill(postgres.url, chainId, ROWS)
  console.log(`${ROWS} positions with observations in a new database: ${await size()}`)
  await turnIntoRelease(postgres.url, 'x'.repeat(TEXT_BYTES))
  await client.query('VACUUM ANALYZE')
  console.log(`in a database of 0.1.0, with texts: ${await size()}`)
  await underLoad('no migration', () => sleep(2_000))
  await underLoad('migrate', () => migrate({ databaseUrl: postgres.url, log }))
  console.log(`after its migration: ${await size()}`)
} finally {
  await pool.end()
  await client.end()
  await postgres.close()
}
