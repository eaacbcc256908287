import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { untilAborted, withTimeout } from '../../src/lib/with-timeout.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** The outcome of a promise once microtasks ran: its value, the message of its error, or undefined. */
const outcomeOf = (promise: Promise<unknown>): { current: unknown } => {
  const outcome: { current: unknown } = { current: undefined }
  promise.then(
    (value) => {
      outcome.current = value
    },
    (fault: Error) => {
      outcome.current = fault.message
    },
  )
  return outcome
}

const never = (): Promise<never> => new Promise(() => {})
const late = (): Error => new Error('late')
const settle = () => vi.advanceTimersByTimeAsync(0)

test('work that ends before an abort gives its outcome, and leaves no listener', async () => {
  const { signal } = new AbortController()
  expect(await untilAborted(Promise.resolve(1), signal)).toBe(1)
  await expect(untilAborted(Promise.reject(new Error('no')), signal)).rejects.toThrow('no')
  await settle()
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('work is left with the reason of its signal, which aborts meanwhile or before', async () => {
  const controller = new AbortController()
  const outcome = outcomeOf(untilAborted(never(), controller.signal))
  await settle()
  expect(outcome.current).toBeUndefined()
  controller.abort(new Error('gone'))
  await settle()
  expect(outcome.current).toBe('gone')
  const after = outcomeOf(untilAborted(never(), controller.signal))
  await settle()
  expect(after.current).toBe('gone')
})

test('work is left at its time-out and not before, and its signal has the same error', async () => {
  let given: AbortSignal | undefined
  const work = (signal: AbortSignal): Promise<never> => {
    given = signal
    return never()
  }
  const outcome = outcomeOf(withTimeout(work, { ms: 100, late }))
  await vi.advanceTimersByTimeAsync(99)
  expect([outcome.current, given?.aborted]).toEqual([undefined, false])
  await vi.advanceTimersByTimeAsync(1)
  expect([outcome.current, given?.reason.message]).toEqual(['late', 'late'])
})

test.each([
  ['succeeds', () => Promise.resolve('done'), 'done'],
  ['fails', () => Promise.reject(new Error('no')), 'no'],
])('work with a time-out that %s leaves neither timer nor listener', async (_, work, expected) => {
  const { signal } = new AbortController()
  const outcome = outcomeOf(withTimeout(work, { ms: 100, late, signal }))
  await settle()
  expect(outcome.current).toBe(expected)
  expect([vi.getTimerCount(), getEventListeners(signal, 'abort')]).toEqual([0, []])
})

test.each(['before', 'meanwhile'])(
  'a signal that aborts %s ends work with its reason, and no timer is left',
  async (when) => {
    const controller = new AbortController()
    if (when === 'before') controller.abort(new Error('gone'))
    let given: AbortSignal | undefined
    const work = (signal: AbortSignal): Promise<never> => {
      given = signal
      return never()
    }
    const outcome = outcomeOf(withTimeout(work, { ms: 100, late, signal: controller.signal }))
    if (when === 'meanwhile') controller.abort(new Error('gone'))
    await settle()
    expect([outcome.current, given?.reason?.message, vi.getTimerCount()]).toEqual(['gone', 'gone', 0])
  },
)

test('the signal of work aborts at the time-out also when the caller has a signal', async () => {
  let given: AbortSignal | undefined
  const work = (signal: AbortSignal): Promise<never> => {
    given = signal
    return never()
  }
  const outcome = outcomeOf(withTimeout(work, { ms: 100, late, signal: new AbortController().signal }))
  await vi.advanceTimersByTimeAsync(100)
  expect([outcome.current, given?.reason?.message]).toEqual(['late', 'late'])
})
