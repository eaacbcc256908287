import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { errorText } from '../../../src/lib/errors.ts'
import { watchOrigins } from '../origins.ts'
import type { Rule } from '../proxy.ts'
import { type Index, openIndex } from '../rig.ts'
import { hex } from '../rpc.ts'
import { type Answer, startApi } from '../service.ts'
import { type Context, type Failure, seconds, type Target } from '../target.ts'
import { defaultPolls, lateOf } from './tip-nodes.ts'

const FAULT_MS = 9_000
/** All processes start again in the middle of the fault, when they know nothing of the chain. */
const RESTART_AFTER_MS = 4_000
const AFTERWARDS_MS = 3_000
const WITHIN_MS = 10_000
const POLL_MS = Number(defaultPolls.IDLE_POLL_MS)
const SAMPLE_MS = 50

/** A number this close to a height is that height, or the confirmations of a block near the start of the chain. */
const NEAR = 20_000n

/** How far above the chain the block is that no answer may be as of. */
const UNREACHED = 100_000

const above = (head: number): bigint => BigInt(head) + 1_000_000n

/** What the node reports and whether it refuses logs there, instead of returning none. */
const faults = {
  '1,000,000 above': { height: above, refuses: true },
  '1,000,000 above, with empty logs': { height: above, refuses: false },
  '2^63 - 1': { height: () => 2n ** 63n - 1n, refuses: true },
} as const satisfies Readonly<Record<string, Pick<Rule, 'height' | 'refuses'>>>

const Receipt = z.object({ transactionHash: z.string() })

/** Fields without heights of the chain: what each node reported, sentences about that, and amounts. */
const noHeights: readonly string[] = ['endpoints', 'problem', 'alarms', 'calls', 'logs', 'fee']

/** Whether an answer has a height that only the node with the fault has. */
const isWrong = ({ status, headers, body }: Answer, height: bigint): boolean => {
  if (status !== 200) return false
  const known = JSON.stringify(JSON.parse(body, (key, value) => (noHeights.includes(key) ? undefined : value)))
  const numbers = `${[...headers.values()].join(' ')} ${known}`.match(/\b\d{1,20}\b/g) ?? []
  return numbers.some((digits) => BigInt(digits) > height - NEAR && BigInt(digits) < height + NEAR)
}

type Api = Awaited<ReturnType<typeof startApi>>

/** Requests a path again and again. Counts the wrong answers and the longest time for which they followed each other. */
const sample = (path: string, api: () => Api | undefined, isBad: (answer: Answer) => boolean) => {
  const over = new AbortController()
  const seen = { statuses: new Map<number, number>(), wrong: 0, longest: 0 }
  const run = async (): Promise<void> => {
    let since: number | undefined
    for (; !over.signal.aborted; await sleep(SAMPLE_MS)) {
      const asked = api()
      const answer = await asked?.get(path)
      // The process was stopped meanwhile.
      if (answer === undefined || asked !== api()) continue
      seen.statuses.set(answer.status, (seen.statuses.get(answer.status) ?? 0) + 1)
      if (!isBad(answer)) since = undefined
      else {
        seen.wrong += 1
        since ??= performance.now()
        seen.longest = Math.max(seen.longest, performance.now() - since)
      }
    }
  }
  const running = run()
  return {
    async stop() {
      over.abort()
      await running
      return seen
    },
  }
}

const startAll = async (index: Index, name: string) => {
  const worker = await index.start('worker', `worker-${name}`, defaultPolls)
  return { worker, api: await startApi(index, {}, { name: `api-${name}` }) }
}

/** One of two nodes, the preferred one, reports a height while all processes run, and while they start. */
const measure = async ({ store, chains, seeds: [seed = 1] }: Context, name: keyof typeof faults) => {
  const { traffic } = chains
  const { height } = faults[name]
  const index = await openIndex({ store, chains, seed, nodes: 2 })
  const origins = await watchOrigins(index, chains)
  const stop = new AbortController()
  let running: Promise<void> | undefined
  try {
    let { worker, api } = await startAll(index, 'first')
    let isUp = true
    const from = await traffic.mine(5)
    await index.untilExact(from, 60_000)
    const block = await traffic.node.send('eth_getBlockReceipts', [hex(from)])
    const [receipt] = z.array(Receipt).parse(block)
    running = traffic.run({ everyMs: 200, perSecond: 5, signal: stop.signal })
    const list = '/v1/hedge/deposits?chainId=8453&limit=5'
    const single = '/v1/hedge/deposits/8453/1'
    const atLeast = `minBlock=${from + UNREACHED}&waitMs=0`
    const hasHeight = (answer: Answer): boolean => isWrong(answer, height(from))
    const isMet = ({ status }: Answer): boolean => status === 200
    const samples = {
      list: { path: list, isBad: hasHeight, statuses: [200] },
      'single read': { path: single, isBad: hasHeight, statuses: [200] },
      status: { path: '/status', isBad: hasHeight, statuses: [200] },
      minBlock: { path: `${list}&${atLeast}`, isBad: isMet, statuses: [503] },
      'minBlock of a single read': { path: `${single}?${atLeast}`, isBad: isMet, statuses: [503] },
      confirmations: {
        path: `/v1/transactions/8453/${receipt?.transactionHash}`,
        isBad: hasHeight,
        statuses: [200],
      },
    }
    const sampled = Object.entries(samples).map(([what, each]) => ({
      ...each,
      what,
      sample: sample(each.path, () => (isUp ? api : undefined), each.isBad),
    }))
    index.proxy.set([{ fault: 'highHead', ...faults[name], until: FAULT_MS }])
    index.proxy.counts()
    await sleep(RESTART_AFTER_MS)
    isUp = false
    await Promise.all([worker.kill(), api.process.kill()])
    ;({ worker, api } = await startAll(index, 'second'))
    isUp = true
    await sleep(FAULT_MS - RESTART_AFTER_MS + AFTERWARDS_MS)
    stop.abort()
    await running
    const to = await traffic.mine(3)
    const found = await origins.of(from, to, WITHIN_MS)
    const exact = await index.untilExact(to, WITHIN_MS).catch(errorText)
    const problem = await api.until('/status', ({ body }) => !/"problem":"/.test(body), WITHIN_MS)
    const times = index.proxy.counts().faults.get('highHead') ?? 0
    const wrong: string[] = []
    let [answers, wrongAnswers, longest] = [0, 0, 0]
    for (const { what, sample, statuses: expected } of sampled) {
      const seen = await sample.stop()
      for (const [status, many] of seen.statuses) {
        answers += many
        if (!expected.includes(status)) wrong.push(`${what}: ${many} answers with ${status}`)
      }
      wrongAnswers += seen.wrong
      longest = Math.max(longest, seen.longest)
      if (seen.longest > POLL_MS) wrong.push(`${what}: wrong for ${seconds(seen.longest)}`)
    }
    wrong.push(...lateOf(found))
    if (typeof exact === 'string') wrong.push(exact)
    if (problem === null) wrong.push('the index keeps a problem')
    if (times === 0) wrong.push('the fault never happened')
    if (worker.hasExited() || api.process.hasExited()) wrong.push('a process ended')
    return {
      measured: `${name} (${times} requests): ${wrongAnswers} of ${answers} answers with the height, for ${seconds(longest)} at most; ${found.rows} rows, worst ${seconds(found.worst)}`,
      failures: wrong.map((what): Failure => ({ seed, what: `${name}: ${what}\n${worker.tail().slice(-1_000)}` })),
    }
  } finally {
    stop.abort()
    await running
    await origins.close()
    await index.close()
  }
}

export const highHead: Target = {
  claim: `the preferred one of two nodes reports a head that no chain has for ${FAULT_MS / 1_000} s, while processes run and start`,
  figure: `no answer has the height for longer than ${seconds(POLL_MS)}, /status is 200, every row has its transaction in ${WITHIN_MS / 1_000} s`,
  async run(context) {
    context.chains.traffic.reseed(context.seeds[0] ?? 1)
    const outcomes = []
    for (const name of Object.keys(faults) as (keyof typeof faults)[]) outcomes.push(await measure(context, name))
    const failures = outcomes.flatMap((it) => it.failures)
    return { measured: outcomes.map((it) => it.measured).join('; '), met: failures.length === 0, failures }
  },
}
