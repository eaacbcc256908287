/** Resolves in a later turn of the event loop, in which no other caller of the same function continues. */
export type Turn = () => Promise<void>

/**
 * Creates a queue of which one caller continues at a time, in a turn of the event loop of its own. While others wait,
 * `restMs` milliseconds pass before the next one. Everything that is not in the queue runs in between, so work that is
 * divided by it delays other requests by one part at most.
 *
 * @example
 * const turn = createTurns({ restMs: 2 })
 * await turn() // before each part of a task
 */
export const createTurns = ({ restMs }: { readonly restMs: number }): Turn => {
  const queue: (() => void)[] = []
  let isScheduled = false
  const advance = (): void => {
    queue.shift()?.()
    isScheduled = queue.length > 0
    if (isScheduled) setTimeout(advance, restMs)
  }
  return () =>
    new Promise((resolve) => {
      queue.push(resolve)
      if (isScheduled) return
      isScheduled = true
      setImmediate(advance)
    })
}
