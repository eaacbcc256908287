import { setImmediate } from 'node:timers/promises'

/** Milliseconds of work between two turns of the event loop. */
const SLICE_MS = 10

/**
 * Divides work into slices, between which everything else takes a turn.
 *
 * @example
 * const slice = createSlices()
 * for (const item of items) {
 *   work(item)
 *   if (slice.isOver()) await slice.next()
 * }
 */
export const createSlices = () => {
  let begun = performance.now()
  return {
    isOver: () => performance.now() - begun >= SLICE_MS,
    async next(): Promise<void> {
      await setImmediate()
      begun = performance.now()
    },
  }
}
