import { expect, inject, test } from 'vitest'
import { seed } from '../support/repetitions.ts'
import { isComplete } from './differential/report.ts'
import { differential } from './differential/session.ts'

const SECONDS = 120

// The tests of test/api/response-cache notice what the cache decides wrong. This one looks for what they lack.
test.runIf(inject('form') === 'long')(
  'an API that caches answers as one that does not, body, headers and 304 alike, while two chains live on',
  async () => {
    const store = { server: inject('postgresUrl'), template: inject('templateDatabase') }
    const report = await differential({ store, seconds: SECONDS, seed })
    expect(report.unexplained).toEqual([])
    expect(isComplete(report), JSON.stringify(report)).toBe(true)
  },
  600_000,
)
