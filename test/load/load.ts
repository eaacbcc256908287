import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { z } from 'zod'
import { createClosers } from '../../src/lib/lifecycle.ts'
import { openChains, openIndex, openStore } from '../faults/rig.ts'
import { startApi } from '../faults/service.ts'
import { quantile } from '../faults/target.ts'
import { setup as build } from '../support/built.ts'
import type { FloodOptions, FloodResult } from './flood.ts'
import { type Question, questionsOf } from './mix.ts'
import { forgetPeak, mebibytes, usageOf } from './usage.ts'

/*
 * Measures one API process under ten times the load that it can serve. It must answer as much as it can, reject the
 * rest with Retry-After, keep its memory below the limit, and recover within seconds.
 *
 *   npm run load                 LOAD_SECONDS=60: how long the flood lasts
 */

const SECONDS = Number(process.env.LOAD_SECONDS ?? 60)
const TIMES = 10

/** Clients of the closed loop, each of which sends its next request after an answer. */
const CALLERS = 64
const CAPACITY_SECONDS = 10

/** Connections of the flood. */
const CONNECTIONS = 2_000

/** The targets. Memory: the process at rest, its response cache, and 100 KiB per connection. */
const RECOVERED_WITHIN_S = 5
const PEAK_ABOVE_REST = 67_108_864 + CONNECTIONS * 102_400

const run = promisify(execFile)
const autocannon = createRequire(import.meta.url).resolve('autocannon')
const flooding = fileURLToPath(new URL('./flood.ts', import.meta.url))

const Capacity = z.object({
  '2xx': z.int().positive(),
  non2xx: z.literal(0),
  errors: z.literal(0),
  timeouts: z.literal(0),
  duration: z.number().positive(),
  latency: z.object({ p99: z.number() }),
})

/** The closed loop of a load generator that reads its requests from an HTTP archive. */
const capacityOf = async (url: string, questions: readonly Question[]) => {
  const entries = questions.map(({ method, path, body }) => ({
    request: {
      method,
      url: `${url}${path}`,
      headers: body === undefined ? [] : [{ name: 'content-type', value: 'application/json' }],
      ...(body && { postData: { mimeType: 'application/json', text: JSON.stringify(body) } }),
    },
  }))
  const folder = await mkdtemp(join(tmpdir(), 'fx-load-'))
  try {
    const archive = join(folder, 'mix.har')
    await writeFile(archive, JSON.stringify({ log: { entries } }))
    const load = ['-j', '-c', String(CALLERS), '-d', String(CAPACITY_SECONDS), '--har', archive, url]
    const { stdout } = await run(process.execPath, [autocannon, ...load])
    const result = Capacity.parse(JSON.parse(stdout))
    return { perSecond: result['2xx'] / result.duration, p99: result.latency.p99 }
  } finally {
    await rm(folder, { recursive: true })
  }
}

const Flood: z.ZodType<FloodResult> = z.object({
  ...{ due: z.int(), unsent: z.int(), accepted: z.int(), shed: z.int(), untold: z.int() },
  ...{ others: z.record(z.string(), z.int()), broken: z.int(), unanswered: z.int() },
  ...{ acceptedMs: z.array(z.number()), shedMs: z.array(z.number()) },
})

const flood = async (options: FloodOptions): Promise<FloodResult> => {
  const { stdout } = await run(process.execPath, ['--import', 'tsx', flooding, JSON.stringify(options)], {
    maxBuffer: 2 ** 30,
  })
  return Flood.parse(JSON.parse(stdout))
}

const ms = (value: number): string => `${value.toFixed(0)} ms`

const closers = createClosers()
try {
  await build()
  const store = closers.add('PostgreSQL', await openStore(), (it) => it.close())
  const chains = closers.add('chains', await openChains(1), (it) => it.close())
  const index = closers.add('index', await openIndex({ store, chains, seed: 1 }), (it) => it.close())
  const { traffic } = chains
  for (let at = 0; at < 10; at += 1) await traffic.mine(10)
  await index.start('worker')
  const api = await startApi(index)
  const { pid } = api.process
  const quiet = new AbortController()
  const living = traffic.run({ everyMs: 2_000, perSecond: 1, signal: quiet.signal })
  closers.add('traffic', quiet, (it) => {
    it.abort()
    return living
  })
  const wallet = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
  const questions = questionsOf({ chainId: chains.chain.chainId, eventId: 1, wallet })
  const probe = questions[0]?.path ?? ''

  const { url } = api
  await capacityOf(url, questions)
  const capacity = await capacityOf(url, questions)
  console.log(
    `node ${process.version}, ${cpus().length} x ${cpus()[0]?.model}; one process of the API, and the load on the same machine`,
  )
  console.log(
    `capacity: ${capacity.perSecond.toFixed(0)} requests a second of ${CALLERS} callers, p99 ${ms(capacity.p99)}`,
  )

  /** Sends single requests one after another, like one client. */
  const sample = async (times: number): Promise<{ readonly good: boolean; readonly p99: number }> => {
    const seen = []
    for (let at = 0; at < times; at += 1) {
      seen.push(await api.get(probe))
      await sleep(10)
    }
    return {
      good: seen.every(({ status }) => status === 200),
      p99: quantile(
        seen.map(({ took }) => took),
        0.99,
      ),
    }
  }
  await sleep(2_000)
  const before = await sample(200)
  const rest = usageOf(pid).rssBytes
  forgetPeak(pid)

  const perSecond = Math.round(capacity.perSecond * TIMES)
  const over = new AbortController()
  const beats: number[] = []
  const beating = (async () => {
    for (; !over.signal.aborted; await sleep(100)) beats.push((await api.get('/livez')).took)
  })()
  const started = performance.now()
  const result = await flood({ url, questions, perSecond, seconds: SECONDS, connections: CONNECTIONS })
  const ended = performance.now()
  over.abort()
  let recovered = Number.POSITIVE_INFINITY
  while (performance.now() - ended < 60_000) {
    const at = performance.now()
    const now = await sample(20)
    if (!now.good || now.p99 > Math.max(50, 2 * before.p99)) continue
    recovered = (at - ended) / 1_000
    break
  }
  await beating
  const again = await capacityOf(url, questions)
  const { peakBytes } = usageOf(pid)

  const lasted = Math.min(SECONDS, (ended - started) / 1_000)
  const { due, unsent, accepted, shed, untold, broken, unanswered, acceptedMs, shedMs } = result
  const others = Object.entries(result.others).map(([status, times]) => `${times} of ${status}`)
  const rate = (count: number): string => `${(count / lasted).toFixed(0)}/s`
  console.log(`flood: ${TIMES} x that for ${SECONDS} s on up to ${CONNECTIONS} connections`)
  console.log(
    `  due ${rate(due)}, of which ${rate(unsent)} found all connections waiting; accepted ${rate(accepted)}, shed ${rate(shed)} (${untold} without Retry-After), other answers: ${others.join(', ') || 'none'}, connections broken ${broken}, never answered ${unanswered}`,
  )
  console.log(
    `  p50 and p99 of the accepted ${ms(quantile(acceptedMs, 0.5))} and ${ms(quantile(acceptedMs, 0.99))}, of the shed ${ms(quantile(shedMs, 0.5))} and ${ms(quantile(shedMs, 0.99))}; /livez p99 ${ms(quantile(beats, 0.99))}, longest ${ms(Math.max(...beats))}`,
  )
  console.log(`  memory at rest ${mebibytes(rest)}, peak ${mebibytes(peakBytes)}`)
  console.log(`after: as before in ${recovered.toFixed(1)} s, then ${again.perSecond.toFixed(0)} requests a second`)
  const targetsMet = {
    'answers 0.4 of its capacity at least and sheds the rest with Retry-After':
      accepted / lasted >= 0.4 * capacity.perSecond && shed > 0 && untold === 0,
    'nothing else fails': others.length === 0 && broken === 0 && unanswered === 0,
    [`recovers within ${RECOVERED_WITHIN_S} s`]: recovered <= RECOVERED_WITHIN_S,
    [`peak within ${mebibytes(PEAK_ABOVE_REST)} of rest`]: peakBytes - rest <= PEAK_ABOVE_REST,
  }
  for (const [target, met] of Object.entries(targetsMet)) {
    console.log(`target: ${target}: ${met ? 'met' : 'MISSED'}`)
    if (!met) process.exitCode = 1
  }
} finally {
  await closers.close()
}
