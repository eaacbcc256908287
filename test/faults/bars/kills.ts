import { setTimeout as sleep } from 'node:timers/promises'
import { errorText } from '../../../src/lib/errors.ts'
import { createRandom } from '../../../src/sandbox/random.ts'
import { type Bar, type Failure, quantile, seconds } from '../bar.ts'
import { createLanes, type Lane } from '../lanes.ts'
import type { Rule } from '../proxy.ts'
import { openIndex } from '../rig.ts'
import type { Traffic } from '../traffic.ts'

const COMMIT_WITHIN_MS = 2_000
const PATIENCE_MS = 45_000

/** Seeds of one phase, side by side. */
const AT_ONCE = 5

/** A backlog of so many blocks, in ranges so narrow that a kill finds the worker between two of them. */
const BACKLOG = 60
const narrow: readonly Rule[] = [{ fault: 'narrow', blocks: 3 }]

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

/** Brings the lanes to what they are to be killed in; `kill` resolves when all are dead. */
type Phase = (traffic: Traffic, lanes: readonly Lane[], group: number, kill: () => Promise<unknown>) => Promise<unknown>

const phases = {
  async rollback(traffic, lanes, group, kill) {
    const random = createRandom(group)
    const depth = random.int(2, 24)
    await traffic.mine(2)
    const replace = await traffic.fork()
    let last = 0
    for (let at = 0; at < depth; at += 1) last = await traffic.mine(at % 3)
    await Promise.all(lanes.map(({ index }) => index.untilExact(last, PATIENCE_MS)))
    for (const { index } of lanes) index.proxy.hold()
    await replace().finally(() => {
      for (const { index } of lanes) index.proxy.release()
    })
    await kill()
  },
  async backfill(traffic, lanes, _group, kill) {
    for (const { index } of lanes) index.proxy.set([{ fault: 'drop' }])
    for (let at = 0; at < BACKLOG; at += 1) await traffic.mine(at % 2)
    const back = Date.now()
    for (const { index } of lanes) index.proxy.set(narrow)
    await Promise.all(lanes.map(({ index }) => index.commits.first(back, undefined, PATIENCE_MS)))
    await kill()
  },
  tip: (traffic, _lanes, _group, kill) => during(traffic, kill),
} as const satisfies Record<string, Phase>

const phaseNames = ['rollback', 'backfill', 'tip'] as const

/** Bar 6: a kill a seed, in a phase and at a moment that the seed chooses. They start again one by one. */
export const kills: Bar = {
  claim: 'kill -9 in backfill, tip and rollback',
  figure: '0 lost, 0 doubled, first commit 2 s after restart',
  async run({ store, chains, seeds }) {
    const { traffic } = chains
    const failures: Failure[] = []
    const fromSpawn: number[] = []
    const fromUp: number[] = []
    let slowest = { ms: 0, of: '' }
    const times = { backfill: 0, tip: 0, rollback: 0 }
    const lanes = createLanes(async (seed) => {
      const index = await openIndex({ store, chains, seed })
      const worker = await index.start('worker', `first-${seed}`)
      await worker.waitForLine(/"chainId":8453.*following/, 60_000)
      return { index, worker }
    })

    const strike = async (group: number, members: readonly number[]): Promise<void> => {
      traffic.reseed(group)
      const phase = phaseNames[group % phaseNames.length] ?? 'tip'
      times[phase] += members.length
      const taken = await lanes.take(members)
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
      const again = async ({ index }: Lane, at: number): Promise<Lane> => {
        const who = `again-${members[at]}`
        const spawned = Date.now()
        const worker = await index.start('worker', who)
        lanes.replace(at, { index, worker })
        await worker.waitForLine(/worker started/, PATIENCE_MS)
        const up = Date.now()
        const commit = await index.commits.first(killed[at] ?? 0, who, PATIENCE_MS)
        fromSpawn.push(commit.at - spawned)
        fromUp.push(commit.at - up)
        if (commit.at - up > slowest.ms) slowest = { ms: commit.at - up, of: `seed ${members[at]}, ${phase}` }
        return { index, worker }
      }
      const risen: Lane[] = []
      const last = await during(traffic, async () => {
        for (const [at, lane] of taken.entries()) risen.push(await again(lane, at))
      })
      await Promise.all(
        risen.map(async ({ index, worker }, at) => {
          try {
            await index.untilExact(last, PATIENCE_MS)
            index.proxy.set([])
          } catch (fault) {
            failures.push({ seed: members[at] ?? 0, what: `${errorText(fault)}\n${worker.tail().slice(-2_000)}` })
            await lanes.drop(at)
          }
        }),
      )
    }

    const groupOf = (seed: number): number => Math.floor((seed - 1) / AT_ONCE)
    for (const group of new Set(seeds.map(groupOf))) {
      const members = seeds.filter((seed) => groupOf(seed) === group)
      try {
        await strike(group, members)
      } catch (fault) {
        failures.push({ seed: members[0] ?? 0, what: errorText(fault) })
        for (const at of members.keys()) await lanes.drop(at)
      }
    }
    await lanes.close()
    const spread = (list: readonly number[]): string =>
      `${seconds(quantile(list, 0.5))} (p50), ${seconds(Math.max(0, ...list))} (worst)`
    return {
      measured: `${seeds.length} kills (${times.backfill} backfill, ${times.tip} tip, ${times.rollback} rollback), ${failures.length} inexact, first commit after the process is up ${spread(fromUp)} (${slowest.of}), its start included ${spread(fromSpawn)}`,
      met: failures.length === 0 && Math.max(...fromUp) <= COMMIT_WITHIN_MS,
      failures,
    }
  },
}
