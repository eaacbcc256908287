import { readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { Client } from 'pg'
import { type Child, startChild } from '../../src/sandbox/parts/child.ts'
import { freePort } from '../../src/sandbox/parts/ports.ts'
import { setup as build, builtCommand } from '../support/built.ts'
import { eventually } from '../support/process.ts'
import { seedDeployment, walletOf } from '../support/seed-index.ts'
import { chainId, planOf, startFilled } from './million.ts'
import { spentBy } from './spent.ts'

/*
 * Measures what an index of several sizes takes: bytes of each table, and for reads by many wallets the processor time
 * of an API process and of PostgreSQL. Nothing is cached: each read is of a random wallet, and the response cache is off.
 *
 *   npm run bench:capacity                     100,000, 1,000,000 and 10,000,000 positions: up to 25 GB of disk
 *   SIZES=100000 SECONDS=5 npm run bench:capacity
 *   npm run bench:capacity -- --write          and writes the table of docs/operations/capacity.md
 */

const sizes = (process.env.SIZES ?? '100000,1000000,10000000').split(',').map(Number)
const SECONDS = Number(process.env.SECONDS ?? 15)
const CONNECTIONS = 16
const PAGE = 'docs/operations/capacity.md'

const query = async <T extends object>(url: string, text: string): Promise<T[]> => {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<T>(text)).rows
  } finally {
    await client.end()
  }
}

/** A log of each position, in rows as long as those of a purchase. */
const ledgerOfPositions = `INSERT INTO ledger (chain_id, block_number, block_hash, block_timestamp, log_index, tx_hash, topics,
    data, type, event_id, position_id, wallet, amount, fee)
  SELECT chain_id, block_number, block_hash, block_timestamp, log_index, tx_hash, decode(repeat('ab', 128), 'hex'),
    decode(repeat('cd', 96), 'hex'), 5, event_id, id, hedger, notional, platform_fee FROM positions ORDER BY block_number, log_index`

/** Bytes of tables with their indexes, divided by rows. */
const bytesOf = async (url: string) => {
  const rows = await query<{ name: string; bytes: string; rows: string }>(
    url,
    `SELECT relname AS name, pg_total_relation_size(relname::regclass) AS bytes, n_live_tup AS rows
      FROM pg_stat_user_tables WHERE schemaname = 'public'`,
  )
  const of = (...names: string[]): number =>
    rows
      .filter(({ name }) => names.includes(name))
      .reduce((sum, { bytes, rows: many }) => sum + Number(bytes) / Math.max(1, Number(many)), 0)
  return {
    position: of('positions', 'position_observations'),
    deposit: of('deposits', 'deposit_observations'),
    event: of('events', 'event_observations'),
    log: of('ledger'),
    all: rows.reduce((sum, { bytes }) => sum + Number(bytes), 0),
  }
}

const reads = {
  "a wallet's 50 positions": (wallet: string) => `/v1/hedge/positions?chainId=${chainId}&wallet=${wallet}`,
  'a portfolio with events': (wallet: string) => `/v1/wallets/${wallet}/portfolio?chainId=${chainId}&include=event`,
  "a wallet's activity": (wallet: string) => `/v1/activity?chainId=${chainId}&wallet=${wallet}&limit=50`,
  'newest 50 events': () => `/v1/hedge/events?chainId=${chainId}&limit=50`,
} as const

type Read = keyof typeof reads
type Figure = { readonly perSecond: number; readonly api: number; readonly database: number; readonly p99: number }

/** Reads for some seconds over several connections. Times of processors and of answers are in milliseconds a request. */
const load = async (
  origin: string,
  pids: readonly [number, number],
  pathOf: (wallet: string) => string,
  wallets: number,
) => {
  const times: number[] = []
  const until = performance.now() + SECONDS * 1_000
  const before = pids.map(spentBy)
  const started = performance.now()
  const client = async (): Promise<void> => {
    while (performance.now() < until) {
      const start = performance.now()
      const answer = await fetch(origin + pathOf(walletOf(Math.floor(Math.random() * wallets))))
      const body = await answer.text()
      if (answer.status !== 200) throw new Error(`${answer.url}: ${answer.status} ${body}`)
      times.push(performance.now() - start)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, client))
  const seconds = (performance.now() - started) / 1_000
  const [api = 0, database = 0] = pids.map((pid, at) => ((spentBy(pid) - (before[at] ?? 0)) * 1_000) / times.length)
  const p99 = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN
  return { perSecond: times.length / seconds, api, database, p99 } satisfies Figure
}

const address = `0x${'22'.repeat(20)}`

/** Starts an API process without nodes on a database. */
const startApi = async (databaseUrl: string): Promise<{ readonly child: Child; readonly origin: string }> => {
  const port = await freePort()
  const nowhere = 'http://127.0.0.1:9'
  const child = await startChild({
    name: 'api',
    ...builtCommand('api'),
    env: {
      ...{
        PATH: process.env.PATH,
        DATABASE_URL: databaseUrl,
        PORT: String(port),
        HOST: '127.0.0.1',
        METRICS_PORT: 'off',
      },
      ...{ CHAINS: String(chainId), [`RPC_URLS_${chainId}`]: nowhere, [`PUBLIC_RPC_URL_${chainId}`]: nowhere },
      ...{
        [`DIAMOND_ADDRESS_${chainId}`]: address,
        [`USDC_ADDRESS_${chainId}`]: seedDeployment(chainId).usdc,
        [`START_BLOCK_${chainId}`]: '0',
      },
      ...{ PAGE_CACHE_BYTES: '0', LOG_LEVEL: 'warn', NODE_OPTIONS: '--max-old-space-size=256 --max-semi-space-size=8' },
    },
  })
  const origin = `http://127.0.0.1:${port}`
  await eventually('the API answers', async () => {
    if (child.hasExited()) throw new Error(child.output())
    return (await fetch(`${origin}/livez`).catch(() => undefined))?.ok === true
  })
  return { child, origin }
}

const residentMB = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN) / 1_024

const shown = (value: number): string => value.toLocaleString('en-US', { maximumFractionDigits: value < 10 ? 2 : 0 })

const closeBuild = await build()
const filled = await startFilled(sizes)
type Column = {
  readonly rows: number
  readonly bytes: Awaited<ReturnType<typeof bytesOf>>
  readonly memory: number
  readonly figures: Map<Read, Figure>
}
const columns: Column[] = []
try {
  for (const [at, rows] of sizes.entries()) {
    const url = filled.urls[at] ?? ''
    await query(url, ledgerOfPositions)
    await query(url, 'VACUUM ANALYZE')
    const bytes = await bytesOf(url)
    const { child, origin } = await startApi(url)
    try {
      const figures = new Map<Read, Figure>()
      for (const [name, pathOf] of Object.entries(reads) as [Read, (wallet: string) => string][]) {
        await load(origin, [child.pid, filled.pid], pathOf, planOf(rows).wallets)
        figures.set(name, await load(origin, [child.pid, filled.pid], pathOf, planOf(rows).wallets))
        console.log(`${rows} positions, ${name}: ${JSON.stringify(figures.get(name))}`)
      }
      columns.push({ rows, bytes, memory: residentMB(child.pid), figures })
    } finally {
      await child.stop()
    }
  }
} finally {
  await filled.close()
  await closeBuild()
}

const row = (name: string, of: (column: Column) => string): string => `| ${name} | ${columns.map(of).join(' | ')} |`
const ofRead = (name: Read) =>
  row(`${name}: API ms, PostgreSQL ms, p99 ms`, ({ figures }) => {
    const { api, database, p99 } = figures.get(name) ?? { api: Number.NaN, database: Number.NaN, p99: Number.NaN }
    return [api, database, p99].map(shown).join(', ')
  })
const table = [
  row('positions', ({ rows }) => shown(rows)),
  `| --- | ${columns.map(() => '---').join(' | ')} |`,
  row('wallets; events', ({ rows }) => `${shown(planOf(rows).wallets)}; ${shown(planOf(rows).events)}`),
  row('database, GB', ({ bytes }) => shown(bytes.all / 1e9)),
  row('bytes a position; deposit; event; log', ({ bytes: { position, deposit, event, log } }) =>
    [position, deposit, event, log].map(shown).join('; '),
  ),
  ...(Object.keys(reads) as Read[]).map(ofRead),
  row('memory of the API process, MB', ({ memory }) => shown(memory)),
].join('\n')
console.log(`${cpus().length} x ${cpus()[0]?.model}, node ${process.version}, ${CONNECTIONS} connections\n${table}`)

if (process.argv.includes('--write')) {
  const parts = readFileSync(PAGE, 'utf8').split(/(?<=<!-- measured -->\n)[\s\S]*(?=<!-- end -->)/)
  if (parts.length !== 2) throw new Error(`${PAGE} has no place for the table between its two comments`)
  writeFileSync(PAGE, parts.join(`\n${table}\n\n`))
}
