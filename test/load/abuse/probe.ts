import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { quantile } from '../../faults/target.ts'
import { usageOf, waitedForProcessorMs } from '../usage.ts'
import { MAX_LIVEZ_MS, type Measured, Watched } from './messages.ts'

/*
 * Probes servers every 50 ms, each on its own connection, and measures the memory of processes every second. It is a
 * separate process, so that the attacker's event loop does not affect it. The session forks it. Any message requests
 * the measurements.
 */

const EVERY_MS = 50
const TIMEOUT_MS = 30_000

/**
 * When a request was sent, how long it took, and how long the server's main thread waited for a processor, in
 * milliseconds.
 */
type Sample = { readonly from: number; readonly took: number; readonly waited: number; readonly good: boolean }

const ask = (url: string, pid: number, agent: Agent): Promise<Sample> =>
  new Promise((resolve) => {
    const from = performance.now()
    const waitedBefore = waitedForProcessorMs(pid)
    const done = (good: boolean) => (): void =>
      resolve({ from, took: performance.now() - from, waited: waitedForProcessorMs(pid) - waitedBefore, good })
    const request = get(url, { agent, timeout: TIMEOUT_MS }, (response) => {
      response.resume().once('end', done(response.statusCode === 200))
    })
    request.once('timeout', () => request.destroy()).once('error', done(false))
  })

/**
 * The smaller of two times: the server's time above the longest simultaneous one of the reference, and its time without
 * waits for a processor. The server causes neither of the two deductions. A short time is not compared.
 */
const above = ({ from, took, waited }: Sample, reference: readonly Sample[]): number => {
  if (took <= EVERY_MS) return took
  const atOnce = reference.filter((it) => it.from + it.took >= from - EVERY_MS && it.from <= from + took + EVERY_MS)
  return Math.max(0, took - Math.max(waited, ...atOnce.map((it) => it.took)))
}

const summary = (samples: readonly Sample[], reference: readonly Sample[]): Measured['times'][string] => {
  const times = samples.map(({ took }) => took)
  const excess = samples.map((sample) => above(sample, reference))
  return {
    probes: samples.length,
    failed: samples.filter(({ good }) => !good).length,
    p99Ms: quantile(times, 0.99),
    worstMs: Math.max(...times),
    worstAboveMs: Math.max(...excess),
    lateMs: excess.reduce((sum, ms) => sum + Math.max(0, ms - MAX_LIVEZ_MS), 0),
  }
}

const { servers, processes } = Watched.parse((await once(process, 'message'))[0])
const samples = new Map(servers.map(({ name }) => [name, [] as Sample[]]))
const memory: Record<string, number> = {}

const probe = async ({ name, url, pid }: (typeof servers)[number]): Promise<void> => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  for (;;) {
    const sample = await ask(url, pid, agent)
    samples.get(name)?.push(sample)
    await sleep(Math.max(0, EVERY_MS - sample.took))
  }
}

const readMemory = (): void => {
  for (const { name, pid } of processes) {
    try {
      // The system records the peak, so no peak between two readings is missed.
      memory[name] = usageOf(pid).peakBytes
    } catch {
      // The process has ended, which the session reports.
    }
  }
}

process.on('message', () => {
  readMemory()
  const [reference] = samples.values()
  const times = Object.fromEntries([...samples].map(([name, list]) => [name, summary(list, reference ?? [])]))
  process.send?.({ times, memory })
})
process.once('disconnect', () => process.exit(0))
setInterval(readMemory, 1_000)
for (const server of servers) void probe(server)
process.send?.('watching')
