import { setTimeout as sleep } from 'node:timers/promises'
import { errorText } from '../../../src/lib/errors.ts'
import { type Bar, type Context, chunks, type Failure, seconds } from '../bar.ts'
import { isExact, say } from '../oracle.ts'
import type { Rule } from '../proxy.ts'
import { type Index, openIndex } from '../rig.ts'
import type { Process } from '../worker.ts'

/** Indexes at work side by side over one chain. */
const AT_ONCE = 5

const LIVE_MS = 4_000
const REPAIR_WITHIN_MS = 30_000
const DETECT_WITHIN_MS = 5_000

const lossy: readonly Rule[] = [
  { fault: 'empty', method: 'eth_getLogs', share: 0.1 },
  { fault: 'truncate', method: 'eth_getLogs', share: 0.111 },
]

type Seen = { readonly tampered: number; readonly longest: number; readonly last: number }

type Lane = { readonly index: Index; readonly worker: Process }

/** Which node lags and what the nodes leave out is the seed's. */
const misbehave = ({ index }: Pick<Lane, 'index'>, seed: number): void => {
  for (const [at, proxy] of index.proxies.entries()) {
    proxy.reseed(seed * 2 + at)
    proxy.set(at === seed % 2 ? [{ fault: 'stale', blocks: 50 }, ...lossy] : lossy)
  }
}

/** A worker in front of two nodes that leave logs out from the beginning. */
const begin = async ({ store, chains }: Context, seed: number): Promise<Lane> => {
  const index = await openIndex({ store, chains, seed, nodes: 2 })
  misbehave({ index }, seed)
  const worker = await index.start('worker')
  await worker.waitForLine(/"chainId":8453.*following/, 60_000)
  return { index, worker }
}

/** Watches one index until `stopped` and then until it is exact; `stopped` gives the last block that holds a log. */
const judge = async ({ index, worker }: Lane, stopped: Promise<number>): Promise<Seen> => {
  let over = false
  stopped.finally(() => {
    over = true
  })
  let longest = 0
  let since: number | undefined
  while (!over) {
    const verdict = await index.oracle.look()
    if (verdict.state === 'compared' && verdict.extra.length + verdict.different.length > 0)
      throw new Error(say(verdict))
    if (verdict.state === 'compared' && !isExact(verdict)) since ??= performance.now()
    else since = undefined
    if (since !== undefined) longest = Math.max(longest, performance.now() - since)
    await sleep(150)
  }
  const last = await index.untilExact(await stopped, DETECT_WITHIN_MS + REPAIR_WITHIN_MS)
  if (worker.hasExited()) throw new Error(`the worker ended: ${worker.tail()}`)
  const tampered = index.proxies
    .map((proxy) => proxy.counts().faults)
    .reduce((sum, faults) => sum + (faults.get('empty') ?? 0) + (faults.get('truncate') ?? 0), 0)
  return { tampered, longest, last }
}

/** Bar 1. */
export const loss: Bar = {
  claim: 'no silent loss: 20 % of eth_getLogs answers emptied or cut, one of two nodes 50 blocks behind',
  figure: '0 missing, 0 extra, repaired in 30 s',
  async run(context) {
    const { traffic } = context.chains
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
      for (let at = 0; at < 55; at += 1) await traffic.mine()
      return last
    }

    const lanes: (Lane | undefined)[] = []
    for (const seeds of chunks(context.seeds, AT_ONCE)) {
      traffic.reseed(seeds[0] ?? 0)
      for (let at = 0; at < 20; at += 1) await traffic.mine(2)
      // A process lives through several seeds; after a failure its next seed gets a new one.
      const begun = await Promise.all(
        seeds.map(async (seed, at) => {
          const lane = lanes[at] ?? (await begin(context, seed))
          misbehave(lane, seed)
          lanes[at] = lane
          return { seed, at, lane }
        }),
      )
      const stopped = live()
      await Promise.all(
        begun.map(({ seed, at, lane }) =>
          judge(lane, stopped).then(
            (it) => seen.push(it),
            async (fault) => {
              failures.push({ seed, what: errorText(fault) })
              lanes[at] = undefined
              await lane.index.close()
            },
          ),
        ),
      )
    }
    await Promise.all(lanes.map((lane) => lane?.index.close()))
    const tampered = seen.reduce((sum, it) => sum + it.tampered, 0)
    const longest = Math.max(0, ...seen.map((it) => it.longest))
    const last = Math.max(0, ...seen.map((it) => it.last))
    return {
      measured: `${failures.length} of ${context.seeds.length} seeds inexact, ${tampered} answers falsified, a row missing for ${seconds(longest)} at most, exact ${seconds(last)} after the last log`,
      met: failures.length === 0 && tampered > 0 && longest < REPAIR_WITHIN_MS && last < REPAIR_WITHIN_MS,
      failures,
    }
  },
}
