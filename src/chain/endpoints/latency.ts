/** The recent response times of an endpoint, in milliseconds. */
export type Latency = {
  record(ms: number): void
  /** How long to wait for the endpoint before another one is asked too: its 95th percentile, within limits. */
  waitMs(): number
}

/** Response times that are kept, and how many it takes to use their percentile. */
const KEPT = 100
const FEWEST = 20

/** A shorter wait would duplicate requests at every short delay; users would notice a longer one. */
const WAIT_MS = { from: 25, to: 250 }

/** An endpoint with few response times gets the longest wait. */
export const createLatency = (): Latency => {
  const recent: number[] = []
  let at = 0
  let wait: number | undefined = WAIT_MS.to

  return {
    record(ms) {
      recent[at] = ms
      at = (at + 1) % KEPT
      wait = undefined
    },
    waitMs() {
      if (wait !== undefined) return wait
      const p95 = recent.toSorted((a, b) => a - b)[Math.ceil(recent.length * 0.95) - 1] ?? WAIT_MS.to
      wait = recent.length < FEWEST ? WAIT_MS.to : Math.min(Math.max(p95, WAIT_MS.from), WAIT_MS.to)
      return wait
    },
  }
}
