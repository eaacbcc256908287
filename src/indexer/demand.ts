import { sleep } from '../lib/lifecycle.ts'

/** What readers of a chain wait for. */
export type Demand = {
  /** Reports that a reader waits for a block, or for any news (null), for some milliseconds. */
  ask(block: bigint | null, ms: number): void
  /** Reports that the index has a block: readers of it and of earlier ones no longer wait. */
  reached(block: bigint): void
  /** Whether some reader waits. */
  isFast(): boolean
  /** The blocks that readers wait for. */
  wanted(): readonly bigint[]
  /** Sleeps, and wakes when a reader begins to wait or `signal` aborts. */
  pause(ms: number, signal: AbortSignal): Promise<void>
}

/**
 * Keeps the demand for news of a chain. The follower polls fast while there is some.
 *
 * @example
 * const demand = createDemand()
 * demand.ask(1_000n, 2_000)
 */
export const createDemand = (now: () => number = () => performance.now()): Demand => {
  /** Until when some reader waits for any news (null), and for each block. One block must not hide another. */
  const untilBy = new Map<bigint | null, number>()
  let wake = new AbortController()
  const forget = (isOver: (block: bigint | null, until: number) => boolean): void => {
    for (const [block, until] of untilBy) if (isOver(block, until)) untilBy.delete(block)
  }
  const isFast = (): boolean => {
    forget((_, until) => now() >= until)
    return untilBy.size > 0
  }
  const wanted = (): bigint[] => (isFast() ? [...untilBy.keys()].filter((block) => block !== null) : [])

  return {
    ask(block, ms) {
      if (!isFast() || (block !== null && wanted().every((other) => block > other))) wake.abort()
      untilBy.set(block, Math.max(untilBy.get(block) ?? 0, now() + ms))
    },
    reached(upTo) {
      forget((block) => block !== null && block <= upTo)
    },
    isFast,
    wanted,
    async pause(ms, signal) {
      const stop = (): void => wake.abort()
      signal.addEventListener('abort', stop, { once: true })
      // What was asked for during the last step may not be part of it.
      if (!signal.aborted) await sleep(ms, wake.signal)
      signal.removeEventListener('abort', stop)
      if (wake.signal.aborted) wake = new AbortController()
    },
  }
}
