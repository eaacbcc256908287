import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { setup as build } from '../support/built.ts'
import { eventually } from '../support/process.ts'
import { npmStart, startSandboxProcess } from '../support/sandbox-process.ts'
import { heapAfterCollection } from './heap.ts'
import { type Question, questionsOf } from './mix.ts'
import { growth, leastOfEach, type Point } from './trend.ts'
import { mebibytes, usageOf } from './usage.ts'
import { openEndpoints } from './webhook-endpoints.ts'

/*
 * The whole system, as `npm start` runs it, under mixed load while its chains mine. The resources of its processes must
 * not grow.
 *
 *   npm run soak                 SOAK_MINUTES=60: how long; SOAK_ENDPOINTS=100: receivers of webhooks
 */

if (process.argv.length > 2) throw new RangeError('soak takes no options: set SOAK_MINUTES and SOAK_ENDPOINTS')

const MINUTES = Number(process.env.SOAK_MINUTES ?? 60)

/** The interval between samples, in seconds. They are printed every minute. */
const SAMPLE_SECONDS = 15
const PER_LINE = 60 / SAMPLE_SECONDS
if (!(MINUTES >= 1)) throw new RangeError('SOAK_MINUTES is at least 1')

/** The number of clients, and the pause of each between two requests, in milliseconds. */
const CALLERS = 16
const PAUSE_MS = 50
const QUOTE_EVERY_MS = 500

/** The number of open streams, and how often a new one replaces the oldest, in milliseconds. */
const STREAMS = 20
const STREAM_EVERY_MS = 1_000
const streamed = ['/v1/hedge/settlements?since=now', '/v1/changes/stream?since=now']

const ENDPOINTS = Number(process.env.SOAK_ENDPOINTS ?? 100)

/**
 * The targets for the second half of the time. The heap after a collection, without compiled code, may grow by 4 %
 * of its median or 1 MiB.
 * Resident memory may grow by 8 % or 16 MiB, because the runtime decides when it returns memory. Handles, sockets and
 * connections to the database may grow by 3, files by none.
 */
const bounds = {
  heap: (median: number) => Math.max(2 ** 20, 0.04 * median),
  memory: (median: number) => Math.max(2 ** 24, 0.08 * median),
  handles: () => 3,
  sockets: () => 3,
  connections: () => 3,
  files: () => 0.5,
} as const

type What = keyof typeof bounds

/** What requests under way have too: a leak shows in the least of each minute. */
const isInFlight = (what: What): boolean => what !== 'memory' && what !== 'files'

const names = ['api', 'worker', 'engine'] as const

const chains = [8453, 56] as const
const wallet = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

const quote = {
  ...{ pair: 'USD/GHS', strike: 12, payoutCap: 13.5, notional: 10_000, strikeAbove: true },
  expiryUnixSeconds: Math.floor(Date.now() / 1_000) + 90 * 86_400,
}

const series = new Map<string, { readonly what: What; readonly points: Point[] }>()
const counts = new Map<string, number>()
const over = new AbortController()

const note = (who: string, what: What, at: number, value: number): void => {
  const key = `${who} ${what}`
  const known = series.get(key) ?? { what, points: [] }
  series.set(key, { what, points: [...known.points, { at, value }] })
}

await build()
// A separate temporary folder without files of other systems. PostgreSQL may run under another account.
const folder = mkdtempSync(join(tmpdir(), 'soak-'))
chmodSync(folder, 0o755)
const sandbox = await startSandboxProcess(
  [],
  {
    // A process opens its debugger at a signal. The output before the system is ready is not printed.
    NODE_OPTIONS: '--inspect-port=127.0.0.1:0',
    LOG_LEVEL: 'warn',
    TMPDIR: folder,
  },
  npmStart,
)

const pidOf = (name: string): number => {
  const [pid] = sandbox.children(new RegExp(`cli\\.js ${name}`))
  if (pid === undefined) throw new Error(`${name} does not run:\n${sandbox.output().slice(-2_000)}`)
  return pid
}

/** Opens the debugger of the process of this name, and returns its URL. */
const openDebugger = async (name: string): Promise<string> => {
  process.kill(pidOf(name), 'SIGUSR1')
  const printed = new RegExp(`\\[${name}\\] Debugger listening on (\\S+)`)
  await eventually(`the debugger of ${name} is open`, () => printed.test(sandbox.output()))
  return printed.exec(sandbox.output())?.[1] ?? ''
}

/** A variable of the system. */
const variable = (name: string): string => {
  const [, value = ''] = new RegExp(`^${name}=(.*)$`, 'm').exec(readFileSync(sandbox.envFile(), 'utf8')) ?? []
  return value
}

const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1)

const ask = async ({ method, path, body }: Question, tag: string | null): Promise<string | null> => {
  try {
    const headers = {
      ...(body && { 'content-type': 'application/json' }),
      ...(tag !== null && { 'if-none-match': tag }),
    }
    const response = await fetch(`${sandbox.url}${path}`, { method, headers, body: body ? JSON.stringify(body) : null })
    await response.arrayBuffer()
    count(String(response.status))
    return response.headers.get('etag')
  } catch {
    count('no answer')
    return null
  }
}

/** Sends requests in turn, every other one conditional. */
const caller = async (questions: readonly Question[], first: number): Promise<void> => {
  const tags = new Map<string, string | null>()
  for (let nth = first; !over.signal.aborted; nth += 1) {
    const question = questions[nth % questions.length]
    if (question === undefined) return
    const isAgain = nth % (2 * questions.length) >= questions.length
    tags.set(question.path, await ask(question, isAgain ? (tags.get(question.path) ?? null) : null))
    await sleep(PAUSE_MS)
  }
}

const quotes = async (): Promise<void> => {
  for (; !over.signal.aborted; await sleep(QUOTE_EVERY_MS))
    await ask({ method: 'POST', path: '/v1/pricing/quote', body: quote }, null)
}

const streams = async (): Promise<void> => {
  const open: (() => void)[] = []
  for (let nth = 0; !over.signal.aborted; nth += 1, await sleep(STREAM_EVERY_MS)) {
    const asked = get(`${sandbox.url}${streamed[nth % streamed.length]}`, { headers: { accept: 'text/event-stream' } })
    asked.on('error', () => {})
    const [response]: IncomingMessage[] = await once(asked, 'response')
    response?.on('error', () => {}).resume()
    count(response?.statusCode === 200 ? 'stream' : `stream ${response?.statusCode}`)
    open.push(() => asked.destroy())
    if (open.length > STREAMS) open.shift()?.()
  }
  for (const close of open) close()
}

const files = (): string[] => readdirSync(folder).filter((name) => name.startsWith('fx-'))

const client = new Client(variable('DATABASE_URL'))
const connections = async (): Promise<number> => {
  const { rows } = await client.query(
    `SELECT count(*)::int AS open FROM pg_stat_activity WHERE backend_type = 'client backend'`,
  )
  return rows[0]?.open
}

const sample = async (at: number): Promise<string> => {
  const parts: string[] = []
  for (const name of names) {
    const heap = await heapAfterCollection(debuggers.get(name) ?? '')
    const { rssBytes, handles, sockets } = usageOf(pidOf(name))
    note(name, 'heap', at, heap)
    note(name, 'memory', at, rssBytes)
    note(name, 'handles', at, handles)
    note(name, 'sockets', at, sockets)
    parts.push(`${name} ${mebibytes(heap)} of ${mebibytes(rssBytes)}, ${handles} handles, ${sockets} sockets`)
  }
  const [held, left] = [await connections(), files().length]
  note('PostgreSQL', 'connections', at, held)
  note('temporary folder', 'files', at, left)
  return [...parts, `${held} connections`, `${left} files`].join(' | ')
}

/** The expected statuses. Any other one is a failure. */
const isWanted = (what: string): boolean => ['200', '304', 'stream'].includes(what)

const debuggers = new Map<string, string>()
let receivers: { readonly close: () => Promise<void> } | undefined
try {
  await client.connect()
  console.log(`node ${process.version}, ${cpus().length} x ${cpus()[0]?.model}; ${MINUTES} minutes`)
  const webhooks = await openEndpoints(ENDPOINTS, variable)
  receivers = webhooks
  const questions = chains.flatMap((chainId) => questionsOf({ chainId, eventId: 1, wallet }))
  const load = [...Array.from({ length: CALLERS }, (_, at) => caller(questions, at * 7)), quotes(), streams()]
  const pids = names.map(pidOf)
  for (const name of names) debuggers.set(name, await openDebugger(name))
  const started = performance.now()
  for (let nth = 1; nth <= MINUTES * PER_LINE; nth += 1) {
    await sleep(Math.max(0, started + nth * SAMPLE_SECONDS * 1_000 - performance.now()))
    const line = await sample((nth * SAMPLE_SECONDS) / 60)
    if (nth % PER_LINE > 0) continue
    const answers = [...counts].map(([what, times]) => `${times} of ${what}`).join(', ')
    const { delivered, refused, hung } = webhooks.counts
    const sent = `webhooks: ${delivered} delivered, ${refused} refused, ${hung} without an answer`
    console.log(`minute ${nth / PER_LINE}: ${line} | ${answers} | ${sent}`)
  }
  over.abort()
  await Promise.all(load)

  const restarted = names.filter((name, at) => pidOf(name) !== pids[at])
  console.log(`growth over the second half, by the median of the slopes between all pairs of samples`)
  for (const [key, { what, points }] of series) {
    const { by, median } = growth(isInFlight(what) ? leastOfEach(PER_LINE, points) : points)
    const bound = bounds[what](median)
    const show = what === 'heap' || what === 'memory' ? mebibytes : (value: number) => value.toFixed(1)
    const met = by <= bound
    console.log(
      `  ${key.padEnd(24)} median ${show(median).padStart(9)}, grew by ${show(by).padStart(9)}, target ${show(bound)} ${met ? 'met' : 'MISSED'}`,
    )
    if (!met) process.exitCode = 1
  }
  const failures = [...counts].filter(([what]) => !isWanted(what))
  console.log(`  failed requests: ${failures.map(([what, times]) => `${times} of ${what}`).join(', ') || 'none'}`)
  console.log(`  processes that were started again: ${restarted.join(', ') || 'none'}`)
  if (failures.length > 0 || restarted.length > 0) process.exitCode = 1
} finally {
  over.abort()
  await receivers?.close()
  await client.end()
  const { code, left } = await sandbox.stop('SIGINT')
  const kept = files()
  console.log(
    `the system ended with code ${code} and left ${left.length} processes and ${kept.length} files ${kept.join()}`,
  )
  if (code !== 0 || left.length > 0 || kept.length > 0) process.exitCode = 1
  rmSync(folder, { recursive: true })
}
