import { afterEach, expect, test, vi } from 'vitest'
import { createThrottle } from '../../src/compose/throttle.ts'

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

test('a throttle lets the first call pass at once, and each later one after its time since the one before', async () => {
  vi.useFakeTimers({ now: 5_000 })
  vi.spyOn(performance, 'now').mockImplementation(() => Date.now())
  const throttle = createThrottle(1_000)
  const controller = new AbortController()
  const passed: number[] = []
  const call = async (): Promise<void> => {
    await throttle(controller.signal)
    passed.push(Date.now())
  }
  void call()
  await vi.advanceTimersByTimeAsync(0)
  void call()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(passed).toEqual([5_000, 6_000])
  await vi.advanceTimersByTimeAsync(5_500)
  void call()
  await vi.advanceTimersByTimeAsync(0)
  // A late call moves the ones after it.
  void call()
  await vi.advanceTimersByTimeAsync(999)
  expect(passed).toEqual([5_000, 6_000, 11_500])
  await vi.advanceTimersByTimeAsync(1)
  void call()
  controller.abort()
  await vi.advanceTimersByTimeAsync(0)
  expect(passed).toEqual([5_000, 6_000, 11_500, 12_500, 12_500])
})
