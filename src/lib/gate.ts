/** Runs a piece of work when its turn comes, or throws. */
export type Gate = <T>(run: () => Promise<T>) => Promise<T>

/**
 * Runs at most `atOnce` pieces of work at a time; up to `waiting` more wait for their turn, in order. Any beyond those throws what `refuse`
 * gives. Each piece has to end in time by itself.
 *
 * @example const gate = createGate({ atOnce: 16, waiting: 256, refuse: () => unavailable('overloaded, retry after 1 s') })
 */
export const createGate = (options: {
  readonly atOnce: number
  readonly waiting: number
  readonly refuse: () => Error
}): Gate => {
  const queue: (() => void)[] = []
  let running = 0
  return async (run) => {
    if (running < options.atOnce) running += 1
    else if (queue.length < options.waiting) await new Promise<void>((begin) => queue.push(begin))
    else throw options.refuse()
    try {
      return await run()
    } finally {
      // The place goes on to the next in line.
      const next = queue.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }
}
