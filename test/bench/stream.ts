import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { announce } from '../../src/db/changes/changes.ts'
import { settlementsScope, touching } from '../../src/db/changes/scopes.ts'
import { insertSettlements } from '../../src/db/index/settlements.ts'
import { openApp } from '../support/app.ts'
import { compare } from './compare.ts'
import { startIndexed } from './indexed.ts'

/*
 * Measures how soon 500 streams receive a settlement after its commit, the cost of idle streams, and the cost of
 * polling the feed instead. Clients and service share this process, so the times are upper bounds.
 *
 *   npm run bench:stream
 */

const STREAMS = Number(process.env.STREAMS ?? 500)
const SETTLEMENTS = 100

const chainId = 8453
const hash = `0x${'22'.repeat(32)}` as const
const indexed = await startIndexed('0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', 1)
const api = await openApp({ databaseUrl: indexed.url, limits: { maxStreams: STREAMS, maxStreamsPerClient: STREAMS } })
const base = await api.app.listen({ port: 0, host: '127.0.0.1' })
while (!api.sources.changes.isCurrent([chainId])) await sleep(50)

const settle = (eventId: bigint): Promise<void> =>
  indexed.commit(async (handle) => {
    const last = await announce(handle, chainId, touching(settlementsScope))
    const told = { settledAt: 1n, triggered: true, settlementPrice: 1n, blockNumber: 1n, blockHash: hash }
    await insertSettlements(handle, chainId, [{ type: 'settled', eventId, ...told }], last)
  })

const memory = (): number => {
  globalThis.gc?.()
  return process.memoryUsage().rss / 1_048_576
}

const quantile = (sorted: readonly number[], share: number): string =>
  (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN).toFixed(1)

/** When each settlement was committed, by event id, and how much later each stream received it. */
const committed = new Map<number, number>()
const heard: { readonly eventId: number; readonly at: number }[] = []

const listen = async (): Promise<() => void> => {
  const request = get(`${base}/v1/hedge/settlements?since=now`, { headers: { accept: 'text/event-stream' } })
  request.on('error', () => {})
  const [response]: [IncomingMessage] = (await once(request, 'response')) as never
  response.setEncoding('utf8').on('data', (text: string) => {
    for (const [, id] of text.matchAll(/"eventId":(\d+)/g)) heard.push({ eventId: Number(id), at: performance.now() })
  })
  return () => request.destroy()
}

try {
  console.log(`node ${process.version}, ${cpus().length} x ${cpus()[0]?.model}`)
  const before = memory()
  const readers: (() => void)[] = []
  for (let at = 0; at < STREAMS; at += 1) readers.push(await listen())
  console.log(
    `  ${STREAMS} streams open, ${(((memory() - before) * 1_024) / STREAMS).toFixed(0)} KiB each, readers included`,
  )

  const cpu = process.cpuUsage()
  const start = performance.now()
  for (let id = 1; id <= SETTLEMENTS; id += 1) {
    await settle(BigInt(id))
    committed.set(id, performance.now())
    await sleep(50)
  }
  await sleep(1_000)
  const { user, system } = process.cpuUsage(cpu)
  const busy = (user + system) / 1_000 / (performance.now() - start)
  const late = heard.map(({ eventId, at }) => Math.max(0, at - (committed.get(eventId) ?? 0))).sort((a, b) => a - b)
  const told = `${heard.length} of ${SETTLEMENTS * STREAMS} deliveries`
  console.log(
    `  ${told}: p50 ${quantile(late, 0.5)} ms, p99 ${quantile(late, 0.99)} ms, last ${quantile(late, 1)} ms after the commit`,
  )
  console.log(`  ${(100 * busy).toFixed(0)} % of a core at ${STREAMS * 20} deliveries a second, readers included`)
  for (const stop of readers) stop()

  const feed = `${base}/v1/hedge/settlements?chainId=8453&since=${api.sources.changes.position()}`
  const tag = (await fetch(feed)).headers.get('etag') ?? ''
  const asked = api.database.run
  let statements = 0
  Object.assign(api.database, {
    run: (query: Parameters<typeof asked>[0]) => {
      statements += 1
      return asked(query)
    },
  })
  const began = performance.now()
  const [polls] = await compare([{ url: feed, tag }], { rounds: 3, seconds: 3 })
  const perSecond = (statements / (performance.now() - began)) * 1_000
  console.log(
    `  empty polls: ${polls?.perSecond.toFixed(0)} a second, ${polls?.perCpuSecond.toFixed(0)} a CPU second, ${perSecond.toFixed(1)} statements a second with any number of clients`,
  )
} finally {
  await api.close()
  await indexed.close()
}
