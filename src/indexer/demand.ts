import { sleep } from '../lib/lifecycle.ts'

/** What readers of a chain wait for. */
export type Demand = {
  /** Reports that a reader waits for a block, or for any news (null), for some milliseconds. */
  ask(block: bigint | null, ms: number): void
  /** Reports that the index has a block: readers of it and of earlier ones no longer wait. */
  reached(block: bigint): void
  /** Whether some reader waits. */
  isFast(): boolean
  /** The newest block that a reader waits for; -1 when none does. */
  wanted(): bigint
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
  /** Until when some reader waits for any news, and until when one waits for the block `wanted`. */
  let newsUntil = Number.NEGATIVE_INFINITY
  let blockUntil = Number.NEGATIVE_INFINITY
  let wanted = -1n
  let wake = new AbortController()
  const isFast = (): boolean => now() < newsUntil || now() < blockUntil

  return {
    ask(block, ms) {
      const wasFast = isFast()
      const until = now() + ms
      if (block === null) newsUntil = Math.max(newsUntil, until)
      else {
        if (now() >= blockUntil) wanted = -1n
        if (wasFast && block > wanted) wake.abort()
        if (block > wanted) wanted = block
        blockUntil = Math.max(blockUntil, until)
      }
      if (!wasFast) wake.abort()
    },
    reached(block) {
      if (block >= wanted) blockUntil = Number.NEGATIVE_INFINITY
    },
    isFast,
    wanted: () => (now() < blockUntil ? wanted : -1n),
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
