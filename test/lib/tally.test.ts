import { expect, test } from 'vitest'
import { createTally } from '../../src/lib/tally.ts'

test('a tally has a sum for each key, and forgets keys whose sum is zero', () => {
  const tally = createTally<string>()
  const after = (key: string, amount: number) => {
    tally.add(key, amount)
    return [tally.of('a'), tally.of('b'), tally.size()]
  }
  expect(after('a', 0)).toEqual([0, 0, 0])
  expect(after('a', 2)).toEqual([2, 0, 1])
  expect(after('b', 1)).toEqual([2, 1, 2])
  expect(after('a', 3)).toEqual([5, 1, 2])
  expect(after('b', -1)).toEqual([5, 0, 1])
  expect(after('a', -4)).toEqual([1, 0, 1])
  expect(after('a', -9)).toEqual([0, 0, 0])
})
