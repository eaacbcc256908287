import { expect, inject, test } from 'vitest'
import { byForm } from '../support/repetitions.ts'
import { claimsOf } from './abuse/claims.ts'
import { abuse } from './abuse/session.ts'

const SECONDS = byForm(4, 60)

test(
  'API, worker and engine survive every attack at once: none ends, answers 500 or a long error, or holds 400 MB',
  async () => {
    const store = { server: inject('postgresUrl'), template: inject('templateDatabase') }
    const claims = claimsOf(await abuse({ store, seconds: SECONDS, pace: 0.5 }), 'lenient')
    for (const { claim, measured } of claims) console.log(`${claim}: ${measured}`)
    expect(claims.filter(({ isMet }) => !isMet)).toEqual([])
  },
  byForm(120_000, 300_000),
)
