import { cpus } from 'node:os'
import { createClosers } from '../../src/lib/lifecycle.ts'
import { openStore } from '../faults/rig.ts'
import { setup as build } from '../support/built.ts'
import { type Claim, claimsOf } from './abuse/claims.ts'
import { abuse, type Seen } from './abuse/session.ts'
import { unfairNames } from './abuse/unfair-callers.ts'
import { describeRow, unfairClaimsOf } from './abuse/unfair-claims.ts'
import { runUnfairCallers } from './abuse/unfair-session.ts'

/*
 * Attacks worker, API and engine with every series at once, and then API and worker with one unfair caller after the
 * other. docs/performance.md has the figures.
 *
 *   npm run abuse                ABUSE_SECONDS=600: how long the attack of all series lasts; an unfair caller takes a tenth
 *                                ABUSE_ROWS=gas-burner,all-at-once: only these
 */

const SECONDS = Number(process.env.ABUSE_SECONDS ?? 600)
if (!(SECONDS >= 1 && SECONDS <= 86_400)) throw new RangeError('ABUSE_SECONDS is from 1 to 86400')

const ALL_SERIES = 'all-at-once'
const known = [ALL_SERIES, ...unfairNames]
const rows = process.env.ABUSE_ROWS?.split(',') ?? known
const unknown = rows.filter((name) => !known.includes(name))
if (unknown.length > 0) throw new RangeError(`ABUSE_ROWS has ${unknown}: expected some of ${known}`)

/** An unfair caller takes this part of the time, in pairs of an idle phase and a phase of the attack. */
const PART = 1 / 10
const PHASE_MS = 5_000

/** The chain of the unfair callers, and the speed of its node, which a call that uses all gas keeps busy for 3 s. */
const SIZE = { wallets: 100, rows: 50, reverted: 160 }
const GAS_PER_SECOND = 20_000_000

const sum = (counts: Readonly<Record<string, number>>): number => Object.values(counts).reduce((a, b) => a + b, 0)

const progress = (seconds: number, { attacks, measured: { times, memory }, exits }: Seen): void => {
  const sent = Object.values(attacks.series).reduce((total, counts) => total + sum(counts), 0)
  const worst = Object.entries(times).map(([name, { worstMs }]) => `${name} ${worstMs.toFixed(0)} ms`)
  const held = Object.entries(memory).map(([name, bytes]) => `${name} ${(bytes / 1e6).toFixed(0)} MB`)
  say(
    `${seconds} s: ${sent} attacks, ${attacks.faults.length} wrong answers, ${exits.length} processes ended; worst ${worst.join(', ')}; most memory ${held.join(', ')}`,
  )
}

/** The longest time without a line, in milliseconds. */
const SILENT_MS = 4_500

let [lastLine, lastAt] = ['starting', performance.now()]
const say = (line: string): void => {
  ;[lastLine, lastAt] = [line, performance.now()]
  console.log(line)
}
const ticking = setInterval(() => {
  if (performance.now() - lastAt < SILENT_MS) return
  lastAt = performance.now()
  console.log(`${Math.round(lastAt / 1_000)} s; last: ${lastLine.slice(0, 100)}`)
}, 500)

const closers = createClosers()
try {
  await build()
  const store = closers.add('PostgreSQL', await openStore(), (it) => it.close())
  say(`node ${process.version}, ${cpus().length} x ${cpus()[0]?.model}; ${SECONDS} s, attackers at niceness 10`)
  const judge = ({ claim, measured, target, isMet }: Claim): void => {
    say(`claim: ${claim}: ${measured}; target ${target}: ${isMet ? 'met' : 'MISSED'}`)
    if (!isMet) process.exitCode = 1
  }
  if (rows.includes(ALL_SERIES)) {
    const seen = await abuse({ store, seconds: SECONDS, pace: 1, onReport: progress })
    for (const [series, counts] of Object.entries({ ...seen.attacks.series, 'node answers': seen.attacks.nodes }))
      say(
        `${series}: ${Object.entries(counts)
          .map(([name, times]) => `${times} x ${name}`)
          .join(', ')}`,
      )
    claimsOf(seen, 'strict').forEach(judge)
  }
  const names = unfairNames.filter((name) => rows.includes(name))
  if (names.length > 0) {
    const pairs = Math.max(1, Math.round((SECONDS * 1_000 * PART) / (2 * PHASE_MS)))
    await runUnfairCallers({
      ...{ store, size: SIZE, gasPerSecond: GAS_PER_SECOND, names, pairs, phaseMs: PHASE_MS },
      onProgress: say,
      onRow: (row) => {
        say(describeRow(row))
        unfairClaimsOf(row, 'strict').forEach(judge)
      },
    })
  }
} finally {
  await closers.close()
  clearInterval(ticking)
}
