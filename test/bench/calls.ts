import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { createClosers, sleep } from '../../src/lib/lifecycle.ts'
import { setup as build } from '../support/built.ts'
import { blockSeconds, idleIntervalMs, openDeployment } from './calls/deployment.ts'
import { emptyLatencies, Figures, type Latencies, type Phase } from './calls/figures.ts'
import { EXAMPLE_UNIT_PRICE } from './calls/prices.ts'
import { checkHealth, describeScenario, runBusy, runQuiet } from './calls/scenario.ts'
import { report } from './calls/tables.ts'
import { judge } from './calls/targets.ts'

/*
 * Counts the JSON-RPC calls of a whole deployment with default settings (two API processes, two workers, an engine, two
 * chains) by process, chain and method, and measures how soon a client sees its own transaction.
 *
 *   npm run bench:calls
 *
 *   --warm 30 --idle 60 --busy 60 --quiet 60   seconds of each phase. Quiet: transactions, but no other requests
 *   --json FILE          writes the raw figures
 *   --compare FILE       prints the figures of this file next to those of this run
 *   --show FILE          prints the figures of a file, without a run
 *   --unit-price 0.4     dollars for a million compute units
 *
 * Each item of a batch is a call, and bytes are those of bodies. Health checks run in all phases. Counts do not depend
 * on other work of the machine; times do. `IDLE_POLL_MS` of .env.example is the target of lists without a
 * wait. It exits with 1 when a target is missed.
 */

const { values } = parseArgs({
  options: {
    warm: { type: 'string', default: '30' },
    idle: { type: 'string', default: '60' },
    busy: { type: 'string', default: '60' },
    quiet: { type: 'string', default: '60' },
    json: { type: 'string' },
    compare: { type: 'string' },
    show: { type: 'string' },
    'unit-price': { type: 'string', default: String(EXAMPLE_UNIT_PRICE) },
  },
})

const numberOf = (name: 'warm' | 'idle' | 'busy' | 'quiet' | 'unit-price', least: number): number => {
  const value = Number(values[name])
  if (!(value >= least)) throw new RangeError(`--${name} is a number of at least ${least}`)
  return value
}
const seconds = {
  warm: numberOf('warm', 0),
  idle: numberOf('idle', 1),
  busy: numberOf('busy', 1),
  quiet: numberOf('quiet', 1),
}
const unitPrice = numberOf('unit-price', 0)
const readFigures = (path: string): Figures => Figures.parse(JSON.parse(readFileSync(path, 'utf8')))
const before = values.compare === undefined ? undefined : readFigures(values.compare)

/** After the last request, until the service polls as if nothing had happened. */
const CALM_SECONDS = 15

const say = (line: string): void => console.log(`${new Date().toISOString().slice(11, 19)} ${line}`)

const commitOf = (): string => {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty'], { stdio: 'pipe' }).toString().trim()
  } catch {
    return 'unknown'
  }
}

const closers = createClosers()
let interrupted = false
for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.once(name, () => {
    interrupted = true
    say(`${name}: ending all processes`)
    void closers.close().finally(() => process.exit(130))
  })

const measure = async (): Promise<Figures> => {
  await build()
  const { chains, urls, take } = await openDeployment(closers, say)
  const failures: string[] = []
  const fail = (what: string): void => {
    failures.push(what)
    if (!interrupted) say(`failed: ${what}`)
  }
  const latencies: Record<string, Latencies> = Object.fromEntries(
    chains.map(({ chain: { chainId } }) => [chainId, emptyLatencies()]),
  )
  const over = new AbortController()
  const health = checkHealth({ urls, signal: over.signal, fail })

  /** Counts while `work` runs, which ends when the signal aborts. */
  const phase = async (name: keyof typeof seconds, work: (signal: AbortSignal) => Promise<unknown>): Promise<Phase> => {
    say(`${name}, ${seconds[name]} s`)
    take(0)
    const began = performance.now()
    await work(AbortSignal.timeout(seconds[name] * 1_000))
    return take((performance.now() - began) / 1_000)
  }
  const onEach =
    (run: typeof runBusy) =>
    (signal: AbortSignal): Promise<unknown> =>
      Promise.all(
        chains.map(({ chain: { chainId }, trader }) =>
          run({ urls, trader, latencies: latencies[chainId] ?? emptyLatencies(), fail, signal }),
        ),
      )
  const rest = (signal: AbortSignal): Promise<void> => sleep(2 ** 30, signal)

  await phase('warm', rest)
  const idle = await phase('idle', rest)
  say(describeScenario())
  const busy = await phase('busy', onEach(runBusy))
  await sleep(CALM_SECONDS * 1_000)
  await phase('quiet', onEach(runQuiet))
  over.abort()
  await health
  return {
    commit: commitOf(),
    date: new Date().toISOString().slice(0, 16),
    machine: `node ${process.version}, ${cpus().length} x ${cpus()[0]?.model}, load ${loadavg()[0]?.toFixed(1)}`,
    ...{ idleIntervalMs: idleIntervalMs(), blockSeconds, idle, busy, latencies, failures },
  }
}

try {
  const figures = values.show === undefined ? await measure() : readFigures(values.show)
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(figures, null, 2)}\n`)
  console.log(`\n${report(figures, before, unitPrice)}`)
  if (judge(figures).some(({ met }) => !met)) process.exitCode = 1
} catch (fault) {
  if (!interrupted) throw fault
} finally {
  await closers.close()
}
