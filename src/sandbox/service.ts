import { backoffMs } from '../lib/backoff.ts'
import { sleep } from '../lib/lifecycle.ts'
import { type Child, startChild } from './child.ts'

export type ServiceOptions = {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  /** Sees what it writes and what becomes of it. */
  readonly print: (line: string) => void
}

export type Service = {
  readonly name: string
  /** How often it has ended by itself. */
  readonly deaths: () => number
  /** The last lines of the current process, or of the one that ended last. */
  readonly output: () => string
  readonly close: () => Promise<void>
}

/** A process that ran this long was fine: the next restart is quick again. */
const HEALTHY_MS = 30_000

/**
 * Keeps one of our processes running: when it ends, however that happens (kill -9 too), it is started again, at once the first time and
 * with growing pauses if it keeps dying. Throws only when it cannot be executed at all.
 */
export const startService = async (options: ServiceOptions): Promise<Service> => {
  const { name, print } = options
  const stopping = new AbortController()
  const launch = (): Promise<Child> =>
    startChild({ ...options, onLine: (line) => print(`[${name}] ${line}`), graceMs: 15_000 })
  let child = await launch()
  let deaths = 0

  const supervise = async (): Promise<void> => {
    let quickDeaths = 0
    for (;;) {
      const since = Date.now()
      const how = await child.exited
      if (stopping.signal.aborted) return
      deaths += 1
      quickDeaths = Date.now() - since < HEALTHY_MS ? quickDeaths + 1 : 1
      const pause = quickDeaths === 1 ? 0 : backoffMs(quickDeaths - 2, 500, 10_000)
      print(`[${name}] ${how}; starting it again${pause === 0 ? '' : ` in ${(pause / 1000).toFixed(1)} s`}`)
      await sleep(pause, stopping.signal)
      if (stopping.signal.aborted) return
      child = await launch()
      // Whoever closed us meanwhile did not know this one.
      if (stopping.signal.aborted) return child.stop()
    }
  }
  const supervision = supervise().catch((error: unknown) =>
    print(`[${name}] cannot be started again: ${String(error)}`),
  )

  return {
    name,
    deaths: () => deaths,
    output: () => child.output(),
    async close() {
      stopping.abort()
      await child.stop()
      await supervision
    },
  }
}
