import { afterEach, expect, test, vi } from 'vitest'
import { createReconnectOnError } from '../../src/lib/redis.ts'

afterEach(() => void vi.useRealTimers())

test('a connection to a Redis that became read-only is replaced, at most once a second', () => {
  vi.useFakeTimers()
  const reconnects = createReconnectOnError()
  const readOnly = new Error("READONLY You can't write against a read only replica.")
  expect(reconnects(new Error('ERR unknown command'))).toBe(false)
  expect(reconnects(readOnly)).toBe(true)
  vi.advanceTimersByTime(999)
  expect(reconnects(readOnly)).toBe(false)
  vi.advanceTimersByTime(1)
  expect(reconnects(readOnly)).toBe(true)
  expect(reconnects(readOnly)).toBe(false)
})
