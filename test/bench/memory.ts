import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { announce } from '../../src/db/changes/changes.ts'
import { touching } from '../../src/db/changes/scopes.ts'
import { saveHeartbeat } from '../../src/db/index/work/heartbeat.ts'
import { moveCursor } from '../../src/db/index/write.ts'
import { freePort } from '../../src/sandbox/parts/ports.ts'
import { mebibytes, usageOf } from '../load/usage.ts'
import { setup as build, builtCommand } from '../support/built.ts'
import { heartbeatAt } from '../support/healthy-index.ts'
import { openDatabase } from '../support/open-database.ts'
import { eventually } from '../support/process.ts'
import { blockOf, seedToken, walletOf } from '../support/seed-index.ts'
import { chainId, from, planOf, ROWS, startMillion } from './million.ts'
import { openStalled } from './stalled.ts'

/*
 * Measures the memory of an API process whose response cache is full, after a minute of wallet pages, portfolios of 100
 * wallets and requests that the cache answers.
 *
 *   npm run bench:memory             SECONDS=60: how long the load lasts
 *
 * Then STALLED clients (60) request portfolios of 100 wallets and do not read them. `MAX_UNREAD_BYTES` bounds what they add.
 *
 * V8 collects the garbage of an idle process 8 s after its last collection or later, so the memory counts 30 s after the
 * load.
 *
 * The process runs with the environment of the image. API_NODE_OPTIONS, API_MALLOC_ARENA_MAX,
 * API_MALLOC_MMAP_THRESHOLD_ and API_PAGE_CACHE_BYTES replace its settings. The cache gets full from 200,000 positions
 * on (ROWS, 1,000,000 by default); the output has its size, because figures with a different size cannot be compared.
 */

const SECONDS = Number(process.env.SECONDS ?? 60)
const CALLERS = 32
const STALLED = Number(process.env.STALLED ?? 60)
const MOST = 200 * 1_048_576
/** The share of its limit from which the cache counts as full. */
const FULL = 0.95

const nobody = `0x${'1'.repeat(40)}`
const NOWHERE = 'http://127.0.0.1:9'

const postgres = await startMillion()
await build()
const [port, metricsPort] = [await freePort(), await freePort()]
const chain = (id: number): Readonly<Record<string, string>> => ({
  [`RPC_URLS_${id}`]: NOWHERE,
  [`PUBLIC_RPC_URL_${id}`]: NOWHERE,
  [`DIAMOND_ADDRESS_${id}`]: nobody,
  [`USDC_ADDRESS_${id}`]: seedToken,
  [`START_BLOCK_${id}`]: '0',
})
const image = Object.fromEntries(
  [...readFileSync('Dockerfile', 'utf8').matchAll(/^ENV (\w+)="?([^"\n]*)"?$/gm)].map(([, name = '', value]) => [
    name,
    process.env[`API_${name}`] ?? value,
  ]),
)
const cacheBytes = Number(process.env.API_PAGE_CACHE_BYTES ?? 67_108_864)
const { command, args } = builtCommand('api')
const api = spawn(command, args, {
  env: {
    ...image,
    ...{ PATH: process.env.PATH, DATABASE_URL: postgres.url, PAGE_CACHE_BYTES: String(cacheBytes) },
    ...{ HOST: '127.0.0.1', PORT: String(port), METRICS_PORT: String(metricsPort) },
    ...{ LOG_LEVEL: 'info', ...chain(8453), ...chain(56) },
  },
  stdio: ['ignore', 'ignore', 'inherit'],
})
const url = `http://127.0.0.1:${port}`
const database = openDatabase(postgres.url)

/** Writes what an idle worker writes every second: without it the response cache does not answer. */
const beat = (): Promise<void> =>
  database.transaction(async (handle) => {
    const block = blockOf(BigInt(Math.ceil(ROWS / 100)))
    await moveCursor(handle, chainId, block)
    await saveHeartbeat(handle, chainId, heartbeatAt(block, { proven: block }))
    await announce(handle, chainId, touching())
  })
const beating = setInterval(() => void beat().catch(() => {}), 1_000)

const { wallets } = planOf(ROWS)
const pageOf = (nth: number): string => `${url}/v1/hedge/positions?chainId=${chainId}&wallet=${walletOf(nth % wallets)}`
const anyWallet = (): number => Math.floor(Math.random() * wallets)

const PORTFOLIOS = '/v1/wallets/portfolio'
/** The body of a request for the portfolios of 100 wallets in a row. */
const anyPortfolios = (): string => {
  const asked = from(anyWallet(), 100).map((nth) => walletOf(nth % wallets))
  return JSON.stringify({ wallets: asked, chainIds: [chainId], state: 'all' })
}

/** The requests, and how often each is made of a hundred. */
const requests: readonly (readonly [number, () => Promise<Response>])[] = [
  [60, () => fetch(pageOf(77))],
  [38, () => fetch(pageOf(anyWallet()))],
  [
    2,
    () => {
      const headers = { 'content-type': 'application/json' }
      return fetch(`${url}${PORTFOLIOS}`, { method: 'POST', headers, body: anyPortfolios() })
    },
  ],
]
const mix = requests.flatMap(([share, ask]) => Array.from({ length: share }, () => ask))

/** The size of the response cache, in bytes. */
const cached = async (): Promise<number> => {
  const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  return Number(/^fx_pages_bytes(?:\{[^}]*\})? (\S+)$/m.exec(metrics)?.[1])
}

/** Requests the page of each wallet until the cache is full. */
const fill = async (): Promise<void> => {
  for (let nth = 0; nth < wallets && (await cached()) < FULL * cacheBytes; nth += CALLERS) {
    const pages = from(nth, CALLERS).map(async (wallet) => (await fetch(pageOf(wallet))).arrayBuffer())
    await Promise.all(pages)
  }
}

try {
  const pid = api.pid ?? 0
  await eventually('the API answers pages from an index that is current', async () => {
    const answer = await fetch(pageOf(77)).catch(() => null)
    await answer?.arrayBuffer()
    return answer?.headers.has('etag') === true
  })
  const rest = usageOf(pid)
  await fill()
  const filled = usageOf(pid)
  const until = performance.now() + SECONDS * 1_000
  const statuses = new Map<number, number>()
  const call = async (): Promise<void> => {
    while (performance.now() < until) {
      const answer = await mix[Math.floor(Math.random() * mix.length)]?.()
      await answer?.arrayBuffer()
      if (answer) statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, call))
  const loaded = usageOf(pid)
  await sleep(10_000)
  const soon = usageOf(pid)
  await sleep(20_000)
  const idle = usageOf(pid)
  const stalled = await openStalled(port, PORTFOLIOS, Array.from({ length: STALLED }, anyPortfolios))
  const unread = usageOf(pid)
  stalled.close()
  console.log(`answers: ${[...statuses].map(([status, times]) => `${times} of ${status}`).join(', ')}`)
  const parts = {
    'at rest': rest.rssBytes,
    'cache filled': filled.rssBytes,
    'under load': loaded.rssBytes,
    peak: idle.peakBytes,
    '10 s later': soon.rssBytes,
    '30 s later': idle.rssBytes,
  }
  const bytes = await cached()
  const isFull = bytes >= FULL * cacheBytes
  console.log(`response cache: ${mebibytes(bytes)} of ${mebibytes(cacheBytes)}`)
  for (const [what, bytes] of Object.entries(parts)) console.log(`  ${what.padEnd(12)} ${mebibytes(bytes)}`)
  const rejected = stalled.statuses.filter((status) => status === 503).length
  console.log(
    `  ${mebibytes(unread.rssBytes)} with ${STALLED} clients that read nothing, ${rejected} of which got a 503`,
  )
  const verdict = idle.rssBytes <= MOST ? 'met' : 'MISSED'
  console.log(
    isFull
      ? `  target: at most ${mebibytes(MOST)} after 30 s, ${verdict}`
      : '  not compared with the target: the cache is not full, so use ROWS=200000 or more',
  )
} finally {
  clearInterval(beating)
  api.kill()
  await once(api, 'exit')
  await database.close()
  await postgres.close()
}
