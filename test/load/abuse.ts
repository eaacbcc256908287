import { cpus } from 'node:os'
import { createClosers } from '../../src/lib/lifecycle.ts'
import { openStore } from '../faults/rig.ts'
import { setup as build } from '../support/built.ts'
import { claimsOf } from './abuse/claims.ts'
import { abuse, type Seen } from './abuse/session.ts'

/*
 * Attacks worker, API and engine with every series at once: docs/load.md.
 *
 *   npm run abuse                ABUSE_SECONDS=600: how long the attack lasts
 */

const SECONDS = Number(process.env.ABUSE_SECONDS ?? 600)
if (!(SECONDS >= 1 && SECONDS <= 86_400)) throw new RangeError('ABUSE_SECONDS is from 1 to 86400')

const sum = (counts: Readonly<Record<string, number>>): number => Object.values(counts).reduce((a, b) => a + b, 0)

const progress = (seconds: number, { attacks, measured: { times, memory }, exits }: Seen): void => {
  const sent = Object.values(attacks.series).reduce((total, counts) => total + sum(counts), 0)
  const worst = Object.entries(times).map(([name, { worstMs }]) => `${name} ${worstMs.toFixed(0)} ms`)
  const held = Object.entries(memory).map(([name, bytes]) => `${name} ${(bytes / 1e6).toFixed(0)} MB`)
  console.log(
    `${seconds} s: ${sent} attacks, ${attacks.faults.length} wrong answers, ${exits.length} processes ended; worst ${worst.join(', ')}; most memory ${held.join(', ')}`,
  )
}

const closers = createClosers()
try {
  await build()
  const store = closers.add('PostgreSQL', await openStore(), (it) => it.close())
  console.log(`node ${process.version}, ${cpus().length} x ${cpus()[0]?.model}; ${SECONDS} s, attackers at niceness 10`)
  const seen = await abuse({ store, seconds: SECONDS, pace: 1, onReport: progress })
  for (const [series, counts] of Object.entries({ ...seen.attacks.series, 'node answers': seen.attacks.nodes }))
    console.log(
      `${series}: ${Object.entries(counts)
        .map(([name, times]) => `${times} x ${name}`)
        .join(', ')}`,
    )
  for (const { claim, measured, target, isMet } of claimsOf(seen, 'strict')) {
    console.log(`claim: ${claim}: ${measured}; target ${target}: ${isMet ? 'met' : 'MISSED'}`)
    if (!isMet) process.exitCode = 1
  }
} finally {
  await closers.close()
}
