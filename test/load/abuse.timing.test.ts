import { expect, inject, test } from 'vitest'
import { type Claim, claimsOf } from './abuse/claims.ts'
import { abuse } from './abuse/session.ts'
import { unfairNames } from './abuse/unfair-callers.ts'
import { unfairClaimsOf } from './abuse/unfair-claims.ts'
import { runUnfairCallers } from './abuse/unfair-session.ts'

const SECONDS = 60

/** Pure tests notice what the service does wrong. This one takes long, for what only its processes show. */
const longTest = test.runIf(inject('form') === 'long')

/** Generous limits: the test runs next to others, and does not measure the speed of the machine. */
const PATIENT = { MAX_EVENT_LOOP_DELAY_MS: '0', NODE_TIMEOUT_MS: '30000', API_QUERY_TIMEOUT_MS: '10000' }

const openStore = () => ({ server: inject('postgresUrl'), template: inject('templateDatabase') })

const judge = (claims: readonly Claim[]): void => {
  for (const { claim, measured } of claims) console.log(`${claim}: ${measured}`)
  expect(claims.filter(({ isMet }) => !isMet)).toEqual([])
}

longTest(
  'API, worker and engine survive every attack at once: none ends, answers 500 or a long error, or holds 400 MB',
  async () => {
    judge(claimsOf(await abuse({ store: openStore(), seconds: SECONDS, pace: 0.5 }), 'lenient'))
  },
  300_000,
)

longTest(
  'every request of an honest caller succeeds next to a gas burner, heavy traces, refused streams and 40 expensive reads',
  async () => {
    const claims: Claim[] = []
    await runUnfairCallers({
      ...{ store: openStore(), size: { wallets: 20, rows: 5, reverted: 8 }, names: unfairNames },
      // Next to a fast node a burner costs little: this form tests that the program runs.
      ...{ gasPerSecond: 1_000_000_000, pairs: 1, phaseMs: 1_500 },
      // With few streams, the first refusals come early even from a slow attacker.
      settings: { ...PATIENT, MAX_STREAMS_PER_CLIENT: '5' },
      onRow: (row) => claims.push(...unfairClaimsOf(row, 'lenient')),
    })
    judge(claims)
  },
  300_000,
)
