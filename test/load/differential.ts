import { createClosers } from '../../src/lib/lifecycle.ts'
import { openStore } from '../faults/rig.ts'
import { setup as build } from '../support/built.ts'
import { differential } from './differential/session.ts'

/*
 * Compares every answer of an API that caches with that of one that does not, on one database and the same nodes, while
 * the chains mine.
 *
 *   npm run differential         DIFFERENTIAL_SECONDS=600: how long; DIFFERENTIAL_SEED=1
 */

const SECONDS = Number(process.env.DIFFERENTIAL_SECONDS ?? 600)
const SEED = Number(process.env.DIFFERENTIAL_SEED ?? 1)
if (!(SECONDS >= 1 && SECONDS <= 86_400)) throw new RangeError('DIFFERENTIAL_SECONDS is from 1 to 86400')

const closers = createClosers()
try {
  await build()
  const store = closers.add('PostgreSQL', await openStore(), (it) => it.close())
  const { silent, unexplained, ...found } = await differential({
    store,
    seconds: SECONDS,
    seed: SEED,
    onReport: (seconds, { requests, comparisons, explained, unexplained: left }) =>
      console.log(
        `${seconds} s: ${requests} requests, ${comparisons} comparisons, ${explained.place + explained.silent} differences explained, ${left.length} not`,
      ),
  })
  console.log(JSON.stringify(found, null, 2))
  for (const text of silent) console.log(`agreed when asked again, at the same block and tag: ${text}`)
  for (const text of unexplained) console.log(`UNEXPLAINED: ${text}`)
  if (unexplained.length > 0 || found.comparisons === 0) process.exitCode = 1
} finally {
  await closers.close()
}
