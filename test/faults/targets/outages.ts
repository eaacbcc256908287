import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { errorText } from '../../../src/lib/errors.ts'
import { startGate } from '../gate.ts'
import type { Process } from '../process.ts'
import { openIndex } from '../rig.ts'
import { type Answer, startApi } from '../service.ts'
import { type Failure, seconds, type Target } from '../target.ts'

const GONE_MS = 60_000
const LIST_WITHIN_MS = 2_000
const WHOLE_WITHIN_MS = 3_000
const PATIENCE_MS = 60_000

const entities = ['/v1/hedge/deposits/8453/1', '/v1/hedge/events/8453/1/stats', '/v1/hedge/events/8453/1/range']
const list = '/v1/hedge/events/8453/1/deposits'
const lists = [
  list,
  '/v1/hedge/positions?chainId=8453',
  '/v1/wallets/0x976EA74026E726554dB657fA54763abd0C3a0aa9/portfolio',
]
const builder = { path: '/v1/tx/hedge/deposit', body: { chainId: 8453, eventId: 1, amount: '1000000' } }

/** Whether the index answers with current data. */
const fromIndex = ({ status, headers }: Answer): boolean =>
  status === 200 && headers.get('x-data-source') === 'database' && headers.get('x-stale') === null

/** The status of a builder, 0 without an answer. */
const build = async (url: string): Promise<number> => {
  const headers = { 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify(builder.body) }
  return fetch(`${url}${builder.path}`, init).then(
    ({ status }) => status,
    () => 0,
  )
}

/** Target 8. A list that the chain answers instead, marked stale, is better than the 503 and counts as one. */
export const postgresGone: Target = {
  claim: 'Postgres gone for 60 s',
  figure:
    'nothing exits, entity reads and builders 200, lists 503 with Retry-After (or 200 marked stale) in 2 s, whole 3 s after',
  async run({ store, chains, seeds: [seed = 1] }) {
    const { traffic } = chains
    traffic.reseed(seed)
    const index = await openIndex({ store, chains, seed })
    const gate = await startGate(new URL(index.database.url))
    const stop = new AbortController()
    let running: Promise<void> | undefined
    try {
      const DATABASE_URL = gate.url
      const worker = await index.start('worker', 'worker', { DATABASE_URL })
      await index.untilExact(await traffic.mine(2), PATIENCE_MS)
      const api = await startApi(index, { DATABASE_URL })
      running = traffic.run({ everyMs: 200, perSecond: 10, signal: stop.signal })
      await sleep(1_000)

      await gate.shut()
      const failures: Failure[] = []
      let [reads, stale, refused, slowest] = [0, 0, 0, 0]
      for (const until = Date.now() + GONE_MS; Date.now() < until; await sleep(500)) {
        const [built, ...answers] = await Promise.all([
          build(api.url),
          ...[...entities, ...lists].map((path) => api.get(path)),
        ])
        if (built !== 200) failures.push({ seed, what: `a builder: ${built}` })
        const listed = answers.splice(entities.length)
        for (const { status } of answers) if (status !== 200) failures.push({ seed, what: `an entity read: ${status}` })
        reads += answers.length
        for (const { status, headers, took } of listed) {
          slowest = Math.max(slowest, took)
          if (status === 200 && headers.get('x-stale') === '1') stale += 1
          else if (status === 503 && headers.has('retry-after')) refused += 1
          else failures.push({ seed, what: `a list: ${status}` })
        }
      }
      await gate.open()
      const back = Date.now()
      const [listed, { at }] = await Promise.all([
        api.until(list, fromIndex, PATIENCE_MS),
        index.commits.first(back, undefined, PATIENCE_MS),
      ])
      for (const { hasExited } of [worker, api.process])
        if (hasExited()) failures.push({ seed, what: 'a process ended' })
      stop.abort()
      await running
      await index.untilExact(await traffic.mine(1), PATIENCE_MS)
      return {
        measured: `${reads} entity reads, ${failures.length} faults; lists ${stale} marked stale, ${refused} 503, slowest ${seconds(slowest)}; list back after ${listed === null ? 'never' : seconds(listed)}, next commit after ${seconds(at - back)}`,
        met:
          failures.length === 0 &&
          slowest <= LIST_WITHIN_MS &&
          listed !== null &&
          listed <= WHOLE_WITHIN_MS &&
          at - back <= WHOLE_WITHIN_MS,
        failures,
      }
    } catch (fault) {
      return { measured: 'the index did not go on', met: false, failures: [{ seed, what: errorText(fault) }] }
    } finally {
      stop.abort()
      await running
      await index.close()
      await gate.close()
    }
  },
}

const READY_WITHIN_MS = 15_000
const HEALED_WITHIN_MS = 5_000

/** Resident megabytes and open handles of a process. */
const footprint = ({ pid }: Process) => ({
  megabytes: Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024,
  handles: readdirSync(`/proc/${pid}/fd`).length,
})

/** Target 11. The node accepts connections and requests and never answers, for 30 s, or ten minutes with `--long`. */
export const deadNode: Target = {
  claim: 'honest health: the sockets of the node are dead',
  figure: 'readiness 503 within 15 s, heals in 5 s, memory and handles flat',
  async run({ store, chains, seeds: [seed = 1], long }) {
    const { traffic } = chains
    traffic.reseed(seed)
    const index = await openIndex({ store, chains, seed })
    const stop = new AbortController()
    let running: Promise<void> | undefined
    try {
      const worker = await index.start('worker')
      await traffic.toPresent()
      await index.untilExact(await traffic.mine(2), PATIENCE_MS)
      const api = await startApi(index)
      // The lag of the index is computed from block times, so these must be real times.
      running = traffic.run({ everyMs: 1_000, perSecond: 5, signal: stop.signal })
      await sleep(3_000)
      const processes = [worker, api.process]
      const calm = processes.map(footprint)
      const deadMs = long ? 600_000 : 30_000
      const since = performance.now()
      index.proxy.set([{ fault: 'hang' }])
      const noticed = await api.until('/readyz', ({ body }) => body.includes('"degraded":true'), deadMs)
      // From here on the load of a process is constant, so any growth of its memory is a leak.
      const dead = processes.map(footprint)
      const before = calm.map(({ handles }, nth) => ({ handles, megabytes: dead[nth]?.megabytes ?? 0 }))
      await sleep(Math.max(0, deadMs - (performance.now() - since)))
      index.proxy.set([])
      const back = Date.now()
      const [healed, { at }] = await Promise.all([
        api.until('/readyz', ({ body }) => body.includes('"degraded":false'), PATIENCE_MS),
        index.commits.first(back, undefined, PATIENCE_MS),
      ])
      await sleep(3_000)
      const after = processes.map(footprint)
      const failures: Failure[] = processes.some(({ hasExited }) => hasExited())
        ? [{ seed, what: 'a process ended' }]
        : []
      const flat = after.every(
        ({ megabytes, handles }, nth) =>
          megabytes <= (before[nth]?.megabytes ?? 0) * 1.25 && handles <= (before[nth]?.handles ?? 0) + 10,
      )
      const show = (name: string, nth: number): string =>
        `${name} ${before[nth]?.megabytes.toFixed(0)} to ${after[nth]?.megabytes.toFixed(0)} MB, ${before[nth]?.handles} to ${after[nth]?.handles} handles`
      stop.abort()
      await running
      await index.untilExact(await traffic.mine(1), PATIENCE_MS)
      return {
        measured: `dead ${seconds(deadMs)}: 503 ${noticed === null ? 'never' : `after ${seconds(noticed)}`}, ready ${healed === null ? 'never' : seconds(healed)} and next commit ${seconds(at - back)} after healing; ${show('worker', 0)}; ${show('api', 1)}`,
        met:
          failures.length === 0 &&
          flat &&
          noticed !== null &&
          noticed <= READY_WITHIN_MS &&
          healed !== null &&
          Math.max(healed, at - back) <= HEALED_WITHIN_MS,
        failures,
      }
    } catch (fault) {
      return { measured: 'the index did not go on', met: false, failures: [{ seed, what: errorText(fault) }] }
    } finally {
      stop.abort()
      await running
      await index.close()
    }
  },
}
