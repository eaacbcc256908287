import { expect, test } from 'vitest'
import { checkAttempts, checkMs } from '../../client/src/numbers.ts'

test.each([
  [
    'checkMs',
    (value: number | undefined) => checkMs('waitMs', value),
    [1, 1.5, 2_147_483_647, undefined],
    [0, 0.9, 2_147_483_648, Number.NaN],
  ],
  ['checkAttempts', checkAttempts, [1, 1_000, undefined], [0, 1.5, 1_001, Number.POSITIVE_INFINITY]],
] as const)('%s takes both ends of its range and nothing beyond', (_, check, taken, refused) => {
  for (const value of taken) expect(() => check(value)).not.toThrow()
  for (const value of refused) expect(() => check(value)).toThrow(`not ${value}`)
})
