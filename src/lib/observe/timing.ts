import { AsyncLocalStorage } from 'node:async_hooks'

/** Dependencies whose time is measured separately. */
type Part = 'rpc' | 'db'

/** The number of overlapping waits, the start of the first one, and the total of the finished ones in milliseconds. */
type Waits = { open: number; since: number; total: number }

export type Timings = Record<Part, Waits>

const current = new AsyncLocalStorage<Timings>()

const none = (): Waits => ({ open: 0, since: 0, total: 0 })

/** Runs the handler of one request; `waited` within it adds to that request's timings. */
export const withTimings = (run: (timings: Timings) => void): void => {
  const timings = { rpc: none(), db: none() }
  current.run(timings, run, timings)
}

/** Awaits work and adds its time to the request that it runs for. Overlapping waits count once. */
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

/** The value of the `Server-Timing` header, in milliseconds, without the parts that were not used. */
export const serverTiming = (timings: Timings | null, elapsedMs: number): string => {
  const parts = timings === null ? [] : (['rpc', 'db'] as const).filter((part) => timings[part].total > 0)
  const entries = parts.map((part) => `${part};dur=${timings?.[part].total.toFixed(2)}`)
  return [...entries, `app;dur=${elapsedMs.toFixed(2)}`].join(', ')
}
