import { setTimeout as sleep } from 'node:timers/promises'
import { errorText } from '../../../src/lib/errors.ts'
import { createRandom, type Random } from '../../../src/sandbox/story/random.ts'
import type { Rule } from '../proxy.ts'
import { type Index, openIndex } from '../rig.ts'
import { type Failure, quantile, seconds, type Target } from '../target.ts'
import type { Traffic } from '../traffic.ts'
import type { IndexWorker } from '../workers.ts'

const COMMIT_WITHIN_MS = 2_000
const PATIENCE_MS = 45_000

/** Blocks of the backlog. The node answers narrow ranges only, so that a kill falls between two of them. */
const BACKLOG = 60
const narrow: readonly Rule[] = [{ fault: 'narrow', blocks: 3 }]

/** Runs traffic during `work`; returns the last block that holds a log. */
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

/** Brings the worker into the phase in which it is killed; `kill` resolves when it is dead. */
type Phase = (traffic: Traffic, index: Index, random: Random, kill: () => Promise<unknown>) => Promise<unknown>

const phases = {
  async rollback(traffic, index, random, kill) {
    const depth = random.int(2, 24)
    await traffic.mine(2)
    const replace = await traffic.fork()
    let last = 0
    for (let at = 0; at < depth; at += 1) last = await traffic.mine(at % 3)
    await index.untilExact(last, PATIENCE_MS)
    index.proxy.hold()
    await replace().finally(() => index.proxy.release())
    await kill()
  },
  async backfill(traffic, { proxy, commits }, _random, kill) {
    proxy.set([{ fault: 'drop' }])
    for (let at = 0; at < BACKLOG; at += 1) await traffic.mine(at % 2)
    const back = Date.now()
    proxy.set(narrow)
    await commits.first(back, undefined, PATIENCE_MS)
    await kill()
  },
  tip: (traffic, _index, _random, kill) => during(traffic, kill),
} as const satisfies Record<string, Phase>

const phaseNames = ['rollback', 'backfill', 'tip'] as const

/** Seeds from `first` on, each of which kills in another phase. */
export const seedsOfPhases = (first: number): number[] => phaseNames.map((_, at) => first + at)

/**
 * Target 6: one kill per seed, in a phase and at a moment that the seed chooses. One seed at a time: the time until the
 * first commit is that of one worker.
 */
export const kills: Target = {
  claim: 'kill -9 in backfill, tip and rollback',
  figure: '0 lost, 0 doubled, also in the ledger, whose logs lead to the views; first commit 2 s after restart',
  async run({ store, chains, seeds }) {
    const { traffic } = chains
    const failures: Failure[] = []
    const fromSpawn: number[] = []
    const fromUp: number[] = []
    let slowest = { ms: 0, of: '' }
    const times = { backfill: 0, tip: 0, rollback: 0 }
    let running: IndexWorker | null = null

    const open = async (seed: number): Promise<IndexWorker> => {
      const index = await openIndex({ store, chains, seed, ledger: 'all' })
      const worker = await index.start('worker', `first-${seed}`)
      await worker.waitForLine(/"chainId":8453.*following/, 60_000)
      return { index, worker }
    }

    /** Kills the worker, starts another one, and returns it when the index is exact. */
    const strike = async (seed: number, { index, worker }: IndexWorker): Promise<IndexWorker> => {
      traffic.reseed(seed)
      const phase = phaseNames[(seed - 1) % phaseNames.length] ?? 'tip'
      times[phase] += 1
      await index.untilExact(await traffic.mine(2), PATIENCE_MS)
      let killed = 0
      const random = createRandom(seed)
      await phases[phase](traffic, index, random, async () => {
        await sleep(random.int(0, phase === 'tip' ? 800 : 400))
        killed = Date.now()
        await worker.kill()
      })
      const who = `again-${seed}`
      const spawned = Date.now()
      let again = worker
      const last = await during(traffic, async () => {
        again = await index.start('worker', who)
        await again.waitForLine(/worker started/, PATIENCE_MS)
        const up = Date.now()
        const commit = await index.commits.first(killed, who, PATIENCE_MS)
        fromSpawn.push(commit.at - spawned)
        fromUp.push(commit.at - up)
        if (commit.at - up > slowest.ms) slowest = { ms: commit.at - up, of: `seed ${seed}, ${phase}` }
      })
      try {
        await index.untilExact(last, PATIENCE_MS)
        index.proxy.set([])
        await index.untilFolded(PATIENCE_MS)
      } catch (fault) {
        throw new Error(`${errorText(fault)}\n${again.tail().slice(-2_000)}`)
      }
      return { index, worker: again }
    }

    for (const seed of seeds)
      try {
        running ??= await open(seed)
        running = await strike(seed, running)
      } catch (fault) {
        failures.push({ seed, what: errorText(fault) })
        await running?.index.close()
        running = null
      }
    await running?.index.close()
    const spread = (list: readonly number[]): string =>
      `${seconds(quantile(list, 0.5))} (p50), ${seconds(Math.max(0, ...list))} (worst)`
    return {
      measured: `${seeds.length} kills (${times.backfill} backfill, ${times.tip} tip, ${times.rollback} rollback), ${failures.length} inexact, first commit after the process is up ${spread(fromUp)} (${slowest.of}), its start included ${spread(fromSpawn)}`,
      met: failures.length === 0 && Math.max(...fromUp) <= COMMIT_WITHIN_MS,
      failures,
    }
  },
}
