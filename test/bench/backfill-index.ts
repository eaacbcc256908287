import { subscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { pino } from 'pino'
import { z } from 'zod'
import { createChain } from '../../src/chain/chain.ts'
import { takeLease } from '../../src/db/lease.ts'
import { createDatabase } from '../../src/db/pool.ts'
import { readProgress } from '../../src/db/progress.ts'
import { createStep } from '../../src/indexer/step.ts'
import { Address20 } from '../../src/protocol/wire.ts'

/*
 * The process that the backfill's benchmark measures: indexes a chain up to a block and tells what that took.
 */

const ToBackfill = z.object({
  databaseUrl: z.string(),
  rpcUrl: z.string(),
  diamond: Address20,
  startBlock: z.number(),
  head: z.number(),
})
export type ToBackfill = z.input<typeof ToBackfill>

export const Backfilled = z.object({
  logs: z.number(),
  seconds: z.number(),
  cpuSeconds: z.number(),
  peakMB: z.number(),
  restMB: z.number(),
  requests: z.number(),
})
export type Backfilled = z.infer<typeof Backfilled>

const run = async (task: z.output<typeof ToBackfill>) => {
  const log = pino({ level: 'silent' })
  const { rpcUrl, diamond } = task
  const database = createDatabase({ url: task.databaseUrl, maxConnections: 4, statementTimeoutMs: 60_000, log })
  const chain = createChain({
    deployment: {
      chainId: 8453,
      profile: 'reference',
      diamond,
      usdc: diamond,
      usdt: null,
      publicRpcUrl: rpcUrl,
      startBlock: BigInt(task.startBlock),
    },
    rpcUrls: [rpcUrl],
    timeoutMs: 60_000,
    headMaxAgeMs: 100,
    log,
  })
  const lease = await takeLease(database, 8453, 'bench', 3_600_000)
  if (lease === null) throw new Error('somebody else has the lease')
  const step = createStep({ chain, database, leaseTtlMs: 3_600_000, log })

  let requests = 0
  subscribe('undici:request:create', () => {
    requests += 1
  })
  const megabytes = (bytes: number): number => Math.round(bytes / 2 ** 20)
  const restMB = megabytes(process.memoryUsage.rss())
  const [started, cpu] = [performance.now(), process.cpuUsage()]
  for (let proven = -1n; proven < task.head; ) proven = (await step(lease)).proven?.number ?? -1n
  const seconds = (performance.now() - started) / 1_000
  const { user, system } = process.cpuUsage(cpu)
  const { last } = await readProgress(database, 8453)
  const done: Backfilled = {
    logs: Number(last.position ?? 0n),
    seconds,
    cpuSeconds: (user + system) / 1e6,
    // Kilobytes, on macOS too.
    peakMB: megabytes(process.resourceUsage().maxRSS * 1_024),
    restMB,
    requests,
  }
  return { done, close: () => Promise.all([chain.close(), database.close()]) }
}

const [, , task] = process.argv
if (task !== undefined && process.send !== undefined) {
  const { done, close } = await run(ToBackfill.parse(JSON.parse(task)))
  process.send(done)
  // The database's processes are there to be measured until the parent has done so.
  await once(process, 'disconnect')
  await close()
}
