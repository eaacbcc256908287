/** Runs a task once a slot is free, or throws. When `signal` aborts before that, throws its reason. */
export type ConcurrencyLimit = <T>(run: () => Promise<T>, signal?: AbortSignal) => Promise<T>

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
  const queue = new Set<() => void>()
  let running = 0

  const turn = (signal: AbortSignal | undefined): Promise<void> =>
    new Promise((resolve, reject) => {
      const begin = (): void => {
        signal?.removeEventListener('abort', leave)
        resolve()
      }
      const leave = (): void => {
        queue.delete(begin)
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', leave, { once: true })
      queue.add(begin)
    })

  return async (run, signal) => {
    signal?.throwIfAborted()
    if (running < options.atOnce) running += 1
    else if (queue.size < options.waiting) await turn(signal)
    else throw options.refuse()
    try {
      return await run()
    } finally {
      // The next task takes over the slot.
      const [next] = queue
      if (next === undefined) running -= 1
      else {
        queue.delete(next)
        next()
      }
    }
  }
}
