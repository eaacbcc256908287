import { fork } from 'node:child_process'
import { once } from 'node:events'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { Client } from 'pg'
import { pino } from 'pino'
import { migrate } from '../../src/db/migrate.ts'
import { startAnvil } from '../../src/sandbox/parts/anvil.ts'
import { startPostgres } from '../../src/sandbox/parts/postgres.ts'
import { behindLatency, mineHistory } from './backfill-node.ts'
import { Backfilled, type ToBackfill } from './backfill-task.ts'
import { median } from './compare.ts'
import { spentBy } from './spent.ts'

/*
 * Measures the logs per second from a local node into Postgres, and their processor time and memory. The index's own
 * steps and a raw loop run in turn, each in a separate process and database.
 *
 *   npm run bench:backfill                             a million logs, 500 a block, three rounds
 *   LOGS=200000 npm run bench:backfill                 the short form
 *   LOGS=500 LOGS_A_BLOCK=2 GAP=9 LATENCY_MS=20 WIDTH=25 npm run bench:backfill
 *                                                      2,500 blocks, few with logs, from a node with 20 ms latency that
 *                                                      returns the logs of 25 blocks at once; without the raw loop
 */

const LOGS = Number(process.env.LOGS ?? 1_000_000)
const LOGS_A_BLOCK = Number(process.env.LOGS_A_BLOCK ?? 500)
/** Empty blocks after each block with logs. */
const GAP = Number(process.env.GAP ?? 0)
const LATENCY_MS = Number(process.env.LATENCY_MS ?? 0)
/** The most blocks per log request at the node behind the latency. */
const WIDTH = Number(process.env.WIDTH ?? 10_000)
const ROUNDS = Number(process.env.ROUNDS ?? (LATENCY_MS > 0 ? 1 : 3))

const contestants = LATENCY_MS > 0 ? (['index'] as const) : (['index', 'raw'] as const)
type Contestant = (typeof contestants)[number]

const [anvil, postgres] = await Promise.all([startAnvil({ chainId: 8453 }), startPostgres()])
const closers: (() => unknown)[] = [anvil.close, postgres.close]

const onServer = async <T>(url: string, work: (client: Client) => Promise<T>): Promise<T> => {
  const client = new Client(url)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** The contestant as JavaScript for plain Node, as in production, because a TypeScript compiler takes memory too. */
const built = async (contestant: Contestant): Promise<string> => {
  const outfile = fileURLToPath(new URL(`../../dist/bench/backfill-${contestant}.js`, import.meta.url))
  const entry = fileURLToPath(new URL(`backfill-${contestant}.ts`, import.meta.url))
  await build({ entryPoints: [entry], outfile, bundle: true, format: 'esm', platform: 'node', packages: 'external' })
  return outfile
}

/** The report of a contestant's process, and the processor seconds of the database and the node meanwhile. */
const measure = async (script: string, task: ToBackfill) => {
  const pids = [postgres.pid, anvil.pid]
  const before = pids.map(spentBy)
  const child = fork(script, [JSON.stringify(task)], { execArgv: [] })
  const [message] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error(`${script} ended early`))),
  ])
  const [database = 0, node = 0] = pids.map((pid, at) => spentBy(pid) - (before[at] ?? 0))
  child.disconnect()
  await once(child, 'exit')
  return { ...Backfilled.parse(message), database, node }
}

/** The content of a table that a contestant fills, as one number. */
const checksum = (url: string, table: 'positions' | 'ledger') =>
  onServer(url, async (client) => {
    const text = `SELECT count(*)::integer AS rows, sum(hashtextextended(${table}::text, 0)) AS sum FROM ${table}`
    const { rows } = await client.query<{ rows: number; sum: string }>(text)
    if (rows[0]?.rows !== LOGS) throw new Error(`${table} has ${rows[0]?.rows} rows and not ${LOGS}`)
    return rows[0].sum
  })

/** The bytes that a row of the ledger takes in the table, and in its indexes. */
const ledgerBytes = (url: string) =>
  onServer(url, async (client) => {
    const text = `SELECT pg_table_size('ledger')::float / ${LOGS} AS heap, pg_indexes_size('ledger')::float / ${LOGS} AS indexes`
    const { rows } = await client.query<{ heap: number; indexes: number }>(text)
    return rows[0] ?? { heap: Number.NaN, indexes: Number.NaN }
  })

/** Runs one contestant in its own database. */
const turn = async (script: string, chain: Omit<ToBackfill, 'databaseUrl'>) => {
  const url = new URL(postgres.url)
  url.pathname = '/turn'
  const databaseUrl = url.href
  await onServer(postgres.url, (client) => client.query('CREATE DATABASE turn'))
  await migrate({ databaseUrl, log: pino({ level: 'silent' }) })
  const figures = await measure(script, { databaseUrl, ...chain })
  const sum = `${await checksum(databaseUrl, 'positions')} ${await checksum(databaseUrl, 'ledger')}`
  const bytes = await ledgerBytes(databaseUrl)
  await onServer(postgres.url, (client) => client.query('DROP DATABASE turn'))
  return { ...figures, sum, bytes }
}

try {
  const { diamond, startBlock, head } = await mineHistory(anvil.url, { logs: LOGS, logsABlock: LOGS_A_BLOCK, gap: GAP })
  const line = LATENCY_MS > 0 ? await behindLatency(anvil.url, LATENCY_MS, WIDTH) : anvil
  closers.unshift(line.close)
  const scripts = await Promise.all(contestants.map(built))
  const figures = contestants.map((): Awaited<ReturnType<typeof turn>>[] => [])
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [at, script] of scripts.entries())
      figures[at]?.push(await turn(script, { rpcUrl: line.url, diamond, startBlock, head }))
  }
  const sums = new Set(figures.flat().map(({ sum }) => sum))
  if (sums.size > 1) throw new Error('the contestants wrote different rows')

  const each = (seconds: readonly number[]): string => `${((median(seconds) * 1e6) / LOGS).toFixed(1)} us`
  console.log(`node ${process.version}, ${cpus().length} x ${cpus()[0]?.model}`)
  console.log(`${LOGS} logs in ${head - startBlock} blocks, ${ROUNDS} rounds, medians`)
  for (const [at, contestant] of contestants.entries()) {
    const all = figures[at] ?? []
    const rates = all.map(({ seconds }) => Math.round(LOGS / seconds))
    const spent = [all.map((it) => it.cpuSeconds), all.map((it) => it.database), all.map((it) => it.node)].map(each)
    const memory = Math.max(...all.map(({ peakMB }) => peakMB))
    console.log(contestant === 'index' ? 'the index' : 'the raw loop')
    console.log(`  logs a second            ${median(rates)} (${rates.join(', ')})`)
    console.log(`  processor time a log     ${spent[0]}, Postgres ${spent[1]}, node ${spent[2]}`)
    console.log(`  peak memory              ${memory} MB (${all[0]?.restMB} MB before the first range)`)
    const [heap, indexes] = [median(all.map(({ bytes }) => bytes.heap)), median(all.map(({ bytes }) => bytes.indexes))]
    console.log(`  bytes a ledger row       ${heap.toFixed(0)}, ${indexes.toFixed(0)} in indexes`)
    console.log(`  requests                 ${median(all.map(({ requests }) => requests))}`)
  }
  const [index = [], raw = []] = figures
  const seconds = median(index.map((it) => it.seconds))
  const ratios = raw.map((it, round) => it.seconds / (index[round]?.seconds ?? Number.NaN))
  if (raw.length > 0)
    console.log(
      `ratio to the raw loop      ${median(ratios).toFixed(2)} (${ratios.map((it) => it.toFixed(2)).join(', ')})`,
    )
  const floor = (median(index.map(({ requests }) => requests)) * LATENCY_MS) / 1_000
  if (floor > 0) console.log(`requests x latency         ${floor.toFixed(2)} s, ratio ${(seconds / floor).toFixed(2)}`)
} finally {
  for (const close of closers) await close()
}
