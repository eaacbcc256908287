import { Client } from 'pg'
import { pino } from 'pino'
import { startPostgres } from '../../src/sandbox/parts/postgres.ts'
import { blockOf, seedEvent, seedPosition } from '../support/seed-index.ts'
import { chainId, from, planOf } from './million.ts'
import { BEFORE, openRelease, type Release } from './release.ts'

/*
 * Measures the cost of writes per row: positions are observed, observed again without a change, then with one, and
 * rolled back, in transactions as large as the worker's. Compares an earlier release without the feed of changes, and
 * other storage parameters. Neither release stores texts of rows.
 *
 *   npm run bench:writes
 *   POSITIONS=20000 UPDATES=100000 ONLY=before,now npm run bench:writes
 */

const POSITIONS = Number(process.env.POSITIONS ?? 100_000)
const UPDATES = Number(process.env.UPDATES ?? 1_000_000)
const AT_ONCE = 500

type Took = { readonly micros: number; readonly processor: number }

const brin = (pages: number): string =>
  `DROP INDEX position_observations_since_block; CREATE INDEX position_observations_since_block ON position_observations USING brin (block_number) WITH (pages_per_range=${pages}, autosummarize=true)`
const fillfactor = (share: number): string => `ALTER TABLE position_observations SET (fillfactor = ${share})`

/** The release of each contestant (null for this one), and the statements that change its empty tables. */
const contestants: Readonly<Record<string, { readonly commit: string | null; readonly setUp: string }>> = {
  before: { commit: BEFORE, setUp: '' },
  now: { commit: null, setUp: '' },
  ...Object.fromEntries([70, 80, 90, 100].map((it) => [`fillfactor ${it}`, { commit: null, setUp: fillfactor(it) }])),
  ...Object.fromEntries([4, 16, 64, 128].map((it) => [`${it} pages a range`, { commit: null, setUp: brin(it) }])),
}

const plan = planOf(POSITIONS)
const positions = from(1, POSITIONS).map((id) => seedPosition(id, plan))
const first = BigInt(Math.ceil(POSITIONS / plan.rowsABlock))
const chunks = from(0, Math.ceil(POSITIONS / AT_ONCE)).map((at) => positions.slice(at * AT_ONCE, (at + 1) * AT_ONCE))

const measure = async (url: string, { migrate, pool, observations, write }: Release, setUp: string) => {
  const log = pino({ level: 'silent' })
  await migrate.migrate({ databaseUrl: url, log })
  const client = new Client(url)
  await client.connect()
  await client.query(setUp)
  const database = pool.createDatabase({ url, log, maxConnections: 1, statementTimeoutMs: 600_000 })

  /** Observes positions at a block, those of the chunk with `more` paid out. */
  const observe = (at: bigint, seen: readonly (typeof positions)[number][], more = 0n): Promise<unknown> =>
    database.transaction(async (handle) => {
      const changed = seen.map(({ seen: { position } }) => ({
        position: { ...position, payoutAmount: position.payoutAmount + more },
      }))
      const all = { events: [], deposits: [], positions: changed, protocol: null }
      await observations.storeObservations(handle, chainId, blockOf(at), all)
    })
  /** The time that work takes, and this process's processor time, in microseconds. */
  const timed = async (work: () => Promise<unknown>): Promise<Took> => {
    const [start, used] = [performance.now(), process.cpuUsage()]
    await work()
    const { user, system } = process.cpuUsage(used)
    return { micros: (performance.now() - start) * 1_000, processor: user + system }
  }
  const bytes = async (): Promise<string> => {
    const { rows } = await client.query<{ heap: number; indexes: number }>(
      `SELECT pg_table_size('position_observations') / 1e6 AS heap, pg_indexes_size('position_observations') / 1e6 AS indexes`,
    )
    return `${Number(rows[0]?.heap).toFixed(0)} + ${Number(rows[0]?.indexes).toFixed(0)} MB`
  }
  const updated = async () => {
    await database.rows({ text: 'SELECT pg_stat_force_next_flush()', values: [] })
    const { rows } = await client.query<{ all: string; hot: string }>(
      `SELECT n_tup_upd AS all, n_tup_hot_upd AS hot FROM pg_stat_user_tables WHERE relname = 'position_observations'`,
    )
    return { all: Number(rows[0]?.all), hot: Number(rows[0]?.hot) }
  }

  const events = from(1, plan.events).map((id) => seedEvent(id, plan))
  await database.transaction(async (handle, copy) => {
    const facts = [...events, ...positions].map(({ fact }) => fact)
    await write.insertFacts(copy, chainId, facts)
    await write.addAnchor(handle, chainId, blockOf(first), true)
    await write.moveCursor(handle, chainId, blockOf(first))
    const all = { events: events.map(({ seen }) => seen), deposits: [], positions: [], protocol: null }
    await observations.storeObservations(handle, chainId, blockOf(first), all)
  })
  const observed = await timed(async () => {
    for (const chunk of chunks) await observe(first + 1n, chunk)
  })
  const before = await bytes()
  const passes = UPDATES / POSITIONS
  const again = await timed(async () => {
    for (let pass = 1; pass <= passes; pass += 1)
      for (const chunk of chunks) await observe(first + 1n + BigInt(pass), chunk)
  })
  const [after, unchanged] = [await bytes(), await updated()]
  const changed = await timed(async () => {
    for (const chunk of chunks) await observe(first + 2n + BigInt(passes), chunk, 1n)
  })
  const all = await updated()
  const rolledBack = await timed(() =>
    database.transaction((handle) => write.rollBack(handle, chainId, blockOf(first))),
  )
  await database.close()
  await client.end()
  const each = ({ micros, processor }: Took, count: number): string =>
    `${(micros / 1e6).toFixed(1)} s, ${(micros / count).toFixed(0)} us each, ${(processor / count).toFixed(1)} us of processor time`
  return [
    `observed ${POSITIONS}: ${each(observed, POSITIONS)}`,
    `observed again ${UPDATES}: ${each(again, UPDATES)}; HOT ${unchanged.hot} of ${unchanged.all}; table + indexes ${before}, then ${after}`,
    `changed ${POSITIONS}: ${each(changed, POSITIONS)}; HOT ${all.hot - unchanged.hot} of ${all.all - unchanged.all}`,
    `rolled back ${POSITIONS}: ${each(rolledBack, POSITIONS)}`,
  ]
}

const only = process.env.ONLY?.split(',')
const postgres = await startPostgres()
try {
  for (const [at, [name, { commit, setUp }]] of Object.entries(contestants).entries()) {
    if (only && !only.includes(name)) continue
    const client = new Client(postgres.url)
    await client.connect()
    await client.query(`CREATE DATABASE writes_${at}`)
    await client.end()
    const url = new URL(postgres.url)
    url.pathname = `writes_${at}`
    const release = await openRelease(commit)
    try {
      console.log([name, ...(await measure(url.href, release, setUp))].join('\n    '))
    } finally {
      await release.close()
    }
  }
} finally {
  await postgres.close()
}
