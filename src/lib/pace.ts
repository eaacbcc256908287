import { sleep } from './lifecycle.ts'

/**
 * Lets a caller through once in `everyMs`: the first at once, the next ones when it is time or `signal` aborts.
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
