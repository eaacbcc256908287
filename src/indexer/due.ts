/**
 * Keeps the time of something that is done at intervals. It is due at first. `now` is a clock in milliseconds.
 *
 * @example
 * const audit = createDue(() => performance.now())
 * if (audit.is(60_000)) audit.done()
 */
export const createDue = (now: () => number) => {
  let last = Number.NEGATIVE_INFINITY
  return {
    /** Whether at least so many milliseconds have passed since `done`. */
    is: (everyMs: number): boolean => now() - last >= everyMs,
    done: (): void => {
      last = now()
    },
  }
}
