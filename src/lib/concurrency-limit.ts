/** Runs a task once a slot is free, or throws. */
export type ConcurrencyLimit = <T>(run: () => Promise<T>) => Promise<T>

/**
 * Runs at most `atOnce` tasks concurrently; up to `waiting` more wait in order. A further call throws the error of
 * `refuse`. There is no time-out: each task must end by itself.
 *
 * @example
 * const limited = createConcurrencyLimit({ atOnce: 16, waiting: 256, refuse: () => unavailable('overloaded, retry after 1 s') })
 */
export const createConcurrencyLimit = (options: {
  readonly atOnce: number
  readonly waiting: number
  readonly refuse: () => Error
}): ConcurrencyLimit => {
  const queue: (() => void)[] = []
  let running = 0
  return async (run) => {
    if (running < options.atOnce) running += 1
    else if (queue.length < options.waiting) await new Promise<void>((begin) => queue.push(begin))
    else throw options.refuse()
    try {
      return await run()
    } finally {
      // The next task takes over the slot.
      const next = queue.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }
}
