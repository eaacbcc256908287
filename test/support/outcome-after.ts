import { vi } from 'vitest'

/** The value of a promise, or its error's message, after so many milliseconds of fake timers; undefined if pending. */
export const outcomeAfter = async <T>(ms: number, promise: Promise<T>): Promise<T | string | undefined> => {
  let outcome: T | string | undefined
  promise.then(
    (value) => {
      outcome = value
    },
    (error: Error) => {
      outcome = error.message
    },
  )
  await vi.advanceTimersByTimeAsync(ms)
  return outcome
}
