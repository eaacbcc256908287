/** How long an endpoint took lately, in milliseconds. */
export type Latency = {
  note(ms: number): void
  /** How long to wait for it alone: it answers 19 times of 20 within this. */
  patience(): number
}

/** Answers that are remembered, and how many it takes to go by them. */
const REMEMBERED = 100
const FEWEST = 20

/** Less would ask twice for a hiccup, more would be felt. */
const PATIENCE = { from: 25, to: 250 }

/** An endpoint that has answered nothing yet is given all the patience there is. */
export const createLatency = (): Latency => {
  const lately: number[] = []
  let at = 0
  let patience: number | undefined = PATIENCE.to

  return {
    note(ms) {
      lately[at] = ms
      at = (at + 1) % REMEMBERED
      patience = undefined
    },
    patience() {
      if (patience !== undefined) return patience
      const p95 = lately.toSorted((a, b) => a - b)[Math.ceil(lately.length * 0.95) - 1] ?? PATIENCE.to
      patience = lately.length < FEWEST ? PATIENCE.to : Math.min(Math.max(p95, PATIENCE.from), PATIENCE.to)
      return patience
    },
  }
}
