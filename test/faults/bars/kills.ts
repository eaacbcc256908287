import { setTimeout as sleep } from 'node:timers/promises'
import { errorText } from '../../../src/lib/errors.ts'
import { createRandom } from '../../../src/sandbox/random.ts'
import { type Bar, type Failure, quantile, seconds } from '../bar.ts'
import type { Rule } from '../proxy.ts'
import { type Index, openIndex } from '../rig.ts'
import type { Traffic } from '../traffic.ts'
import type { Process } from '../worker.ts'

const COMMIT_WITHIN_MS = 2_000
const PATIENCE_MS = 45_000

/** A backlog of so many blocks, in ranges so narrow that a kill finds the worker between two of them. */
const BACKLOG = 60
const NARROW = 3

/** Runs traffic while something happens; gives the last block that holds a log. */
const during = async (traffic: Traffic, work: () => Promise<unknown>): Promise<number> => {
  const stop = new AbortController()
  const running = traffic.run({ everyMs: 200, perSecond: 10, signal: stop.signal })
  try {
    await work()
  } finally {
    stop.abort()
    await running
  }
  return traffic.mine(1)
}

const narrow: readonly Rule[] = [{ fault: 'narrow', blocks: NARROW }]

const phaseNames = ['backfill', 'tip', 'rollback'] as const

/** Bar 6: a kill a seed, in a phase and at a moment that the seed chooses. */
export const kills: Bar = {
  claim: 'kill -9 in backfill, tip and rollback',
  figure: '0 lost, 0 doubled, first commit 2 s after restart',
  async run({ store, chains, seeds }) {
    const { traffic } = chains
    const failures: Failure[] = []
    const fromSpawn: number[] = []
    const fromUp: number[] = []
    const phases = { backfill: 0, tip: 0, rollback: 0 }
    let index: Index | undefined
    let worker: Process | undefined

    const fresh = async (seed: number): Promise<{ index: Index; worker: Process }> => {
      await index?.close()
      index = await openIndex({ store, chains, seed })
      worker = await index.start('worker', `first-${seed}`)
      await worker.waitForLine(/"chainId":8453.*following/, 60_000)
      return { index, worker }
    }

    const strike = async (seed: number): Promise<void> => {
      const random = createRandom(seed)
      traffic.reseed(seed)
      const phase = phaseNames[seed % phaseNames.length] ?? 'tip'
      phases[phase] += 1
      let victim = index === undefined || worker === undefined ? await fresh(seed) : { index, worker }
      const { index: subject } = victim
      let last = 0
      if (phase === 'tip') last = await during(traffic, () => sleep(random.int(0, 800)).then(victim.worker.kill))
      if (phase === 'backfill') {
        subject.proxy.set([{ fault: 'drop' }])
        for (let at = 0; at < BACKLOG; at += 1) last = await traffic.mine(at % 2)
        subject.proxy.set(narrow)
        await subject.commits.first(Date.now(), undefined, PATIENCE_MS)
      }
      if (phase === 'rollback') {
        const depth = random.int(2, 24)
        for (let at = 0; at < depth + 2; at += 1) last = await traffic.mine(at % 3)
        await subject.untilExact(last, PATIENCE_MS)
        subject.proxy.hold()
        last = await traffic.reorg(depth).finally(subject.proxy.release)
      }
      if (phase !== 'tip') await sleep(random.int(0, 400)).then(victim.worker.kill)
      const who = `again-${seed}`
      last = await during(traffic, async () => {
        const killed = Date.now()
        victim = { index: subject, worker: await subject.start('worker', who) }
        worker = victim.worker
        await worker.waitForLine(/worker started/, PATIENCE_MS)
        const up = Date.now()
        const { at } = await subject.commits.first(killed, who, PATIENCE_MS)
        fromSpawn.push(at - killed)
        fromUp.push(at - up)
      })
      await subject.untilExact(last, PATIENCE_MS)
      subject.proxy.set([])
    }

    for (const seed of seeds) {
      try {
        await strike(seed)
      } catch (fault) {
        failures.push({ seed, what: `${errorText(fault)}\n${worker?.tail().slice(-2_000)}` })
        await index?.close()
        index = undefined
      }
    }
    await index?.close()
    const spread = (list: readonly number[]): string =>
      `${seconds(quantile(list, 0.5))} (p50), ${seconds(Math.max(0, ...list))} (worst)`
    return {
      measured: `${seeds.length} kills (${phases.backfill} backfill, ${phases.tip} tip, ${phases.rollback} rollback), ${failures.length} inexact, first commit after the process is up ${spread(fromUp)}, its start included ${spread(fromSpawn)}`,
      met: failures.length === 0 && Math.max(...fromUp) <= COMMIT_WITHIN_MS,
      failures,
    }
  },
}
