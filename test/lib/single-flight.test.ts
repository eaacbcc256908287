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

test('a run that ends leaves the runs of other keys, and one that fails is shared', async () => {
  const once = createSingleFlight<number>()
  let end = (_: number): void => {}
  const first = once('a', () => new Promise((resolve) => (end = resolve)))
  await once('b', async () => 1)
  const second = once('a', async () => 2)
  end(3)
  expect(await Promise.all([first, second])).toEqual([3, 3])
  const fails = (): Promise<number> => Promise.reject(new Error('no'))
  const both = await Promise.allSettled([once('a', fails), once('a', async () => 4)])
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
})
