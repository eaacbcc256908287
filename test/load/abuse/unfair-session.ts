import { cpus } from 'node:os'
import { createClosers } from '../../../src/lib/lifecycle.ts'
import { openChains, openIndex, type Store } from '../../faults/rig.ts'
import { startApi } from '../../faults/service.ts'
import { processorMs, waitedForProcessorMs } from '../usage.ts'
import { startBusyNode } from './busy-node.ts'
import { ask, startChild } from './children.ts'
import { HonestReport, type HonestSample, type UnfairOrders, UnfairReport } from './messages.ts'
import { BLOCK_GAS, type Size, seedWallets } from './seed-wallets.ts'
import { type UnfairName, unfairCallers } from './unfair-callers.ts'

/** How long the honest caller asks before the first phase counts, in milliseconds: code is compiled as it is used. */
const WARM_UP_MS = 5_000

/** How long the honest caller has to be served after an attack before an idle phase begins, in milliseconds. */
const QUIET_MS = 500

/** How long the service may take until the honest caller is served again after an attack, in milliseconds. */
const RECOVERY_MS = 20_000

/** The heap limit of the image. */
const IMAGE = { NODE_OPTIONS: '--max-old-space-size=256' }

const TRAFFIC = { everyMs: 2_000, perSecond: 1 }

/** What the honest caller saw in all idle phases, or in all phases of the attack, of one row. */
export type Condition = {
  readonly samples: readonly HonestSample[]
  readonly paused: readonly string[]
  /** Milliseconds of the phases, and of processor time in them, by process; `machine` is that of all processes. */
  readonly ms: number
  readonly processor: Readonly<Record<string, number>>
  /** Milliseconds for which the main thread of the API was ready to run without a processor. */
  readonly waitedMs: number
}

/** The results of one unfair caller. */
export type Row = {
  readonly name: UnfairName
  readonly idle: Condition
  readonly attack: Condition
  readonly answers: Readonly<Record<string, number>>
  /** The answers without which nothing was attacked. */
  readonly least: number
  /** How long the service took after each phase of the attack until it served the honest caller again, in milliseconds. */
  readonly recoveryMs: readonly number[]
  /** The requests that kept the node busy, and for how long. */
  readonly node: { readonly heavy: number; readonly heavyMs: number }
}

const none: Condition = { samples: [], paused: [], ms: 0, processor: {}, waitedMs: 0 }

/** The processor time of the machine since it started, in milliseconds. */
const machineMs = (): number =>
  cpus().reduce((total, { times }) => total + times.user + times.nice + times.sys + times.irq, 0)

const sum = (a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(
    [...new Set([...Object.keys(a), ...Object.keys(b)])].map((key) => [key, (a[key] ?? 0) + (b[key] ?? 0)]),
  )

const joined = (a: Condition, b: Condition): Condition => ({
  samples: [...a.samples, ...b.samples],
  paused: [...new Set([...a.paused, ...b.paused])],
  ms: a.ms + b.ms,
  processor: sum(a.processor, b.processor),
  waitedMs: a.waitedMs + b.waitedMs,
})

export type UnfairOptions = {
  readonly store: Store
  readonly size: Size
  /** The speed of the node. */
  readonly gasPerSecond: number
  readonly names: readonly UnfairName[]
  /** Pairs of an idle phase and a phase of the attack, and the length of each phase. */
  readonly pairs: number
  readonly phaseMs: number
  /** Further settings of worker and API. */
  readonly settings?: Readonly<Record<string, string>>
  readonly onProgress?: (text: string) => void
  readonly onRow: (row: Row) => void
}

/**
 * Runs unfair callers one after the other, each in several phases with idle ones between, while an honest caller with
 * another address is measured. Worker, API, their PostgreSQL and the chain are real, and one busy node is the only one
 * of the chain. The build must exist.
 */
export const runUnfairCallers = async (options: UnfairOptions): Promise<void> => {
  const { store, size, gasPerSecond, names, pairs, phaseMs, onRow, onProgress: report = () => {} } = options
  const closers = createClosers()
  try {
    const chains = closers.add('chains', await openChains(1), (it) => it.close())
    const { chain, traffic } = chains
    report(`${size.wallets} wallets get ${size.rows} rows each, and ${size.reverted} transactions revert`)
    const { wallets, events, reverted } = await seedWallets(chains, size)
    const index = closers.add('index', await openIndex({ store, chains, seed: 1 }), (it) => it.close())
    const node = closers.add(
      'busy node',
      await startBusyNode({ target: index.proxy.url, node: chain.rpcUrl, gasPerSecond }),
      (it) => it.close(),
    )
    const settings = {
      [`RPC_URLS_${chain.chainId}`]: node.url,
      LOG_LEVEL: 'error',
      TRUSTED_PROXIES: '1',
      ...IMAGE,
      ...options.settings,
    }
    const worker = await index.start('worker', 'worker', settings)
    report(`the node executes ${gasPerSecond / 1e6} M gas a second, and a call may use ${BLOCK_GAS / 1e6} M; indexing`)
    await index.untilExact(await traffic.node.blockNumber(), 120_000)
    const api = await startApi(index, settings)
    const quietly = new AbortController()
    const living = traffic.run({ ...TRAFFIC, signal: quietly.signal })
    closers.add('traffic', quietly, (it) => {
      it.abort()
      return living
    })
    const honest = closers.add('honest caller', startChild('./honest-process.ts'), (it) => void it.disconnect())
    const { chainId, diamond } = chain
    await ask(honest, { url: api.url, chainId, wallets, events })

    const phase = async (ms: number, attacker?: number): Promise<Condition> => {
      const pids = { api: api.process.pid, worker: worker.pid, ...(attacker !== undefined && { attacker }) }
      const readings = (): Record<string, number> =>
        Object.fromEntries([
          ...Object.entries(pids).map(([name, pid]) => [name, processorMs(pid)]),
          ['machine', machineMs()],
        ])
      const waited = (): number => waitedForProcessorMs(api.process.pid)
      const [before, waitedBefore, began] = [readings(), waited(), performance.now()]
      const { samples, paused } = HonestReport.parse(await ask(honest, { ms }))
      const [after, waitedMs] = [readings(), waited() - waitedBefore]
      const used = Object.entries(after).map(([name, total]) => [name, total - (before[name] ?? 0)])
      return { samples, paused, ms: performance.now() - began, processor: Object.fromEntries(used), waitedMs }
    }

    /** Waits until the honest caller is served as it should be; returns the milliseconds that took. */
    const recover = async (name: string): Promise<number> => {
      const began = performance.now()
      for (;;) {
        const { samples, paused } = await phase(QUIET_MS)
        const took = performance.now() - began
        const fault = samples.find((it) => it.fault !== null || it.isStale)
        if ((fault === undefined && paused.length === 0) || took > RECOVERY_MS) return took
        report(`${name}: not recovered after ${(took / 1_000).toFixed(1)} s: ${fault?.fault ?? 'stale'}, ${paused}`)
      }
    }

    const runRow = async (name: UnfairName): Promise<Row> => {
      let [idle, attack, turn, least] = [none, none, 0, 1]
      let answers: Readonly<Record<string, number>> = {}
      const recoveryMs: number[] = []
      const before = node.counts()
      for (let pair = 1; pair <= pairs; pair += 1) {
        const quiet = await phase(phaseMs)
        idle = joined(idle, quiet)
        report(`${name}, idle ${pair} of ${pairs}: ${quiet.samples.length} honest requests`)
        const attacker = startChild('./unfair-process.ts')
        try {
          const orders: UnfairOrders = {
            ...{ name, url: api.url, chainId, diamond, wallets: [...wallets], reverted: [...reverted] },
            firstTurn: turn,
          }
          least = unfairCallers[name](orders).least
          await ask(attacker, orders)
          const busy = await phase(phaseMs, attacker.pid)
          const counts = UnfairReport.parse(await ask(attacker, 'report'))
          answers = sum(answers, counts.answers)
          turn = counts.turns
          attack = joined(attack, busy)
        } finally {
          attacker.disconnect()
        }
        report(`${name}, attack ${pair} of ${pairs}: ${attack.samples.length} honest requests so far`)
        recoveryMs.push(await recover(name))
      }
      const after = node.counts()
      const used = { heavy: after.heavy - before.heavy, heavyMs: after.heavyMs - before.heavyMs }
      return { name, idle, attack, answers, least, recoveryMs, node: used }
    }

    await phase(Math.min(WARM_UP_MS, phaseMs))
    await recover('start')
    for (const name of names) onRow(await runRow(name))
  } finally {
    await closers.close()
  }
}
