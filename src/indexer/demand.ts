import { sleep } from '../lib/lifecycle.ts'

/** What readers of a chain wait for. */
export type Demand = {
  /** Reports that a reader waits for a block, or for any news (null), for some milliseconds. */
  ask(block: bigint | null, ms: number): void
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
  let until = Number.NEGATIVE_INFINITY
  let wanted = -1n
  let wake = new AbortController()

  return {
    ask(block, ms) {
      if (now() >= until) wanted = -1n
      const isNew = now() >= until || (block ?? -1n) > wanted
      until = Math.max(until, now() + ms)
      if (block !== null && block > wanted) wanted = block
      if (isNew) wake.abort()
    },
    isFast: () => now() < until,
    wanted: () => (now() < until ? wanted : -1n),
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
