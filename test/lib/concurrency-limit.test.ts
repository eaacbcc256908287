import { getEventListeners } from 'node:events'
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

test('a client takes half of the slots, and the others wait for another client', async () => {
  const limited = createConcurrencyLimit({ atOnce: 4, waiting: 100, refuse: () => new Error('overloaded') })
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const run = (name: string, client?: string): Promise<void> => {
    const task = () => {
      begun.push(name)
      return new Promise<void>((resolve) => ends.set(name, resolve))
    }
    return limited(task, undefined, client)
  }
  const all = ['a1', 'a2', 'a3', 'a4'].map((name) => run(name, 'a'))
  expect(begun).toEqual(['a1', 'a2'])
  all.push(run('b1', 'b'), run('n1'), run('n2'), run('b2', 'b'), run('c1', 'c'))
  expect(begun).toEqual(['a1', 'a2', 'b1', 'n1'])
  // A slot of the client that waited first, which then has half of them again.
  ends.get('a1')?.()
  await all[0]
  expect(begun.slice(4)).toEqual(['a3'])
  // Slots of others: the client with half of them is passed over.
  for (const [nth, name] of [
    [4, 'b1'],
    [5, 'n1'],
  ] as const) {
    ends.get(name)?.()
    await all[nth]
  }
  expect(begun.slice(5)).toEqual(['n2', 'b2'])
  for (const name of ['a2', 'a3', 'n2', 'b2', 'a4', 'c1']) {
    await expect.poll(() => ends.has(name)).toBe(true)
    ends.get(name)?.()
  }
  await Promise.all(all)
  expect(begun.toSorted()).toEqual(['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1', 'n1', 'n2'])
})

test('tasks without a client may take all slots', async () => {
  const limited = createConcurrencyLimit({ atOnce: 4, waiting: 0, refuse: () => new Error('overloaded') })
  const ends: (() => void)[] = []
  const all = [1, 2, 3, 4].map(() => limited(() => new Promise<void>((resolve) => ends.push(resolve))))
  await expect(limited(async () => {})).rejects.toThrow('overloaded')
  for (const end of ends) end()
  await Promise.all(all)
})

test('a client with half of the slots is passed over also when only its tasks wait, and others begin', async () => {
  const limited = createConcurrencyLimit({ atOnce: 4, waiting: 9, refuse: () => new Error('overloaded') })
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const run = (name: string, client: string): Promise<void> =>
    limited(
      () => {
        begun.push(name)
        return new Promise<void>((resolve) => ends.set(name, resolve))
      },
      undefined,
      client,
    )
  const all = ['a1', 'a2', 'a3', 'b1', 'c1'].map((name) => run(name, name.slice(0, 1)))
  ends.get('b1')?.()
  await all[3]
  expect(begun).toEqual(['a1', 'a2', 'b1', 'c1'])
  all.push(run('d1', 'd'), run('d2', 'd'), run('e1', 'e'))
  expect(begun.slice(4)).toEqual(['d1'])
  ends.get('c1')?.()
  await all[4]
  expect(begun.slice(5)).toEqual(['d2'])
  for (const name of ['a1', 'a2', 'd1', 'd2', 'a3', 'e1']) {
    await expect.poll(() => ends.has(name), { timeout: 5_000 }).toBe(true)
    ends.get(name)?.()
  }
  await Promise.all(all)
})

test('a slot that was handed over counts as taken, and a signal keeps no listener of a task that began', async () => {
  const limited = createConcurrencyLimit({ atOnce: 1, waiting: 2, refuse: () => new Error('overloaded') })
  const { signal } = new AbortController()
  const begun: number[] = []
  const ends: (() => void)[] = []
  const run = (name: number): Promise<void> =>
    limited(() => {
      begun.push(name)
      return new Promise<void>((resolve) => ends.push(resolve))
    }, signal)
  const all = [run(1), run(2)]
  expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  ends[0]?.()
  await all[0]
  expect(getEventListeners(signal, 'abort')).toEqual([])
  all.push(run(3), run(4))
  expect(begun).toEqual([1, 2])
  await expect(run(5)).rejects.toThrow('overloaded')
  for (const nth of [1, 2, 3]) {
    ends[nth]?.()
    await all[nth]
  }
  expect(begun).toEqual([1, 2, 3, 4])
})
