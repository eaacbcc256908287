import { setTimeout as sleep } from 'node:timers/promises'
import { createClosers } from '../../../src/lib/lifecycle.ts'
import { openChain } from '../chain.ts'
import { type Sample, startLoad } from '../load.ts'
import { type Rule, startFaultProxy } from '../proxy.ts'
import { openIndex } from '../rig.ts'
import { createRpc, hex } from '../rpc.ts'
import { startApi } from '../service.ts'
import { type Failure, quantile, seconds, type Target } from '../target.ts'

const PER_SECOND = 100
const CALM_MS = 2_000
const FAULT_MS = 5_000
const STORED_HEAD_MS = 5_500
const OUT_WITHIN_MS = 2_000
const BACK_WITHIN_MS = 10_000
const P99_MS = 400
const DOWN_P99_MS = 50

const events = [1, 2, 3]
const ranges = events.map((id) => `/v1/hedge/events/8453/${id}/range`)
const paths = [
  ...ranges,
  ...events.flatMap((id) => [`/v1/hedge/events/8453/${id}`, `/v1/hedge/events/8453/${id}/stats`]),
  '/v1/hedge/deposits/8453/1',
  '/v1/hedge/fees?chainId=8453',
  '/v1/hedge/events/8453/total',
]

type Proxy = Awaited<ReturnType<typeof startFaultProxy>>

/** Records when a proxy was last used, not counting requests for its chain and head alone. */
const watch = (proxy: Proxy) => {
  const uses: number[] = []
  const timer = setInterval(() => {
    const { requests, probes } = proxy.counts()
    if (requests > probes) uses.push(performance.now())
  }, 50)
  return { uses, stop: () => clearInterval(timer) }
}

const p99 = (samples: readonly Sample[]): number =>
  quantile(
    samples.map(({ took }) => took),
    0.99,
  )

const isStale = ({ headers }: Sample): boolean =>
  headers.get('x-data-source') === 'database' && headers.get('x-stale') === '1'

/** Target 9. The first of two nodes has each fault in turn, then both have it. Clients read all the time. */
export const badNode: Target = {
  claim: `bad node for readers, ${PER_SECOND} reads a second: the first of two hangs, refuses, lags, lies, with a worker and without; then both are down`,
  figure:
    '0 errors, p99 400 ms, out of rotation in 2 s, back within 10 s; all down: from the database, stale, p99 50 ms',
  async run({ store, chains, seeds: [seed = 1] }) {
    const { traffic } = chains
    traffic.reseed(seed)
    const closers = createClosers()
    const failures: Failure[] = []
    const stop = new AbortController()
    let running: Promise<void> | undefined
    try {
      const index = closers.add('index', await openIndex({ store, chains, seed }), (it) => it.close())
      const worker = await index.start('worker')
      for (const _ of events) await traffic.createEvent()
      for (let at = 0; at < 60; at += 1) await traffic.mine(at % 10 === 0 ? 5 : 0)
      await index.untilExact(await traffic.mine(2), 60_000)

      // Higher than the real chain, and empty: a reader that trusts it finds no entity.
      const fork = closers.add('fork', await openChain(8453, chains.variant.profile), (it) => it.close())
      await createRpc(fork.chain.rpcUrl).send('anvil_mine', [hex(5_000)])

      const proxies = await Promise.all(
        [0, 1].map((at) => startFaultProxy({ target: chains.chain.rpcUrl, seed: seed + at })),
      )
      for (const each of proxies) closers.add('proxy', each, (it) => it.close())
      const [first] = proxies
      if (first === undefined) throw new RangeError('there are two nodes')
      const api = await startApi(index, { RPC_URLS_8453: proxies.map(({ url }) => url).join() })
      running = traffic.run({ everyMs: 200, perSecond: 5, signal: stop.signal })

      const expected = new Map<string, string>()
      for (const path of ranges) expected.set(path, (await api.get(path)).body)

      /** Every answer must be a success, be read from the chain, and be correct. */
      const judge = async (what: string, samples: readonly Sample[]): Promise<void> => {
        for (const { path, status, body } of samples) {
          if (status !== 200) failures.push({ seed, what: `${what}: ${path} was ${status}` })
          else if (expected.has(path) && expected.get(path) !== body)
            failures.push({ seed, what: `${what}: ${path} lied` })
        }
        const hashes = [...new Set(samples.map(({ headers }) => headers.get('x-block-hash')))]
        const answers = await traffic.node.batch(
          hashes.map((hash) => ({ method: 'eth_getBlockByHash', params: [hash, false] })),
        )
        const unknown = answers.filter(({ result }) => result === null || result === undefined).length
        if (unknown > 0) failures.push({ seed, what: `${what}: ${unknown} blocks that the chain does not have` })
      }

      const steady = startLoad(api.get, paths, PER_SECOND)
      await sleep(5_000)
      const calm = await steady.stop()
      await judge('no fault', calm)

      const bad = async (name: string, rules: readonly Rule[]) => {
        const load = startLoad(api.get, paths, PER_SECOND)
        await sleep(CALM_MS)
        const watched = watch(first)
        first.set(rules)
        const since = performance.now()
        await sleep(FAULT_MS)
        const last = watched.uses.at(-1) ?? since
        first.set([])
        const healed = performance.now()
        while (!watched.uses.some((at) => at > healed + 50) && performance.now() - healed < 2 * BACK_WITHIN_MS)
          await sleep(50)
        const back = (watched.uses.find((at) => at > healed + 50) ?? Number.POSITIVE_INFINITY) - healed
        watched.stop()
        await sleep(500)
        const samples = await load.stop()
        await judge(name, samples)
        const during = samples.filter(({ at }) => at >= since && at < healed)
        const stale = during.filter(isStale).length
        const [slow, out] = [p99(during), last - since]
        return {
          text: `${name} p99 ${slow.toFixed(0)} ms, out ${seconds(out)}, back ${seconds(back)}${stale === 0 ? '' : `, ${stale} stale`}`,
          met: slow <= P99_MS && out <= OUT_WITHIN_MS && back <= BACK_WITHIN_MS,
        }
      }

      const allDown = async (name: string, rules: readonly Rule[]) => {
        const load = startLoad(api.get, paths, PER_SECOND)
        await sleep(CALM_MS)
        for (const each of proxies) each.set(rules)
        const since = performance.now()
        await sleep(OUT_WITHIN_MS + FAULT_MS)
        const over = performance.now()
        for (const each of proxies) each.set([])
        const samples = await load.stop()
        await judge(name, samples)
        const known = samples.filter(({ at }) => at >= since + OUT_WITHIN_MS && at < over)
        const fresh = known.filter((sample) => !isStale(sample)).length
        const worst = Math.max(...samples.map(({ took }) => took))
        const back = await api.until(ranges[0] ?? '', ({ headers }) => headers.get('x-stale') === null, 20_000)
        return {
          text: `${name} p99 ${p99(known).toFixed(0)} ms from 2 s on, ${fresh} of ${known.length} not marked stale, worst at first ${seconds(worst)}, back ${seconds(back ?? Number.POSITIVE_INFINITY)}`,
          met: p99(known) <= DOWN_P99_MS && fresh === 0 && back !== null && back <= BACK_WITHIN_MS,
        }
      }

      const outcomes = [
        await bad('hangs:', [{ fault: 'hang' }]),
        await bad('refuses:', [{ fault: 'drop' }]),
        await bad('lags:', [{ fault: 'stale', blocks: 50 }]),
        await bad('another fork:', [{ fault: 'elsewhere', url: fork.chain.rpcUrl }]),
      ]
      // Heads come from the nodes once the head that the worker stored is too old.
      await worker.kill()
      await sleep(STORED_HEAD_MS)
      outcomes.push(
        await bad('wrong hashes:', [{ fault: 'wrongHash' }]),
        await bad('lags, no worker:', [{ fault: 'stale', blocks: 50 }]),
        await bad('another fork, no worker:', [{ fault: 'elsewhere', url: fork.chain.rpcUrl }]),
        await allDown('all hang:', [{ fault: 'hang' }]),
        await allDown('all refuse:', [{ fault: 'drop' }]),
      )
      return {
        measured: `${failures.length} errors; no fault p99 ${p99(calm).toFixed(0)} ms; ${outcomes.map(({ text }) => text).join('; ')}`,
        met: failures.length === 0 && outcomes.every(({ met }) => met),
        failures: failures.slice(0, 10),
      }
    } finally {
      stop.abort()
      await running
      await closers.close()
    }
  },
}
