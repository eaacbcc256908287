import { setTimeout as sleep } from 'node:timers/promises'
import { createClosers } from '../../../src/lib/lifecycle.ts'
import { runActivity } from '../../../src/sandbox/activity.ts'
import { createRandom } from '../../../src/sandbox/random.ts'
import type { Store } from '../../faults/rig.ts'
import { startApi } from '../../faults/service.ts'
import { type Process, startProcess } from '../../faults/worker.ts'
import { cloneDatabase } from '../../support/clone-database.ts'
import { createChainCheck } from './chain-check.ts'
import { createChecker } from './checker.ts'
import { type LiveChain, openLiveChain } from './live-chain.ts'
import { createReport, type Report } from './report.ts'
import { urlsOf } from './urls.ts'

const ACTION_MS = 1_500

/** Comparisons under way at once. */
const LANES = 6

/** Pages after others that are compared beside the URLs; the oldest leave. */
const MOST_PAGES = 20

const REPORT_MS = 10_000

/** Waits until the index has reached a chain's head, which stands still. */
const untilIndexed = async (url: string, { chain, head }: LiveChain): Promise<void> => {
  const wanted = String(await head())
  for (let tries = 0; tries < 600; tries += 1, await sleep(100)) {
    const { headers } = await fetch(`${url}/v1/hedge/events?chainId=${chain.chainId}&limit=1`)
    if (headers.get('x-block-number') === wanted) return
  }
  throw new Error(`chain ${chain.chainId} is not indexed to block ${wanted}`)
}

/**
 * Compares an API that keeps answers with one that keeps none, on one database and the same nodes, while two chains live on and reorganise.
 * Reports every 10 s, and gives what it found.
 */
export const differential = async (options: {
  readonly store: Store
  readonly seconds: number
  readonly seed: number
  readonly onReport?: (seconds: number, report: Report) => void
}): Promise<Report & { readonly reorgs: number; readonly actions: number; readonly ambiguous: number }> => {
  const { store, seconds, seed, onReport } = options
  const closers = createClosers()
  try {
    const chains = await Promise.all(
      ([8453, 56] as const).map(async (id) =>
        closers.add(`chain ${id}`, await openLiveChain(id), (chain) => chain.close()),
      ),
    )
    const database = closers.add('database', await cloneDatabase(store.server, store.template), (it) => it.close())
    const processes: Process[] = []
    closers.add('processes', processes, (all) => Promise.all(all.map((each) => each.kill())))
    const env = {
      ...Object.assign({}, ...chains.map(({ variables }) => variables)),
      ...{
        DATABASE_URL: database.url,
        POLL_MS: '200',
        MAX_EVENT_LOOP_DELAY_MS: '0',
        LOG_LEVEL: 'warn',
        METRICS_PORT: 'off',
      },
    }
    const start = async (command: 'worker' | 'api' | 'engine', _?: string, more = {}): Promise<Process> => {
      const started = await startProcess(command, { ...env, ...more })
      processes.push(started)
      return started
    }
    await start('worker')
    const probe = await startApi({ start })
    for (const chain of chains) await untilIndexed(probe.url, chain)
    // A process numbers nothing from before its start: both begin while nothing changes, so that their tags are the same.
    await probe.process.stop()
    await sleep(2_000)
    const [cached, uncached] = [await startApi({ start }), await startApi({ start }, { PAGE_CACHE_BYTES: '0' })]

    const over = new AbortController()
    const report = createReport()
    let actions = 0
    const living = [
      ...chains.map(({ live }) => live(over.signal)),
      ...chains.map(({ actions: own, cast }) =>
        runActivity({
          ...{ chains: [own], cast, seed, intervalMs: ACTION_MS, signal: over.signal },
          log: (line) => {
            if (!line.includes('failed')) actions += 1
          },
        }),
      ),
    ]
    closers.add('activity', living, (all) => {
      over.abort()
      return Promise.all(all)
    })

    const random = createRandom(seed)
    const [first] = chains
    const checker = closers.add(
      'checker',
      createChecker({
        cached: { name: 'cached', url: cached.url },
        uncached: { name: 'uncached', url: uncached.url },
        checkChain: createChainCheck(chains),
        random,
        report,
      }),
      (it) => it.close(),
    )
    const urls = urlsOf({
      wallets: (first?.cast.extras ?? []).map(({ account }) => account.address),
      tokens: Object.fromEntries(chains.map(({ chain }) => [chain.chainId, chain.tokens[0]?.address ?? ''])),
    })
    const pages: string[] = []
    const began = performance.now()
    const elapsed = (): number => (performance.now() - began) / 1_000
    const lane = async (): Promise<void> => {
      while (elapsed() < seconds) {
        const next = await checker.check(random.pick(pages.length > 0 && random.int(1, 6) === 1 ? pages : urls))
        if (next !== null) pages.push(next)
        if (pages.length > MOST_PAGES) pages.shift()
      }
    }
    const reporting = setInterval(() => onReport?.(Math.round(elapsed()), report), REPORT_MS)
    try {
      await Promise.all(Array.from({ length: LANES }, lane))
    } finally {
      clearInterval(reporting)
    }
    const reorgs = chains.reduce((sum, chain) => sum + chain.reorgs(), 0)
    return { ...report, reorgs, actions, ambiguous: checker.ambiguous() }
  } finally {
    await closers.close()
  }
}
