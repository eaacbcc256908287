import { AsyncLocalStorage } from 'node:async_hooks'

/** What a request waits for besides the service itself. */
type Part = 'rpc' | 'db'

/** When the first of overlapping waits began and how many there are, and the milliseconds waited before. */
type Waits = { open: number; since: number; total: number }

export type Timings = Record<Part, Waits>

const current = new AsyncLocalStorage<Timings>()

const none = (): Waits => ({ open: 0, since: 0, total: 0 })

/** Runs what serves one request; `waited` inside of it counts for that. */
export const withTimings = (run: (timings: Timings) => void): void => {
  const timings = { rpc: none(), db: none() }
  current.run(timings, run, timings)
}

/** Waits for work and counts the time for the request that it is done for. Waits that overlap count once. */
export const waited = async <T>(part: Part, work: () => Promise<T>): Promise<T> => {
  const waits = current.getStore()?.[part]
  if (waits === undefined) return work()
  if (waits.open === 0) waits.since = performance.now()
  waits.open += 1
  try {
    return await work()
  } finally {
    waits.open -= 1
    if (waits.open === 0) waits.total += performance.now() - waits.since
  }
}

/** The times as `Server-Timing` says them, in milliseconds; parts that were not waited for are left out. */
export const serverTiming = (timings: Timings | null, elapsedMs: number): string => {
  const parts = timings === null ? [] : (['rpc', 'db'] as const).filter((part) => timings[part].total > 0)
  const said = parts.map((part) => `${part};dur=${timings?.[part].total.toFixed(2)}`)
  return [...said, `app;dur=${elapsedMs.toFixed(2)}`].join(', ')
}
