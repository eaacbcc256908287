import { setTimeout as sleep } from 'node:timers/promises'
import { errorText } from '../../../src/lib/errors.ts'
import { type Origins, watchOrigins } from '../origins.ts'
import type { Rule } from '../proxy.ts'
import { type Chains, openIndex } from '../rig.ts'
import { type Context, type Failure, seconds, type Target } from '../target.ts'
import { describe } from '../verifier.ts'

const WITHIN_MS = 10_000
const FIGURE = 'every row has its transaction 10 s after its block, the index is exact'

/** The default pauses between polls; the rig polls faster otherwise. */
export const defaultPolls = { IDLE_POLL_MS: '2000', FAST_POLL_MS: '250' } as const
const pollsOf = (ms: number) => ({ IDLE_POLL_MS: String(ms), FAST_POLL_MS: String(ms) })

/** Blocks that are mined after the last log, so that a node that lags has it too. */
const AFTER = 5

/** A fault by its name: the rules of the node, made when it begins. */
type Faults = Readonly<Record<string, (chains: Chains) => Promise<readonly Rule[]> | readonly Rule[]>>

type Case = {
  readonly faults: Faults
  /** How long each lasts, in milliseconds. */
  readonly lastsMs: number
  readonly polls?: Readonly<Record<string, string>>
}

/** What the rows of some blocks lack: a transaction in time. */
export const lateOf = ({ rows, worst, without }: Origins): string[] => {
  if (without.length > 0) return [`${without.length} of ${rows} rows without a transaction: ${without.slice(0, 5)}`]
  return worst > WITHIN_MS ? [`a row had its transaction after ${seconds(worst)}`] : []
}

const textOf = ({ rows, median, worst }: Origins): string =>
  `${rows} rows, p50 ${seconds(median)}, worst ${seconds(worst)}`

/** Mines traffic for some time. Returns its first and its last block. */
const live = async ({ traffic }: Chains, lastsMs: number) => {
  const from = (await traffic.node.blockNumber()) + 1
  const stop = new AbortController()
  const running = traffic.run({ everyMs: 200, perSecond: 5, signal: stop.signal })
  await sleep(lastsMs)
  stop.abort()
  await running
  const to = await traffic.mine(2)
  await traffic.mineEmpty(AFTER)
  return { from, to }
}

/** Mines traffic during each fault of the only node, one after the other, and watches the rows. */
const measure = async ({ store, chains, seeds: [seed = 1] }: Context, { faults, lastsMs, polls }: Case) => {
  const { traffic } = chains
  traffic.reseed(seed)
  const index = await openIndex({ store, chains, seed })
  const origins = await watchOrigins(index, chains)
  try {
    const worker = await index.start('worker', 'worker', polls ?? defaultPolls)
    await index.untilExact(await traffic.mine(2), 60_000)
    const failures: Failure[] = []
    const measured: string[] = []
    for (const [name, rules] of Object.entries(faults)) {
      index.proxy.set(await rules(chains))
      index.proxy.counts()
      const { from, to } = await live(chains, lastsMs)
      const found = await origins.of(from, to, WITHIN_MS)
      const exact = await index.untilExact(to, WITHIN_MS).catch(errorText)
      const times = [...index.proxy.counts().faults.values()].reduce((sum, it) => sum + it, 0)
      const wrong = [
        ...lateOf(found),
        ...(typeof exact === 'string' ? [exact] : []),
        ...(times === 0 ? ['the fault never happened'] : []),
        ...(worker.hasExited() ? ['the worker ended'] : []),
      ]
      for (const what of wrong) failures.push({ seed, what: `${name}: ${what}\n${worker.tail().slice(-1_000)}` })
      // The next fault begins with a whole index.
      index.proxy.set([])
      if (wrong.length > 0) await index.untilExact(to, 60_000)
      measured.push(`${name} (${times} answers): ${textOf(found)}`)
    }
    return { measured: measured.join('; '), met: failures.length === 0, failures }
  } finally {
    await origins.close()
    await index.close()
  }
}

const LIVE_MS = 20_000

export const behind: Target = {
  claim: 'one URL over two nodes, one of them 2 blocks behind, which refuses logs beyond its head',
  figure: FIGURE,
  run: (context) =>
    measure(context, {
      faults: { behind: () => [{ fault: 'stale', blocks: 2, refuses: true, share: 0.5 }] },
      lastsMs: LIVE_MS,
      polls: pollsOf(500),
    }),
}

const LATE_MS = 1_500

export const lateLogs: Target = {
  claim: `a node that returns the logs of a block ${LATE_MS / 1_000} s after the block`,
  figure: FIGURE,
  run: (context) =>
    measure(context, {
      faults: {
        late: async ({ traffic: { node, minedAt } }) => {
          const begin = await node.blockNumber()
          // A block is new until its time is known.
          const hides = (block: number): boolean =>
            block > begin && (minedAt(block) === 0 || Date.now() - minedAt(block) < LATE_MS)
          return [{ fault: 'withhold', method: 'eth_getLogs', hides }]
        },
      },
      lastsMs: LIVE_MS,
      polls: pollsOf(200),
    }),
}

export const noHash: Target = {
  claim: 'a node whose newest block has no hash in 99 % of its answers',
  figure: FIGURE,
  run: (context) =>
    measure(context, {
      faults: { 'no hash': () => [{ fault: 'noHash', method: 'eth_getBlockByNumber', share: 0.99 }] },
      lastsMs: LIVE_MS,
    }),
}

const ODD_MS = 6_000

/** Odd forms of answers, by what is odd. */
const odd: Faults = {
  'removed logs': () => [{ fault: 'removed', method: 'eth_getLogs' }],
  'doubled logs': () => [{ fault: 'doubled', method: 'eth_getLogs' }],
  'numeric logIndex': () => [{ fault: 'numbers', method: 'eth_getLogs' }],
  'string ids': () => [{ fault: 'stringIds' }],
  'an extra item': () => [{ fault: 'extraItem' }],
  'gzip without its header': () => [{ fault: 'gzip' }],
}

export const oddAnswers: Target = {
  claim: `odd answers, one after another: ${Object.keys(odd).join(', ')}`,
  figure: FIGURE,
  run: (context) => measure(context, { faults: odd, lastsMs: ODD_MS }),
}

/** The newest blocks that the node has logs of. */
const KEPT = 300

/** Blocks of the history with the logs and of that without; each block in so many has two transactions. */
const HISTORY = { withLogs: KEPT - 20, without: 400, every: 10 }

const PRUNED_LIVE_MS = 10_000

/** The index starts over a history whose older logs are gone. Then the chain goes on. */
export const pruned: Target = {
  claim: `a node that refuses logs older than ${KEPT} blocks with code 4444, while the index starts and later`,
  figure: 'every row whose log the node has, has its transaction in 10 s; all other rows are there',
  async run({ store, chains, seeds: [seed = 1] }) {
    const { traffic } = chains
    traffic.reseed(seed)
    const history = async (blocks: number): Promise<number> => {
      for (let at = 0; at < blocks; at += HISTORY.every) {
        await traffic.mine(2)
        await traffic.mineEmpty(HISTORY.every - 1)
      }
      return traffic.node.blockNumber()
    }
    const old = await history(HISTORY.without)
    const head = await history(HISTORY.withLogs)
    const index = await openIndex({ store, chains, seed })
    const origins = await watchOrigins(index, chains)
    try {
      index.proxy.set([{ fault: 'pruned', blocks: KEPT }])
      const worker = await index.start('worker', 'worker', defaultPolls)
      await worker.waitForLine(/worker started/, 60_000)
      const kept = await origins.of(old + 1, head, WITHIN_MS, Date.now())
      const { from, to } = await live(chains, PRUNED_LIVE_MS)
      const fresh = await origins.of(from, to, WITHIN_MS)
      const verdict = await index.verifier.compare()
      const older = await origins.of(0, old, 0)
      // No node has the older rows of the ledger. Their blocks are reported as a gap.
      const isRefused = (row: string): boolean => Number(/^log (\d+) /.exec(row)?.[1] ?? Infinity) <= old
      const missing =
        verdict.state === 'compared' ? verdict.missing.filter((row) => !isRefused(row)) : [describe(verdict)]
      // The rows that have no transaction differ from the chain, and no others do.
      const wrong = verdict.state === 'compared' ? verdict.different.length + verdict.extra.length : 0
      const failures = [
        ...lateOf(kept),
        ...lateOf(fresh),
        ...(missing.length > 0 ? [`missing: ${missing.slice(0, 5)}`] : []),
        ...(wrong > older.without.length ? [`${wrong - older.without.length} wrong rows: ${describe(verdict)}`] : []),
        ...(older.without.length === 0 ? ['no log was refused'] : []),
        ...(worker.hasExited() ? ['the worker ended'] : []),
      ].map((what) => ({ seed, what: `${what}\n${worker.tail().slice(-1_000)}` }))
      return {
        measured: `after the start ${textOf(kept)}; live ${textOf(fresh)}; ${older.without.length} of ${older.rows} older rows without a transaction, ${missing.length} missing`,
        met: failures.length === 0,
        failures,
      }
    } finally {
      await origins.close()
      await index.close()
    }
  },
}
