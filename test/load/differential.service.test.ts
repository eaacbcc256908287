import { expect, inject, test } from 'vitest'
import { differential } from './differential/session.ts'

const SECONDS = 20

test('an API that caches answers as one that does not, body, headers and 304 alike, while two chains live on', async () => {
  const store = { server: inject('postgresUrl'), template: inject('templateDatabase') }
  const { comparisons, answers, conditional, chain, unexplained } = await differential({
    store,
    seconds: SECONDS,
    seed: 1,
  })
  expect(unexplained).toEqual([])
  expect(comparisons).toBeGreaterThan(20)
  for (const seen of [answers.kept, answers[304], conditional.verified, chain.checked]) expect(seen).toBeGreaterThan(0)
}, 180_000)
