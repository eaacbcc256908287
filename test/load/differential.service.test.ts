import { expect, inject, test } from 'vitest'
import { byForm, seed } from '../support/repetitions.ts'
import { isComplete } from './differential/report.ts'
import { differential } from './differential/session.ts'

const SECONDS = byForm(4, 120)

test(
  'an API that caches answers as one that does not, body, headers and 304 alike, while two chains live on',
  async () => {
    const store = { server: inject('postgresUrl'), template: inject('templateDatabase') }
    const report = await differential({ store, seconds: SECONDS, seed })
    expect(report.unexplained).toEqual([])
    expect(isComplete(report), JSON.stringify(report)).toBe(true)
  },
  byForm(180_000, 600_000),
)
