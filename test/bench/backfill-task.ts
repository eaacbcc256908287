import { subscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { z } from 'zod'
import { Address20 } from '../../src/protocol/fields/request-fields.ts'

/*
 * The process that the backfill benchmark measures: it indexes a chain up to a block and reports the time and memory.
 */

const ToBackfill = z.object({
  databaseUrl: z.string(),
  rpcUrl: z.string(),
  diamond: Address20,
  startBlock: z.number(),
  head: z.number(),
})
export type ToBackfill = z.input<typeof ToBackfill>
type Task = z.output<typeof ToBackfill>

export const Backfilled = z.object({
  seconds: z.number(),
  cpuSeconds: z.number(),
  peakMB: z.number(),
  restMB: z.number(),
  requests: z.number(),
})
type Backfilled = z.infer<typeof Backfilled>

const megabytes = (bytes: number): number => Math.round(bytes / 2 ** 20)

/**
 * Runs one task in this process: `open` prepares, its `run` is measured, and `close` runs after the parent has read the
 * figures.
 */
export const runTask = async (
  open: (task: Task) => Promise<{ run(): Promise<void>; close(): Promise<unknown> }>,
): Promise<void> => {
  const [, , text] = process.argv
  if (text === undefined || process.send === undefined) throw new Error('to be forked with a task')
  let requests = 0
  subscribe('undici:request:create', () => {
    requests += 1
  })
  const { run, close } = await open(ToBackfill.parse(JSON.parse(text)))
  const restMB = megabytes(process.memoryUsage.rss())
  const [started, cpu] = [performance.now(), process.cpuUsage()]
  await run()
  const seconds = (performance.now() - started) / 1_000
  const { user, system } = process.cpuUsage(cpu)
  // In kilobytes, also on macOS.
  const peakMB = megabytes(process.resourceUsage().maxRSS * 1_024)
  const done: Backfilled = { seconds, cpuSeconds: (user + system) / 1e6, peakMB, restMB, requests }
  process.send(done)
  // The connections stay open until the parent has measured the processes of the database.
  await once(process, 'disconnect')
  await close()
}
