import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { pino } from 'pino'
import { rerender } from '../../src/db/index/rerender.ts'
import { migrate } from '../../src/db/migrate.ts'
import { createRenderer } from '../../src/db/rendering.ts'
import { errorText } from '../../src/lib/errors.ts'
import { startPostgres } from '../../src/sandbox/postgres.ts'
import { openDatabase } from '../support/open-database.ts'
import { blockOf, seedDeployment, seedEvent, seedPosition, walletOf } from '../support/seed-index.ts'
import { chainId, from, planOf, ROWS, SAMPLE } from './million.ts'
import { multiply } from './multiply.ts'
import { BEFORE, openRelease } from './release.ts'

/*
 * Measures the migration from the release before rows were stored as text to the current schema: how long it takes, how
 * long readers and writers of the old release wait meanwhile, and how long rendering the rows in the background takes
 * afterwards.
 *
 *   npm run bench:migration
 *   ROWS=100000 npm run bench:migration
 */

const log = pino({ level: 'silent' })
const plan = planOf(ROWS)
const tip = blockOf(BigInt(Math.ceil(ROWS / plan.rowsABlock)))
const sample = from(1, Math.min(SAMPLE, ROWS)).map((id) => seedPosition(id, plan))
const events = from(1, plan.events).map((id) => seedEvent(id, plan))

const postgres = await startPostgres()
const before = await openRelease(BEFORE)
const renderer = createRenderer(seedDeployment(chainId))
const client = new Client(postgres.url)
await client.connect()

/** Writes the index as that release does, most of it as copies. */
const load = async (): Promise<void> => {
  await before.migrate.migrate({ databaseUrl: postgres.url, log })
  const database = before.pool.createDatabase({
    ...{ url: postgres.url, log, maxConnections: 1, statementTimeoutMs: 600_000 },
  })
  await database.transaction(async (handle, copy) => {
    const facts = [...events, ...sample].map(({ fact }) => fact)
    await before.write.insertFacts(copy, chainId, facts)
    const seen = { events: events.map((it) => it.seen), deposits: [], positions: sample.map((it) => it.seen) }
    await before.observations.storeObservations(handle, chainId, tip, { ...seen, protocol: null }, renderer)
    await before.write.addAnchor(handle, chainId, tip, true)
    await before.write.moveCursor(handle, chainId, tip)
  })
  await database.close()
  await multiply(client, { chainId, plan, sample: SAMPLE, rows: ROWS }, false)
  await client.query('VACUUM ANALYZE')
}

const database = openDatabase(postgres.url)
const old = before.pool.createDatabase({
  ...{ url: postgres.url, log, maxConnections: 2, statementTimeoutMs: 600_000 },
})

/** The old release's page of a wallet. */
const read = (): Promise<unknown> => {
  const query = { chainId, after: null, upTo: null, now: null, rollback: null, renderKey: 0n }
  return before.listings.createListings(old).page({
    ...{ kind: 'position', sort: 'created', order: 'desc', include: [], limit: 51, count: false },
    ...{ queries: [query], filters: { owners: [walletOf(77)] }, deployments: [] },
  })
}

/** The old release's observation of some positions. */
const write = (): Promise<unknown> =>
  old.transaction((handle) => {
    const seen = { events: [], deposits: [], positions: sample.slice(0, 10).map((it) => it.seen), protocol: null }
    return before.observations.storeObservations(handle, chainId, tip, seen, renderer)
  })

/**
 * Repeats `work` until `over` aborts. Reports the longest time of one run, the number of runs, and the errors of those
 * that failed.
 */
const longest = async (work: () => Promise<unknown>, over: AbortSignal): Promise<string> => {
  let [most, times] = [0, 0]
  const faults: string[] = []
  for (; !over.aborted; await sleep(2)) {
    const start = performance.now()
    await work().catch((fault: unknown) => faults.push(errorText(fault)))
    most = Math.max(most, performance.now() - start)
    times += 1
  }
  return `${most.toFixed(0)} ms of ${times}${faults.length > 0 ? ` (${faults.length} failed: ${faults[0]})` : ''}`
}

/** Runs `work` while readers and writers of the old release run, and prints how long each took. */
const beside = async (what: string, work: () => Promise<unknown>): Promise<void> => {
  const over = new AbortController()
  const [readers, writers] = [read, write].map((it) => longest(it, over.signal))
  await sleep(1_000)
  const start = performance.now()
  const done = await work()
  const took = ((performance.now() - start) / 1_000).toFixed(1)
  await sleep(200)
  over.abort()
  const waits = [await readers, await writers]
  console.log(
    `  ${what.padEnd(24)} ${took} s${typeof done === 'number' ? ` for ${done} rows` : ''}; longest read ${waits[0]}, longest write ${waits[1]}`,
  )
}

const size = async (): Promise<string> => {
  const { rows } = await client.query<{ size: string }>(
    'SELECT pg_size_pretty(pg_database_size(current_database())) AS size',
  )
  return rows[0]?.size ?? ''
}

try {
  await load()
  console.log(`an index of ${ROWS} positions of release ${BEFORE}: ${await size()}`)
  await beside('nothing', () => sleep(5_000))
  await beside('migrate', () => migrate({ databaseUrl: postgres.url, log }))
  console.log(`  size after it            ${await size()}`)
  await beside('render in the background', () => rerender(database, chainId, renderer, new AbortController().signal))
  console.log(`  size after it            ${await size()}`)
} finally {
  await Promise.all([old.close(), database.close(), client.end()])
  await before.close()
  await postgres.close()
}
