import { expect, test } from 'vitest'
import { createClosers, sleep } from '../../src/lib/lifecycle.ts'

test('closers run once, in reverse order, and all of them run even if one fails', async () => {
  const closed: string[] = []
  const closers = createClosers()
  closers.add('first', 1, () => closed.push('first'))
  closers.add('second', 2, () => {
    throw new Error('stuck')
  })
  closers.add('third', 3, () => closed.push('third'))
  await expect(closers.close()).rejects.toThrow('closing second failed')
  await expect(closers.close()).rejects.toThrow('closing second failed')
  expect(closed).toEqual(['third', 'first'])
})

test('sleep ends at once when its signal aborts, before or during the sleep', async () => {
  const controller = new AbortController()
  const sleeping = sleep(60_000, controller.signal)
  controller.abort()
  await sleeping
  await sleep(60_000, controller.signal)
})
