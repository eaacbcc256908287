import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { onSignals } from '../../src/lib/signals.ts'

let seen: string[] = []
let ignore = (): void => {}
beforeEach(() => {
  vi.useFakeTimers()
  vi.advanceTimersByTime(10_000)
  seen = []
  ignore = onSignals({
    stop: (signal) => void seen.push(`stop ${signal}`),
    force: (signal) => void seen.push(`force ${signal}`),
  })
})
afterEach(() => {
  ignore()
  vi.useRealTimers()
})

test.each(['SIGINT', 'SIGTERM'] as const)('%s stops once, and a later signal forces', (name) => {
  process.emit(name, name)
  expect(seen).toEqual([`stop ${name}`])
  // npm forwards the same signal again.
  vi.advanceTimersByTime(499)
  process.emit(name, name)
  expect(seen).toEqual([`stop ${name}`])
  vi.advanceTimersByTime(1)
  process.emit('SIGTERM', 'SIGTERM')
  process.emit('SIGINT', 'SIGINT')
  expect(seen).toEqual([`stop ${name}`, 'force SIGTERM', 'force SIGINT'])
})

test('signals are ignored again after the returned function was called', () => {
  const before = (['SIGINT', 'SIGTERM'] as const).map((name) => process.listenerCount(name))
  ignore()
  const after = (['SIGINT', 'SIGTERM'] as const).map((name) => process.listenerCount(name))
  expect(after).toEqual(before.map((count) => count - 1))
})
