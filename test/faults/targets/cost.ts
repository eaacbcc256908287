import { setTimeout as sleep } from 'node:timers/promises'
import { openIndex } from '../rig.ts'
import { createRpc } from '../rpc.ts'
import type { Target } from '../target.ts'

/** Long enough for all work that runs per second and not per poll: a minute has two slices of the audit and a sweep. */
const QUIET_MS = 60_000
const BUSY_MS = 8_000

/** Requests per poll: the poll, and a proof of the index with every tenth quiet one. */
const QUIET = 1 + 1 / 10

/**
 * Target 3. The cost of one poll of the head is the number of HTTP requests divided by the number of polls.
 * Observations after an event (requests that contain only calls) run per second and not per poll, so they are counted
 * separately.
 */
export const cost: Target = {
  claim: 'node cost at the tip, requests a tick',
  figure:
    '1 quiet and a tenth for the proof, 2 with events, requests a second within 5 % at 0.2 s and 2 s blocks, but for a read of each block without logs',
  async run({ store, chains, seeds: [seed = 1] }) {
    const { traffic, chain } = chains
    const node = createRpc(chain.rpcUrl)
    traffic.reseed(seed)
    const index = await openIndex({ store, chains, seed })
    try {
      await index.start('worker')
      await index.untilExact(await traffic.mine(2), 30_000)
      const measure = async (everyMs: number, perSecond: number, forMs: number) => {
        const stop = new AbortController()
        const running = traffic.run({ everyMs, perSecond, signal: stop.signal })
        await sleep(1_500)
        const first = await node.blockNumber()
        index.proxy.counts()
        const started = performance.now()
        await sleep(forMs)
        const { requests, polls, reads } = index.proxy.counts()
        const elapsed = performance.now() - started
        // Without logs, each new block may have new entities.
        const ofBlocks = chains.variant.logs ? 0 : (await node.blockNumber()) - first
        stop.abort()
        await running
        return {
          perTick: (requests - reads) / polls,
          perSecond: (requests * 1000) / elapsed,
          reads: (reads * 1000) / elapsed,
          steady: ((requests - ofBlocks) * 1000) / elapsed,
        }
      }
      const quick = await measure(200, 0, QUIET_MS)
      const slow = await measure(2_000, 0, QUIET_MS)
      const busy = await measure(200, 20, BUSY_MS)
      const apart = Math.abs(quick.steady / slow.steady - 1)
      await index.untilExact(await traffic.mine(1), 30_000)
      const show = (it: typeof quick): string =>
        `${it.perTick.toFixed(2)} (${it.perSecond.toFixed(1)}/s, ${it.reads.toFixed(1)} of them reads)`
      return {
        measured: `quiet ${show(quick)} at 0.2 s and ${show(slow)} at 2 s blocks, ${(apart * 100).toFixed(0)} % apart; with events ${show(busy)}`,
        met: quick.perTick < QUIET + 0.05 && slow.perTick < QUIET + 0.05 && busy.perTick < 2.05 && apart < 0.05,
        failures: [],
      }
    } finally {
      await index.close()
    }
  },
}
