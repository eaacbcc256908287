import { expect, test } from 'vitest'
import { growth, leastOfEach, slope } from './trend.ts'

const line = (values: readonly number[]) => values.map((value, at) => ({ at, value }))

test('the trend of a line is its slope, even if one sample in five is wrong', () => {
  const points = line(Array.from({ length: 30 }, (_, at) => (at % 5 === 0 ? 10_000 : 100 + 3 * at)))
  expect(slope(points)).toBeCloseTo(3)
})

test('growth is measured in the second half, so the memory that a process takes at its start does not count', () => {
  const warmed = line([...Array.from({ length: 20 }, (_, at) => at * 50), ...Array.from({ length: 20 }, () => 1_000)])
  expect(growth(warmed)).toEqual({ by: 0, median: 1_000 })
  const leaking = line(Array.from({ length: 40 }, (_, at) => 500 + 2 * at))
  expect(growth(leaking)).toMatchObject({ by: 38, median: 559 - 1 })
})

test('the least of each few points in a row has what stays', () => {
  const points = [5, 3, 9, 4, 8].map((value, at) => ({ at, value }))
  expect(leastOfEach(2, points).map(({ at, value }) => [at, value])).toEqual([
    [1, 3],
    [3, 4],
    [4, 8],
  ])
})
