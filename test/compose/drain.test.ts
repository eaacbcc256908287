import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createDrain } from '../../src/compose/drain.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const open = (ms: number) => {
  const lines: string[] = []
  const drain = createDrain({ ms, log: pino({ base: null }, { write: (line) => lines.push(line) }) })
  return { drain, lines }
}

test('a drain reports at once that it began, and ends after its time', async () => {
  const { drain, lines } = open(5_000)
  expect(drain.signal.aborted).toBe(false)
  let isOver = false
  void drain.begin().then(() => {
    isOver = true
  })
  expect(drain.signal.aborted).toBe(true)
  await vi.advanceTimersByTimeAsync(4_999)
  expect([isOver, lines.length]).toEqual([false, 1])
  await vi.advanceTimersByTimeAsync(1)
  expect(isOver).toBe(true)
})

test('a drain without a time reports that it began, and logs nothing', async () => {
  const { drain, lines } = open(0)
  await drain.begin()
  expect([drain.signal.aborted, lines, vi.getTimerCount()]).toEqual([true, [], 0])
})
