import { setTimeout as sleep } from 'node:timers/promises'
import { errorText } from '../../../src/lib/errors.ts'
import { createRandom } from '../../../src/sandbox/story/random.ts'
import type { Process } from '../process.ts'
import { type Chains, type Index, openChains, openIndex, type Store } from '../rig.ts'
import { type Failure, quantile, seconds, type Target } from '../target.ts'

const WITHIN_MS = 3_000
const DEEP = 6_000
const DEEP_WITHIN_MS = 20_000

/** How long a target waits until it reports that the index never became exact, in milliseconds. */
const PATIENCE_MS = 45_000

type Deps = { readonly store: Store; readonly chains: Chains; readonly seed: number }

const begin = async (deps: Deps, nodes = 1): Promise<{ index: Index; worker: Process }> => {
  const index = await openIndex({ ...deps, nodes, ledger: 'all' })
  const worker = await index.start('worker')
  await index.untilExact(await deps.chains.traffic.mine(2), 60_000)
  return { index, worker }
}

/** Mines blocks one by one, so that an index that follows stops at each. */
const live = async ({ chains: { traffic } }: Deps, blocks: number): Promise<number> => {
  let head = 0
  for (let at = 0; at < blocks; at += 1) {
    head = await traffic.mine(at % 3)
    await sleep(20)
  }
  return head
}

/** Target 2, depth 1 to 64. One worker serves all seeds; after a failure the next seed gets a new one. */
export const reorgs: Target = {
  claim: 'reorgs of depth 1 to 64 with other transactions, so that ids are reused',
  figure: 'exact again in 3 s with the ledger, whose logs lead to the views; never exits',
  async run({ store, chains, seeds }) {
    const { traffic } = chains
    const failures: Failure[] = []
    const took: number[] = []
    let begun: Awaited<ReturnType<typeof begin>> | undefined
    for (const seed of seeds) {
      const random = createRandom(seed)
      traffic.reseed(seed)
      begun ??= await begin({ store, chains, seed })
      const { index, worker } = begun
      try {
        const depth = random.pick([1, 2, 3, 5, 8, 16, 32, 64])
        await traffic.mine(2)
        const replace = await traffic.fork()
        await index.untilExact(await live({ store, chains, seed }, depth), PATIENCE_MS)
        index.proxy.hold()
        const head = await replace().finally(index.proxy.release)
        took.push(await index.untilExact(head, PATIENCE_MS))
        await index.untilFolded(PATIENCE_MS)
        if (worker.hasExited()) throw new Error('the worker ended')
      } catch (fault) {
        failures.push({ seed, what: `${errorText(fault)}\n${worker.tail().slice(-2_000)}` })
        await index.close()
        begun = undefined
      }
    }
    await begun?.index.close()
    return {
      measured: `${failures.length} of ${seeds.length} seeds inexact, exact after ${seconds(quantile(took, 0.5))} (p50), ${seconds(Math.max(0, ...took))} (worst)`,
      met: failures.length === 0 && Math.max(...took) <= WITHIN_MS,
      failures,
    }
  },
}

/** Target 2, one node of two on another fork for ten seconds: its blocks have other hashes. */
export const wrongHashes: Target = {
  claim: 'one of two nodes on a fork of its own, half of the time',
  figure: 'no rollback, no wrong row',
  async run({ store, chains, seeds: [seed = 1] }) {
    const { traffic } = chains
    traffic.reseed(seed)
    const { index, worker } = await begin({ store, chains, seed }, 2)
    try {
      const failures: Failure[] = []
      index.proxy.set([{ fault: 'wrongHash', method: 'eth_getBlockByNumber', share: 0.5 }])
      const stop = new AbortController()
      const running = traffic.run({ everyMs: 200, perSecond: 10, signal: stop.signal })
      for (const until = performance.now() + 10_000; performance.now() < until; await sleep(200)) {
        const verdict = await index.verifier.compare()
        if (verdict.state === 'compared' && verdict.extra.length + verdict.different.length > 0)
          failures.push({ seed, what: 'a wrong row' })
      }
      stop.abort()
      await running
      const stalled = await index.untilExact(await traffic.mine(1), PATIENCE_MS).catch((fault: unknown) => fault)
      index.proxy.set([])
      const rollbacks = worker.logged(/rolled back/).length
      if (rollbacks > 0) failures.push({ seed, what: `${rollbacks} rollbacks` })
      return {
        measured: `${rollbacks} rollbacks, ${failures.length} faults, ${typeof stalled === 'number' ? `at the head ${seconds(stalled)} after the last log` : errorText(stalled)}`,
        met: failures.length === 0 && typeof stalled === 'number',
        failures,
      }
    } finally {
      await index.close()
    }
  },
}

/** Target 2, depth 6,000, on a separate chain, because a node mines more slowly the longer and fuller its chain is. */
export const deep: Target = {
  claim: `a reorg of depth ${DEEP}`,
  figure: 'exact again in 20 s, never exits',
  async run({ store, chains: { variant }, seeds: [seed = 1] }) {
    const chains = await openChains(seed, variant)
    const { traffic } = chains
    try {
      const { index, worker } = await begin({ store, chains, seed })
      try {
        const replace = await traffic.fork()
        await index.untilExact(await traffic.mineMany(DEEP), PATIENCE_MS)
        // A reorg of this depth takes longer than the request timeout, so the node rejects requests meanwhile.
        index.proxy.set([{ fault: 'drop' }])
        const head = await replace(traffic.mineMany)
        index.proxy.set([])
        const took = await index.untilExact(head, 120_000).catch((fault: unknown) => fault)
        const failures = typeof took === 'number' ? [] : [{ seed, what: `${errorText(took)}\n${worker.tail()}` }]
        if (worker.hasExited()) failures.push({ seed, what: 'the worker ended' })
        return {
          measured: typeof took === 'number' ? `exact after ${seconds(took)}` : errorText(took),
          met: failures.length === 0 && typeof took === 'number' && took <= DEEP_WITHIN_MS,
          failures,
        }
      } finally {
        await index.close()
      }
    } finally {
      await chains.close()
    }
  },
}
