import { createClosers } from '../../../src/lib/lifecycle.ts'
import { runActivity } from '../../../src/sandbox/story/activity.ts'
import { createRandom } from '../../../src/sandbox/story/random.ts'
import type { Store } from '../../faults/rig.ts'
import { createChainCheck } from './chain-check.ts'
import { createClient } from './client.ts'
import { createPairCheck } from './pair-check.ts'
import { createRecordCheck } from './record-check.ts'
import { createReport, isComplete, type Report } from './report.ts'
import { openSystem } from './system.ts'
import { createTagCheck } from './tag-check.ts'
import { urlsOf } from './urls.ts'

const ACTION_MS = 1_500

/** The number of concurrent comparisons. */
const CONCURRENT = 3

/** One comparison in this many also compares a record with the chain. */
const RECORD_EVERY = 6

/** The most next pages that are compared in addition to the URLs. The oldest are dropped. */
const MOST_PAGES = 20

const REPORT_MS = 10_000

/** A slow machine gets up to this many times the requested duration, until it has compared enough of every kind of answer. */
const MOST_TIMES = 8

/**
 * Compares an API with a response cache with one without, on one database and the same nodes, while two chains mine
 * blocks and have reorgs. Prints a report every 10 s and returns the last one.
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
    const { chains, cached, uncached } = await openSystem(store, closers)
    const over = new AbortController()
    const report = createReport()
    let actions = 0
    const living = [
      ...chains.map(({ live }) => live(over.signal)),
      ...chains.map(({ actions: own, accounts }) =>
        runActivity({
          ...{ chains: [own], accounts, seed, intervalMs: ACTION_MS, signal: over.signal },
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
    const client = closers.add('client', createClient(report), (it) => it.close())
    const deps = {
      checkChain: createChainCheck(chains),
      ...{ cached, uncached, client, random, report },
    }
    const [checkPair, checkTag, checkRecord] = [createPairCheck(deps), createTagCheck(deps), createRecordCheck(deps)]
    const urls = urlsOf({
      wallets: (first?.accounts.extras ?? []).map(({ account }) => account.address),
      tokens: Object.fromEntries(chains.map(({ chain }) => [chain.chainId, chain.tokens[0]?.address ?? ''])),
    })
    const pages: string[] = []
    const began = performance.now()
    const elapsed = (): number => (performance.now() - began) / 1_000
    const sendRequests = async (): Promise<void> => {
      while (elapsed() < seconds || (!isComplete(report) && elapsed() < MOST_TIMES * seconds)) {
        const path = random.pick(pages.length > 0 && random.int(1, 6) === 1 ? pages : urls)
        if (random.int(1, RECORD_EVERY) === 1) await checkRecord(path)
        const { link } = (await checkPair(path))?.headers ?? {}
        await checkTag(path)
        const next = /^<([^>]*)>/.exec(link ?? '')?.[1]
        // Relative to the URL of the page.
        if (next !== undefined) pages.push(`${path.split('?', 1)[0]}${next}`)
        if (pages.length > MOST_PAGES) pages.shift()
      }
    }
    const reporting = setInterval(() => onReport?.(Math.round(elapsed()), report), REPORT_MS)
    try {
      await Promise.all(Array.from({ length: CONCURRENT }, sendRequests))
    } finally {
      clearInterval(reporting)
    }
    const reorgs = chains.reduce((sum, chain) => sum + chain.reorgs(), 0)
    return { ...report, reorgs, actions, ambiguous: client.tags.ambiguous() }
  } finally {
    await closers.close()
  }
}
