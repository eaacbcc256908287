import { getEventListeners } from 'node:events'
import { afterEach, expect, test, vi } from 'vitest'
import { createClosers, sleep } from '../../src/lib/lifecycle.ts'

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

test('closers run once, in reverse order, and all of them run even if one fails', async () => {
  const closed: string[] = []
  const closers = createClosers()
  closers.add('first', 1, () => closed.push('first'))
  const stuck = new Error('stuck')
  closers.add('second', 2, () => {
    throw stuck
  })
  closers.add('third', 3, () => closed.push('third'))
  await expect(closers.close()).rejects.toThrow('closing second failed')
  const again = closers.close()
  await expect(again).rejects.toThrow('closing second failed')
  await expect(again).rejects.toMatchObject({ errors: [{ cause: stuck }] })
  expect(closed).toEqual(['third', 'first'])
})

test('a closer ends before the next one begins, and each gets its resource', async () => {
  const steps: string[] = []
  const closers = createClosers()
  expect(closers.add('pool', 'pool', (it) => void steps.push(`closes ${it}`))).toBe('pool')
  closers.add('server', 'server', async (it) => {
    await Promise.resolve()
    steps.push(`closed ${it}`)
  })
  await closers.close()
  expect(steps).toEqual(['closed server', 'closes pool'])
})

test('sleep ends at once when its signal aborts, before or during the sleep', async () => {
  const controller = new AbortController()
  const sleeping = sleep(60_000, controller.signal)
  controller.abort()
  await sleeping
  await sleep(60_000, controller.signal)
})

test('sleep leaves neither timer nor listener, whether it ends or is aborted', async () => {
  vi.useFakeTimers()
  const controller = new AbortController()
  const { signal } = controller
  const slept = sleep(100, signal)
  await vi.advanceTimersByTimeAsync(100)
  await slept
  expect([vi.getTimerCount(), getEventListeners(signal, 'abort')]).toEqual([0, []])
  const left = sleep(100, signal)
  controller.abort()
  await left
  expect([vi.getTimerCount(), getEventListeners(signal, 'abort')]).toEqual([0, []])
})
