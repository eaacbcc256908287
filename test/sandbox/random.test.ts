import { expect, test } from 'vitest'
import { createRandom } from '../../src/sandbox/story/random.ts'

test('a seed gives the same integers, which reach both ends of their range and never go beyond', () => {
  const drawn = (seed: number) => {
    const random = createRandom(seed)
    return Array.from({ length: 200 }, () => random.int(3, 5))
  }
  expect(drawn(7)).toEqual(drawn(7))
  expect(drawn(7)).not.toEqual(drawn(8))
  expect([...new Set(drawn(7))].toSorted()).toEqual([3, 4, 5])
})

test('a choice is an item of the list, any of them, and an empty list has none', () => {
  const random = createRandom(7)
  const chosen = Array.from({ length: 100 }, () => random.pick(['a', 'b']))
  expect([...new Set(chosen)].toSorted()).toEqual(['a', 'b'])
  expect(() => random.pick([])).toThrow(RangeError)
})
