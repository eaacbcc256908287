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

test('clients take turns, and a full queue rejects the newest task of the client with the most', async () => {
  const limited = createConcurrencyLimit({ atOnce: 1, waiting: 4, refuse: () => new Error('overloaded') })
  const begun: string[] = []
  const refused: string[] = []
  const ends: (() => void)[] = []
  const run = (name: string, client: string): Promise<void> => {
    const task = () => {
      begun.push(name)
      return new Promise<void>((resolve) => ends.push(resolve))
    }
    return limited(task, undefined, client).catch(() => void refused.push(name))
  }
  const all = ['a1', 'a2', 'a3', 'a4', 'a5'].map((name) => run(name, 'a'))
  all.push(run('b1', 'b'), run('c1', 'c'))
  // Both clients would then have as many.
  all.push(run('b2', 'b'), run('a6', 'a'))
  while (ends.length > 0) {
    ends.shift()?.()
    await new Promise(setImmediate)
  }
  await Promise.all(all)
  expect(refused.toSorted()).toEqual(['a4', 'a5', 'a6', 'b2'])
  expect(begun).toEqual(['a1', 'a2', 'b1', 'c1', 'a3'])
  // Nothing is left behind.
  expect(await limited(async () => 'free')).toBe('free')
})
