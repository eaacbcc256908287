import { sleep } from '../lib/lifecycle.ts'

/**
 * Resolves at most once every `everyMs`: the first call at once, each later one when it is due or `signal` aborts.
 *
 * @example
 * const throttle = createThrottle(1_000)
 * for (;;) { await throttle(signal); await work() }
 */
export const createThrottle = (everyMs: number) => {
  let due = 0
  return async (signal: AbortSignal): Promise<void> => {
    await sleep(Math.max(0, due - performance.now()), signal)
    due = performance.now() + everyMs
  }
}
