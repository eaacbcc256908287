import type { Process } from './process.ts'
import type { Index } from './rig.ts'

/** An index and the worker that writes it. */
export type IndexWorker = { readonly index: Index; readonly worker: Process }

/**
 * Workers over one chain, one per slot, each with an index of its own. A start costs more than a seed, so a worker
 * serves many seeds. After a failure the slot gets a new worker.
 */
export const createWorkers = (open: (seed: number) => Promise<IndexWorker>) => {
  const slots: (IndexWorker | undefined)[] = []
  return {
    /** The worker of each slot, for the seed at the same position. */
    take: (seeds: readonly number[]): Promise<IndexWorker[]> =>
      Promise.all(
        seeds.map(async (seed, at) => {
          const taken = slots[at] ?? (await open(seed))
          slots[at] = taken
          return taken
        }),
      ),
    async drop(at: number): Promise<void> {
      const dropped = slots[at]
      slots[at] = undefined
      await dropped?.index.close()
    },
    close: (): Promise<unknown> => Promise.all(slots.map((slot) => slot?.index.close())),
  }
}
