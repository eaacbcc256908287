import { expect, test } from 'vitest'
import { createConcurrencyLimit } from '../../src/lib/concurrency-limit.ts'

test('tasks beyond the limit wait in order, and are refused once the queue is full', async () => {
  const limited = createConcurrencyLimit({ atOnce: 2, waiting: 2, refuse: () => new Error('overloaded') })
  const begun: number[] = []
  const ends: ((fault?: Error) => void)[] = []
  const work = (name: number): Promise<number> =>
    limited(() => {
      begun.push(name)
      return new Promise((resolve, reject) => ends.push((fault) => (fault ? reject(fault) : resolve(name))))
    })
  const all = [1, 2, 3, 4].map(work)
  await expect(work(5)).rejects.toThrow('overloaded')
  expect(begun).toEqual([1, 2])
  ends[0]?.()
  expect(await all[0]).toBe(1)
  expect(begun).toEqual([1, 2, 3])
  // A failed task frees its slot too.
  ends[1]?.(new Error('failed'))
  await expect(all[1]).rejects.toThrow('failed')
  expect(begun).toEqual([1, 2, 3, 4])
  for (const end of ends.slice(2)) end()
  expect(await Promise.all(all.slice(2))).toEqual([3, 4])
  const again = work(6)
  expect(begun).toContain(6)
  ends[4]?.()
  expect(await again).toBe(6)
})

test('a task whose signal aborts leaves the queue, and the next one takes its place', async () => {
  const limited = createConcurrencyLimit({ atOnce: 1, waiting: 2, refuse: () => new Error('overloaded') })
  let end = (): void => {}
  const first = limited(() => new Promise<void>((resolve) => (end = resolve)))
  const controller = new AbortController()
  let hasRun = false
  const gone = limited(async () => {
    hasRun = true
  }, controller.signal)
  const second = limited(async () => 'second')
  await expect(limited(async () => 'third')).rejects.toThrow('overloaded')
  controller.abort(new Error('gone'))
  await expect(gone).rejects.toThrow('gone')
  const third = limited(async () => 'third')
  end()
  expect(await Promise.all([first, second, third])).toEqual([undefined, 'second', 'third'])
  expect(hasRun).toBe(false)
  await expect(limited(async () => 'late', controller.signal)).rejects.toThrow('gone')
})
