import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { quantile } from '../../faults/bar.ts'
import { usageOf } from '../usage.ts'
import { MAX_LIVEZ_MS, type Measured, Watched } from './messages.ts'

/*
 * Asks servers every 50 ms, each on a connection of its own, and reads the memory of processes every second. A process of its own, so that
 * the attacker's event loop does not count; the session forks it. Any message asks for what was measured so far.
 */

const EVERY_MS = 50
const TIMEOUT_MS = 30_000

type Sample = { readonly from: number; readonly took: number; readonly good: boolean }

const ask = (url: string, agent: Agent): Promise<Sample> =>
  new Promise((resolve) => {
    const from = performance.now()
    const done = (good: boolean) => (): void => resolve({ from, took: performance.now() - from, good })
    const request = get(url, { agent, timeout: TIMEOUT_MS }, (response) => {
      response.resume().once('end', done(response.statusCode === 200))
    })
    request.once('timeout', () => request.destroy()).once('error', done(false))
  })

/** What a server took above the longest that the reference took at the same time. A short time is not compared. */
const above = ({ from, took }: Sample, reference: readonly Sample[]): number => {
  if (took <= EVERY_MS) return took
  const atOnce = reference.filter((it) => it.from + it.took >= from - EVERY_MS && it.from <= from + took + EVERY_MS)
  return Math.max(0, took - Math.max(0, ...atOnce.map((it) => it.took)))
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

const probe = async (name: string, url: string): Promise<void> => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  for (;;) {
    const sample = await ask(url, agent)
    samples.get(name)?.push(sample)
    await sleep(Math.max(0, EVERY_MS - sample.took))
  }
}

const readMemory = (): void => {
  for (const { name, pid } of processes) {
    try {
      // The system's own record of the most: nothing between two readings is missed.
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
for (const { name, url } of servers) void probe(name, url)
process.send?.('watching')
