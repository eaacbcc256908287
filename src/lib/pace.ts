import { sleep } from './lifecycle.ts'

/**
 * Resolves at most once every `everyMs`: the first call at once, each later one when it is due or `signal` aborts.
 *
 * @example
 * const pace = createPace(1_000)
 * for (;;) { await pace(signal); await work() }
 */
export const createPace = (everyMs: number) => {
  let due = 0
  return async (signal: AbortSignal): Promise<void> => {
    await sleep(Math.max(0, due - performance.now()), signal)
    due = performance.now() + everyMs
  }
}
