import { expect, test } from 'vitest'
import { createSingleFlight } from '../../src/lib/single-flight.ts'

test('overlapping calls of a key share one run, later calls run again, and a failure is not cached', async () => {
  const once = createSingleFlight<number>()
  let runs = 0
  const run = async () => ++runs
  expect(await Promise.all([once('a', run), once('a', run), once('b', run)])).toEqual([1, 1, 2])
  expect(await once('a', run)).toBe(3)
  await expect(once('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(await once('a', run)).toBe(4)
})
