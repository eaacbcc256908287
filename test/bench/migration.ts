import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { pino } from 'pino'
import { z } from 'zod'
import { migrate } from '../../src/db/migrate.ts'
import { createListings } from '../../src/db/queries/listings.ts'
import { migrationsFolder, migrationsOf } from '../../src/db/versions.ts'
import { errorText } from '../../src/lib/errors.ts'
import { startPostgres } from '../../src/sandbox/postgres.ts'
import { openDatabase } from '../support/open-database.ts'
import { walletOf } from '../support/seed-index.ts'
import { chainId, fill, from, planOf, ROWS } from './million.ts'

/*
 * Measures the newest migration on a database with positions and their observations that has all earlier ones: how long
 * it takes, how long readers wait meanwhile, and the size before and after it.
 *
 *   npm run bench:migration
 *   ROWS=100000 npm run bench:migration
 */

/** Reads at the same time. */
const READERS = 4

const log = pino({ level: 'silent' })
const Journal = z.looseObject({ entries: z.array(z.looseObject({})) })

/** A folder of all migrations but the newest. */
const earlierMigrations = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'fx-earlier-'))
  cpSync(migrationsFolder, folder, { recursive: true })
  const journal = join(folder, 'meta/_journal.json')
  const { entries, ...rest } = Journal.parse(JSON.parse(readFileSync(journal, 'utf8')))
  writeFileSync(journal, JSON.stringify({ ...rest, entries: entries.slice(0, -1) }))
  return folder
}

const postgres = await startPostgres()
const folder = earlierMigrations()
const database = openDatabase(postgres.url, { maxConnections: READERS })
const client = new Client(postgres.url)
await client.connect()

/** Reads a page of one wallet after another. */
const reader = (first: number): (() => Promise<unknown>) => {
  const { wallets } = planOf(ROWS)
  const query = { chainId, after: null, upTo: null, now: null, rollback: null }
  let nth = first
  return () => {
    nth = (nth + READERS) % wallets
    return createListings(database).page({
      ...{ kind: 'position', sort: 'created', order: 'desc', include: [], limit: 51, count: false },
      ...{ queries: [query], filters: { owners: [walletOf(nth)] }, deployments: [] },
    })
  }
}

type Waits = { readonly longest: number; readonly reads: number; readonly faults: readonly string[] }

/** Repeats a read until `over` aborts. */
const repeat = async (read: () => Promise<unknown>, over: AbortSignal): Promise<Waits> => {
  let [longest, reads] = [0, 0]
  const faults: string[] = []
  while (!over.aborted) {
    const start = performance.now()
    await read().catch((fault: unknown) => faults.push(errorText(fault)))
    longest = Math.max(longest, performance.now() - start)
    reads += 1
  }
  return { longest, reads, faults }
}

/** Does `work` while the readers run, and prints how long it took and the longest time of a read meanwhile. */
const underReads = async (what: string, work: () => Promise<unknown>): Promise<void> => {
  const over = new AbortController()
  const reading = from(0, READERS).map((first) => repeat(reader(first), over.signal))
  const start = performance.now()
  await work()
  const took = ((performance.now() - start) / 1_000).toFixed(2)
  over.abort()
  const waits = await Promise.all(reading)
  const longest = Math.max(...waits.map((it) => it.longest))
  const reads = waits.reduce((sum, it) => sum + it.reads, 0)
  const faults = waits.flatMap((it) => it.faults)
  const failed = faults.length > 0 ? `, ${faults.length} failed: ${faults[0]}` : ''
  console.log(`  ${what.padEnd(12)} ${took} s; longest of ${reads} reads ${longest.toFixed(0)} ms${failed}`)
}

const size = async (): Promise<string> => {
  const { rows } = await client.query<{ size: string }>(
    'SELECT pg_size_pretty(pg_database_size(current_database())) AS size',
  )
  return rows[0]?.size ?? ''
}

try {
  await migrate({ databaseUrl: postgres.url, log, folder })
  await fill(postgres.url, chainId, ROWS)
  const [before, newest] = migrationsOf(migrationsFolder).slice(-2)
  console.log(`${ROWS} positions with observations, at migration ${before?.tag}: ${await size()}`)
  await underReads('no migration', () => sleep(2_000))
  await underReads('migrate', () => migrate({ databaseUrl: postgres.url, log }))
  console.log(`at migration ${newest?.tag}: ${await size()}`)
} finally {
  await Promise.all([database.close(), client.end()])
  rmSync(folder, { recursive: true })
  await postgres.close()
}
