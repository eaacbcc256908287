import fc from 'fast-check'
import { expect, test } from 'vitest'
import { backoffMs, isLogged } from '../../src/lib/backoff.ts'

test('a wait is between half of the doubled base and all of it, and never above the cap', () => {
  fc.assert(
    fc.property(
      fc.nat(60),
      fc.integer({ min: 1, max: 1_000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (attempt, base, random) => {
        const full = Math.min(5_000, base * 2 ** Math.min(attempt, 30))
        const wait = backoffMs(attempt, base, 5_000, () => random)
        expect(wait).toBeGreaterThanOrEqual(full / 2)
        expect(wait).toBeLessThanOrEqual(full)
      },
    ),
  )
})

test('a failure that lasts is logged at ever longer intervals', () => {
  const logged = Array.from({ length: 20 }, (_, times) => times).filter(isLogged)
  expect(logged).toEqual([1, 2, 4, 8, 16])
})

test.each([
  [0, 0, 50],
  [0, 1, 100],
  [1, 0.5, 150],
  [5, 1, 3_200],
  [6, 0, 2_500],
  [6, 1, 5_000],
  [2_000, 1, 5_000],
])('retry %i at the random number %d waits %i ms', (attempt, random, ms) => {
  expect(backoffMs(attempt, 100, 5_000, () => random)).toBe(ms)
})
