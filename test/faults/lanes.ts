import type { Index } from './rig.ts'
import type { Process } from './worker.ts'

/** An index and the worker that keeps it. */
export type Lane = { readonly index: Index; readonly worker: Process }

/**
 * Indexes at work side by side over one chain, one a place: a start costs more than a seed, so an index lives through many. After a failure
 * the place's next seed gets a new one.
 */
export const createLanes = (open: (seed: number) => Promise<Lane>) => {
  const lanes: (Lane | undefined)[] = []
  return {
    /** The lane at each place, for its seed. */
    take: (seeds: readonly number[]): Promise<Lane[]> =>
      Promise.all(
        seeds.map(async (seed, at) => {
          const lane = lanes[at] ?? (await open(seed))
          lanes[at] = lane
          return lane
        }),
      ),
    /** Another worker keeps the index of a place. */
    replace(at: number, lane: Lane): void {
      lanes[at] = lane
    },
    async drop(at: number): Promise<void> {
      const lane = lanes[at]
      lanes[at] = undefined
      await lane?.index.close()
    },
    close: (): Promise<unknown> => Promise.all(lanes.map((lane) => lane?.index.close())),
  }
}
