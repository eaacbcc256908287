import { setTimeout as sleep } from 'node:timers/promises'
import { errorText } from '../../../src/lib/errors.ts'
import { createRandom } from '../../../src/sandbox/story/random.ts'
import type { Rule } from '../proxy.ts'
import { openIndex } from '../rig.ts'
import { type Failure, quantile, seconds, type Target } from '../target.ts'
import type { Traffic } from '../traffic.ts'
import { createWorkers, type IndexWorker } from '../workers.ts'

const COMMIT_WITHIN_MS = 2_000
const PATIENCE_MS = 45_000

/** The number of consecutive seeds that share a phase and run concurrently: more would wait for one another's cores. */
const AT_ONCE = 2

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

/** Brings the workers into the phase in which they are killed; `kill` resolves when all are dead. */
type Phase = (
  traffic: Traffic,
  workers: readonly IndexWorker[],
  group: number,
  kill: () => Promise<unknown>,
) => Promise<unknown>

const phases = {
  async rollback(traffic, workers, group, kill) {
    const random = createRandom(group)
    const depth = random.int(2, 24)
    await traffic.mine(2)
    const replace = await traffic.fork()
    let last = 0
    for (let at = 0; at < depth; at += 1) last = await traffic.mine(at % 3)
    await Promise.all(workers.map(({ index }) => index.untilExact(last, PATIENCE_MS)))
    for (const { index } of workers) index.proxy.hold()
    await replace().finally(() => {
      for (const { index } of workers) index.proxy.release()
    })
    await kill()
  },
  async backfill(traffic, workers, _group, kill) {
    for (const { index } of workers) index.proxy.set([{ fault: 'drop' }])
    for (let at = 0; at < BACKLOG; at += 1) await traffic.mine(at % 2)
    const back = Date.now()
    for (const { index } of workers) index.proxy.set(narrow)
    await Promise.all(workers.map(({ index }) => index.commits.first(back, undefined, PATIENCE_MS)))
    await kill()
  },
  tip: (traffic, _workers, _group, kill) => during(traffic, kill),
} as const satisfies Record<string, Phase>

const phaseNames = ['rollback', 'backfill', 'tip'] as const

const groupOf = (seed: number): number => Math.floor((seed - 1) / AT_ONCE)

/** Seeds from `first` on, each of which kills in another phase. */
export const seedsOfPhases = (first: number): number[] => phaseNames.map((_, at) => first + at * AT_ONCE)

/**
 * Target 6: one kill per seed, in a phase and at a moment that the seed chooses. The workers start again one by one.
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
    const workers = createWorkers(async (seed) => {
      const index = await openIndex({ store, chains, seed, ledger: 'all' })
      const worker = await index.start('worker', `first-${seed}`)
      await worker.waitForLine(/"chainId":8453.*following/, 60_000)
      return { index, worker }
    })

    const strike = async (group: number, members: readonly number[]): Promise<void> => {
      traffic.reseed(group)
      const phase = phaseNames[group % phaseNames.length] ?? 'tip'
      times[phase] += members.length
      const taken = await workers.take(members)
      const before = await traffic.mine(2)
      await Promise.all(taken.map(({ index }) => index.untilExact(before, PATIENCE_MS)))
      const killed: number[] = []
      await phases[phase](traffic, taken, group, () =>
        Promise.all(
          taken.map(async ({ worker }, at) => {
            await sleep(createRandom(members[at] ?? 0).int(0, phase === 'tip' ? 800 : 400))
            killed[at] = Date.now()
            await worker.kill()
          }),
        ),
      )
      const again = async ({ index }: IndexWorker, at: number): Promise<IndexWorker> => {
        const who = `again-${members[at]}`
        const spawned = Date.now()
        const worker = await index.start('worker', who)
        workers.replace(at, { index, worker })
        await worker.waitForLine(/worker started/, PATIENCE_MS)
        const up = Date.now()
        const commit = await index.commits.first(killed[at] ?? 0, who, PATIENCE_MS)
        fromSpawn.push(commit.at - spawned)
        fromUp.push(commit.at - up)
        if (commit.at - up > slowest.ms) slowest = { ms: commit.at - up, of: `seed ${members[at]}, ${phase}` }
        return { index, worker }
      }
      const risen: IndexWorker[] = []
      const last = await during(traffic, async () => {
        for (const [at, each] of taken.entries()) risen.push(await again(each, at))
      })
      await Promise.all(
        risen.map(async ({ index, worker }, at) => {
          try {
            await index.untilExact(last, PATIENCE_MS)
            index.proxy.set([])
            await index.untilFolded(PATIENCE_MS)
          } catch (fault) {
            failures.push({ seed: members[at] ?? 0, what: `${errorText(fault)}\n${worker.tail().slice(-2_000)}` })
            await workers.drop(at)
          }
        }),
      )
    }

    for (const group of new Set(seeds.map(groupOf))) {
      const members = seeds.filter((seed) => groupOf(seed) === group)
      try {
        await strike(group, members)
      } catch (fault) {
        failures.push({ seed: members[0] ?? 0, what: errorText(fault) })
        for (const at of members.keys()) await workers.drop(at)
      }
    }
    await workers.close()
    const spread = (list: readonly number[]): string =>
      `${seconds(quantile(list, 0.5))} (p50), ${seconds(Math.max(0, ...list))} (worst)`
    return {
      measured: `${seeds.length} kills (${times.backfill} backfill, ${times.tip} tip, ${times.rollback} rollback), ${failures.length} inexact, first commit after the process is up ${spread(fromUp)} (${slowest.of}), its start included ${spread(fromSpawn)}`,
      met: failures.length === 0 && Math.max(...fromUp) <= COMMIT_WITHIN_MS,
      failures,
    }
  },
}
