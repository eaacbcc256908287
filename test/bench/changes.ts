import { spawn } from 'node:child_process'
import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { announce } from '../../src/db/changes/changes.ts'
import { resumeFeed, suspendFeed } from '../../src/db/changes/feed.ts'
import { aspects, type Touched, touching, touchingAll, union } from '../../src/db/changes/scopes.ts'
import { storeObservations } from '../../src/db/index/observations.ts'
import { saveHeartbeat } from '../../src/db/index/work/heartbeat.ts'
import { nextRefreshRequests, subjectsIn } from '../../src/db/index/work/refresh-queue.ts'
import { addAnchor, insertFacts, moveCursor, rollBack } from '../../src/db/index/write.ts'
import { migrate } from '../../src/db/migrate.ts'
import { createDatabase, type Handle } from '../../src/db/pool.ts'
import { startPostgres } from '../../src/sandbox/parts/postgres.ts'
import { createRandom } from '../../src/sandbox/story/random.ts'
import { openApp } from '../support/app.ts'
import { heartbeatAt } from '../support/healthy-index.ts'
import { blockOf, type Plan, seedEvent, seedPosition, seedToken, walletOf, writeSeeded } from '../support/seed-index.ts'
import { median } from './compare.ts'

/*
 * Measures the feed of changes: what it adds to a commit, how many requests a client needs that keeps a copy of many
 * wallets, and what idle streams cost. Service, database clients and readers share this process.
 *
 *   npm run bench:changes
 */

const WALLETS = Number(process.env.WALLETS ?? 10_000)
const SECONDS = Number(process.env.SECONDS ?? 120)
const STREAMS = Number(process.env.STREAMS ?? 1_000)
const ROUNDS = Number(process.env.ROUNDS ?? 200)
const [CHANGES_PER_SECOND, COMMITS_PER_SECOND, REORGS] = [200, 10, 5]

const chainId = 8453
const log = pino({ level: 'silent' })
const plan: Plan = { token: seedToken, rowsABlock: 1_000, wallets: WALLETS, events: 50 }
const positions = Array.from({ length: WALLETS }, (_, at) => seedPosition(at + 1, plan))
const events = Array.from({ length: plan.events }, (_, at) => seedEvent(at + 1, plan))

const postgres = await startPostgres()
await migrate({ databaseUrl: postgres.url, log })
const database = createDatabase({ url: postgres.url, log, maxConnections: 4, statementTimeoutMs: 30_000 })
let number = BigInt(Math.ceil(WALLETS / plan.rowsABlock)) + 1n
let fork = 0

/** A transaction of the worker, which moves the index to the next block. */
const commit = (write: (handle: Handle) => Promise<unknown>): Promise<void> =>
  database.transaction(async (handle, copy) => {
    number += 1n
    const block = { ...blockOf(number, fork), timestamp: BigInt(Math.floor(Date.now() / 1_000)) }
    await insertFacts(copy, chainId, [])
    await addAnchor(handle, chainId, block, true)
    await moveCursor(handle, chainId, block)
    await saveHeartbeat(handle, chainId, heartbeatAt(block, { proven: block }))
    await write(handle)
  })

const begin = (handle: Handle): Promise<unknown> =>
  resumeFeed(handle, chainId).then((reset) =>
    announce(handle, chainId, reset === null ? touching() : touchingAll(reset)),
  )

await writeSeeded(database, chainId, blockOf(number, fork), { events, positions })
await commit(begin)
console.log(`node ${process.version}, ${cpus().length} x ${cpus()[0]?.model}`)

/** Announces changes of some wallets, and returns the time of the commit in milliseconds. */
const timedAnnouncement = async (touched: Touched): Promise<number> => {
  const start = performance.now()
  await commit((handle) => announce(handle, chainId, touched))
  return performance.now() - start
}

const touchedWallets = (first: number, count: number): Touched =>
  union(
    Array.from({ length: count }, (_, at) => ({
      ...touching(),
      scopes: new Map([[`wallet:${walletOf((first + at) % WALLETS).toLowerCase()}`, aspects.positions]]),
    })),
  )

const costs: number[] = []
for (const count of [20, 200, 2_000]) {
  const [fed, unfed]: [number[], number[]] = [[], []]
  for (let round = 0; round < ROUNDS; round += 1) {
    const touched = touchedWallets(round * count, count)
    fed.push(await timedAnnouncement(touched))
    await database.transaction((handle) => suspendFeed(handle, chainId, 'backfill'))
    unfed.push(await timedAnnouncement(touched))
    await commit(begin)
  }
  const more = median(fed) - median(unfed)
  costs.push(more)
  console.log(
    `commit of ${count} subjects: ${median(fed).toFixed(2)} ms with the feed, ${median(unfed).toFixed(2)} ms without, ${more.toFixed(2)} ms more`,
  )
}
const [first = Number.NaN, , last = Number.NaN] = costs
const verdict = (isMet: boolean): string => (isMet ? 'met' : 'MISSED')
const each = ((last - first) * 1_000) / (2_000 - 20)
console.log(`target: at most 1 ms more for 20 subjects: ${first.toFixed(2)} ms, ${verdict(first <= 1)}`)
console.log(`target: at most 20 us for each further one: ${each.toFixed(1)} us, ${verdict(each <= 20)}`)

const api = await openApp({
  databaseUrl: postgres.url,
  limits: { maxStreams: STREAMS, maxStreamsPerClient: STREAMS },
})
const base = await api.app.listen({ port: 0, host: '127.0.0.1' })
while (!api.sources.changes.isCurrent([chainId])) {
  await commit((handle) => announce(handle, chainId, touching()))
  await sleep(100)
}

type Answer = { readonly status: number; readonly body: string }
let requests = 0
const send = async (path: string, body?: object): Promise<Answer> => {
  requests += 1
  const init = body && { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const response = await fetch(`${base}${path}`, init)
  return { status: response.status, body: await response.text() }
}

/** The portfolios of wallets without the block that they are as of. */
const portfoliosOf = async (wallets: readonly string[]): Promise<Map<string, string>> => {
  const { status, body } = await send('/v1/wallets/portfolio', { wallets, chainIds: [chainId], state: 'all' })
  if (status !== 200) throw new Error(`portfolios: ${status} ${body}`)
  const { data }: { data: Record<string, unknown>[] } = JSON.parse(body)
  return new Map(data.map((it) => [String(it.wallet).toLowerCase(), JSON.stringify({ ...it, chains: null })]))
}

const everyone = Array.from({ length: WALLETS }, (_, at) => walletOf(at).toLowerCase())
const fetchAll = async (wallets: readonly string[]): Promise<Map<string, string>> => {
  const all = new Map<string, string>()
  for (let at = 0; at < wallets.length; at += 100)
    for (const [wallet, text] of await portfoliosOf(wallets.slice(at, at + 100))) all.set(wallet, text)
  return all
}

type Page = {
  data: { type: string; wallet?: string }[]
  meta: { nextCursor: string; hasMore: boolean; reset: boolean }
}
const held = new Map<string, string>()
let cursor = ''
let walks = 0
/** Walks through the pages of the feed once, and fetches again what they name. */
const followFeed = async (): Promise<void> => {
  walks += 1
  const named = new Set<string>()
  for (let hasMore = true; hasMore; ) {
    const since = cursor === '' ? 'since=now' : `since=${cursor}`
    const { status, body } = await send(`/v1/changes?${since}&types=wallet&limit=1000`)
    if (status !== 200) throw new Error(`changes: ${status} ${body}`)
    const page: Page = JSON.parse(body)
    if (page.meta.reset) throw new Error(`unexpected reset: ${body}`)
    for (const { wallet = '' } of page.data) named.add(wallet.toLowerCase())
    cursor = page.meta.nextCursor
    hasMore = page.meta.hasMore
  }
  for (const [wallet, text] of await fetchAll([...named])) held.set(wallet, text)
}

const random = createRandom(1)
/** Changes the payout of some positions, as an observation finds it. */
const change = (count: number): Promise<void> =>
  commit(async (handle) => {
    const ids = new Set(Array.from({ length: count }, () => random.int(0, WALLETS - 1)))
    const seen = [...ids].flatMap((id) => positions[id]?.seen ?? [])
    const paid = seen.map(({ position }) => ({
      position: { ...position, payoutAmount: BigInt(random.int(0, 10 ** 9)) },
    }))
    const block = { ...blockOf(number, fork), timestamp: BigInt(Math.floor(Date.now() / 1_000)) }
    await storeObservations(handle, chainId, block, { events: [], deposits: [], positions: paid, protocol: null })
  })

/** Rolls the index back by some blocks, and observes again what that deleted. */
const reorganise = async (depth: bigint): Promise<void> => {
  const ancestor = blockOf(number - depth, fork)
  await database.transaction((handle) => rollBack(handle, chainId, ancestor))
  number -= depth
  fork += 1
  for (;;) {
    const due = await nextRefreshRequests(database, chainId, 500)
    if (due.length === 0) return
    await commit(async (handle) => {
      const ids = subjectsIn(due).flatMap(({ subject, id }) => (subject === 'position' ? Number(id) : []))
      const block = { ...blockOf(number, fork), timestamp: BigInt(Math.floor(Date.now() / 1_000)) }
      const again = ids.flatMap((id) => positions[id - 1]?.seen ?? [])
      await storeObservations(
        handle,
        chainId,
        block,
        { events: [], deposits: [], positions: again, protocol: null },
        due,
      )
    })
  }
}

await followFeed()
for (const [wallet, text] of await fetchAll(everyone)) held.set(wallet, text)
requests = walks = 0
const until = performance.now() + SECONDS * 1_000
let changed = 0
const writing = (async () => {
  const count = CHANGES_PER_SECOND / COMMITS_PER_SECOND
  for (let done = 1; performance.now() < until; done += 1) {
    const next = performance.now() + 1_000 / COMMITS_PER_SECOND
    await change(count)
    changed += count
    if (done % Math.ceil((SECONDS * COMMITS_PER_SECOND) / (REORGS + 1)) === 0) await reorganise(5n)
    await sleep(Math.max(0, next - performance.now()))
  }
})()
const following = (async () => {
  while (performance.now() < until) {
    const next = performance.now() + 10_000
    await followFeed()
    await sleep(Math.max(0, Math.min(next, until) - performance.now()))
  }
})()
await Promise.all([writing, following])
await followFeed()
const used = requests
const truth = await fetchAll(everyone)
const wrong = everyone.filter((wallet) => truth.get(wallet) !== held.get(wallet)).length
const polling = (SECONDS / 10) * WALLETS
console.log(
  `${WALLETS} wallets, ${changed} changes and ${REORGS} reorgs in ${SECONDS} s: ${walks} walks, ${used} requests, ${wrong} wallets differ from a full fetch`,
)
console.log(`target: 0 wallets differ: ${wrong}, ${verdict(wrong === 0)}`)
console.log(
  `target: at most 1 % of the requests of a client that asks for each wallet every 10 s (${polling}): ${((used / polling) * 100).toFixed(2)} %, ${verdict(used <= polling / 100)}`,
)

const absent = cursor
for (let at = 0; at < 360; at += 1) await change(200)
requests = walks = 0
cursor = absent
await followFeed()
const late = (await fetchAll(everyone)).entries()
const missed = [...late].filter(([wallet, text]) => held.get(wallet) !== text).length
console.log(`after 72,000 changes of an absent client: 1 walk, ${missed} wallets differ, ${verdict(missed === 0)}`)

/** The part of a core that the process takes while nothing changes. */
const measureIdle = async (): Promise<number> => {
  globalThis.gc?.()
  await sleep(5_000)
  const before = process.cpuUsage()
  // Four beats of the streams.
  await sleep(60_000)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 60e6
}

const alone = await measureIdle()
/** Opens streams from a process of its own, whose time does not count. */
const listeners = spawn(process.execPath, [
  '-e',
  `
  const { get } = require('node:http')
  for (let at = 0; at < ${STREAMS}; at += 1)
    get('${base}/v1/changes/stream?since=now', (response) => response.resume()).on('error', () => {})
`,
])
const withStreams = await measureIdle()
listeners.kill()
const share = withStreams - (alone + (await measureIdle())) / 2
console.log(
  `target: ${STREAMS} idle streams take under 1 % of a core: ${(share * 100).toFixed(2)} %, ${verdict(share < 0.01)}`,
)

await api.close()
await database.close()
await postgres.close()
