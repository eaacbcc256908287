import { setTimeout as sleep } from 'node:timers/promises'
import { errorText } from '../../../src/lib/errors.ts'
import { createRandom, type Random } from '../../../src/sandbox/story/random.ts'
import { openChain } from '../chain.ts'
import type { Falsified, Rule } from '../proxy.ts'
import { type Index, openIndex } from '../rig.ts'
import { reportedAt } from '../status-log.ts'
import { type Context, chunks, type Failure, seconds, type Target } from '../target.ts'
import { createTraffic, type Traffic } from '../traffic.ts'
import { describe, isExact, isFalse } from '../verifier.ts'
import { createWorkers, type IndexWorker } from '../workers.ts'

/** Concurrent indexes: few enough that two processors are not saturated. */
const AT_ONCE = 2

const COMPARE_EVERY_MS = 200

/** Blocks that a node lags behind. */
const LAG = 50

const LIVE_MS = 4_000
const REPAIR_WITHIN_MS = 30_000
const DETECT_WITHIN_MS = 5_000

/**
 * Milliseconds until the index reported a problem: since the block was mined, and since the answer that left out one of
 * its rows.
 */
type Report = { readonly mined: number; readonly answered: number }

type Seen = {
  readonly seed: number
  readonly faults: number
  /** Answers that omitted creations. */
  readonly falsified: number
  /** One for each row that was left out before the index had it. */
  readonly reports: readonly Report[]
  readonly wrongComparisons: number
  readonly longest: number
  readonly last: number
}

/** The rules of each of the two nodes of a seed. */
type Nodes = (seed: number) => readonly (readonly Rule[])[]

const misbehave = ({ index }: Pick<IndexWorker, 'index'>, nodes: Nodes, seed: number): void => {
  const rules = nodes(seed)
  for (const [at, proxy] of index.proxies.entries()) {
    proxy.reseed(seed * 2 + at)
    proxy.set(rules[at] ?? [])
    proxy.counts()
  }
}

/**
 * Watches one index until `stopped` and then until it is exact. `stopped` resolves to the last block that contains a
 * log.
 */
const judge = async (
  seed: number,
  { index, worker }: IndexWorker,
  traffic: Traffic,
  stopped: Promise<number>,
  strict: boolean,
): Promise<Seen> => {
  const began = Date.now()
  let over = false
  stopped.finally(() => {
    over = true
  })
  let longest = 0
  let wrongComparisons = 0
  let since: number | undefined
  while (!over) {
    const verdict = await index.verifier.compare()
    if (isFalse(verdict)) {
      if (strict) throw new Error(describe(verdict))
      wrongComparisons += 1
    }
    if (verdict.state === 'compared' && !isExact(verdict)) since ??= performance.now()
    else since = undefined
    if (since !== undefined) longest = Math.max(longest, performance.now() - since)
    await sleep(COMPARE_EVERY_MS)
  }
  const last = await index.untilExact(await stopped, DETECT_WITHIN_MS + REPAIR_WITHIN_MS)
  if (worker.hasExited()) throw new Error('the worker ended')
  const counts = index.proxies.map((proxy) => proxy.counts())
  const faults = counts
    .flatMap((it) => [...it.faults])
    .reduce((sum, [fault, times]) => (fault === 'stale' || fault === 'creationsOnly' ? sum : sum + times), 0)
  const falsified = counts.flatMap((it) => it.falsified)
  return {
    seed,
    faults,
    falsified: falsified.length,
    reports: await reportsOf(index, traffic, falsified, began),
    wrongComparisons,
    longest,
    last,
  }
}

/** When the index reported each omitted row, or stored and proved it. Earlier events than `began` do not count. */
const reportsOf = async (
  { statusLog }: Index,
  { minedAt }: Traffic,
  falsified: readonly Falsified[],
  began: number,
): Promise<readonly Report[]> => {
  const answers = new Map(
    falsified.toReversed().flatMap(({ at, blocks }) => blocks.map((block) => [block, at] as const)),
  )
  for (const deadline = Date.now() + DETECT_WITHIN_MS; ; await sleep(COMPARE_EVERY_MS)) {
    const published = await statusLog.since(began)
    const reports = [...answers].flatMap(([block, answered]) => {
      const at = reportedAt(published, block, answered)
      return at === null ? [] : [{ mined: at - Math.max(minedAt(block), began), answered: at - answered }]
    })
    if (reports.every(({ answered }) => Number.isFinite(answered)) || Date.now() > deadline) return reports
  }
}

/** Runs traffic over many indexes whose nodes misbehave; returns the measurements of each seed. */
const watch = async (
  context: Context,
  nodes: Nodes,
  strict: boolean,
): Promise<{ seen: Seen[]; failures: Failure[] }> => {
  const { store, chains } = context
  const { traffic } = chains
  const failures: Failure[] = []
  const seen: Seen[] = []

  const live = async (): Promise<number> => {
    const stop = new AbortController()
    const running = traffic.run({ everyMs: 200, perSecond: 20, signal: stop.signal })
    await sleep(LIVE_MS)
    stop.abort()
    await running
    const last = await traffic.mine(3)
    // The node that lags has to see the last log too.
    await traffic.mineEmpty(LAG + 5)
    return last
  }
  const workers = createWorkers(async (seed) => {
    const index = await openIndex({ store, chains, seed, nodes: 2 })
    misbehave({ index }, nodes, seed)
    const worker = await index.start('worker')
    await worker.waitForLine(/"chainId":8453.*following/, 60_000)
    return { index, worker }
  })
  for (const seeds of chunks(context.seeds, AT_ONCE)) {
    traffic.reseed(seeds[0] ?? 0)
    for (let at = 0; at < 20; at += 1) await traffic.mine(2)
    const taken = await workers.take(seeds)
    for (const [at, each] of taken.entries()) misbehave(each, nodes, seeds[at] ?? 0)
    const stopped = live()
    const judged = taken.map(async (each, at) => {
      try {
        seen.push(await judge(seeds[at] ?? 0, each, traffic, stopped, strict))
      } catch (fault) {
        failures.push({ seed: seeds[at] ?? 0, what: `${errorText(fault)}\n${each.worker.tail().slice(-2_000)}` })
        await workers.drop(at)
      }
    })
    await Promise.all(judged)
  }
  await workers.close()
  return { seen, failures }
}

const most = (values: readonly number[]): number => Math.max(0, ...values)

const lossy: readonly Rule[] = [
  { fault: 'empty', method: 'eth_getLogs', share: 0.1 },
  { fault: 'truncate', method: 'eth_getLogs', share: 0.111 },
]

/** Target 1. The seed chooses the lagging node and the omitted rows. */
export const loss: Target = {
  claim: `no silent loss: 20 % of eth_getLogs answers emptied or cut, one of two nodes ${LAG} blocks behind`,
  figure: '0 missing, 0 extra, reported in 5 s, repaired in 30 s, never claimed to be proved while a row is missing',
  async run(context) {
    const lag: Rule = { fault: 'stale', blocks: LAG }
    const nodes: Nodes = (seed) => (seed % 2 === 0 ? [[lag, ...lossy], lossy] : [lossy, [lag, ...lossy]])
    const { seen, failures } = await watch(context, nodes, true)
    const falsified = seen.reduce((sum, it) => sum + it.falsified, 0)
    const longest = most(seen.map((it) => it.longest))
    const reports = seen.flatMap(({ seed, reports: each }) => each.map((it) => ({ seed, ...it })))
    const mined = most(reports.map((it) => it.mined))
    const slowest = reports.find((it) => it.mined === mined)?.seed
    const answered = most(reports.map((it) => it.answered))
    const last = most(seen.map((it) => it.last))
    const isTested = falsified > 0 || !context.chains.variant.logs
    return {
      measured: `${failures.length} of ${context.seeds.length} seeds inexact, ${falsified} answers that left rows out, reported, or repaired and proved, ${seconds(mined)} after the block and ${seconds(answered)} after the answer at most (seed ${slowest}), a row missing for ${seconds(longest)} at most, exact ${seconds(last)} after the last log`,
      met:
        failures.length === 0 &&
        isTested &&
        mined <= DETECT_WITHIN_MS &&
        longest < REPAIR_WITHIN_MS &&
        last < REPAIR_WITHIN_MS,
      failures,
    }
  },
}

/** Two or three temporary faults of one node. All end with the traffic. */
const faultyRules = (random: Random, elsewhere: readonly string[]): Rule[] =>
  Array.from({ length: random.int(2, 3) }, () => {
    const fault = random.pick(['elsewhere', 'limited', 'failing', 'html', 'garbage', 'slow', 'hang', 'drop'] as const)
    const from = random.int(0, LIVE_MS - 1_000)
    const until = random.int(from + 500, LIVE_MS)
    const rule: Rule = { fault, from, until, share: random.int(3, 10) / 10 }
    return fault === 'elsewhere' ? { ...rule, url: random.pick(elsewhere) } : rule
  })

/** Target 1 with every other fault of nodes. */
export const mix: Target = {
  claim:
    'both of two nodes at times on another chain or fork, rate limited, failing, hanging or slow, or answering with pages and garbage',
  figure: 'exact at the end, nothing exits',
  async run(context) {
    const { quiet, variant, traffic } = context.chains
    const other = await openChain(8453, variant.profile)
    try {
      const life = await createTraffic({ chain: other.chain, seed: (context.seeds[0] ?? 1) + 1_000 })
      for (let at = (await traffic.node.blockNumber()) + 100; at > 0; at -= 10) await life.mine(1)
      const elsewhere = [quiet.rpcUrl, other.chain.rpcUrl]
      const nodes: Nodes = (seed) => {
        const random = createRandom(seed)
        return [faultyRules(random, elsewhere), faultyRules(random, elsewhere)]
      }
      const { seen, failures } = await watch(context, nodes, false)
      const faults = seen.reduce((sum, it) => sum + it.faults, 0)
      const wrong = seen.reduce((sum, it) => sum + it.wrongComparisons, 0)
      const last = most(seen.map((it) => it.last))
      return {
        measured: `${failures.length} of ${context.seeds.length} seeds inexact at the end, ${faults} faults, ${wrong} comparisons with a row of the other fork, exact ${seconds(last)} after the last log`,
        met: failures.length === 0 && faults > 0,
        failures,
      }
    } finally {
      await other.close()
    }
  },
}
