import { backoffMs } from '../lib/backoff.ts'
import { sleep } from '../lib/lifecycle.ts'
import { PortTakenError, reportsTaken } from '../lib/port-taken.ts'
import { type Child, startChild } from './parts/child.ts'

export type ServiceOptions = {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  /** Receives the lines that the process writes, and a line for each end and restart. */
  readonly print: (line: string) => void
  /** The port that it listens on, and the variable that selects another one. */
  readonly port?: { readonly number: number; readonly variable: string }
}

export type Service = {
  readonly name: string
  /** Number of times that the process has ended by itself. */
  readonly crashes: () => number
  /** Its port, when it ended because another program had taken it. */
  readonly takenPort: () => PortTakenError | undefined
  /** The last lines of the current process, or of the last one that ended. */
  readonly output: () => string
  readonly close: () => Promise<void>
}

/** A process that ran this long was healthy, so its next restart is immediate again. */
const HEALTHY_MS = 30_000

/**
 * Keeps one of the service's processes running. When it ends, even by kill -9, it is started again: immediately the
 * first time, with growing pauses if it keeps ending. Throws only when it cannot be executed.
 */
export const startService = async (options: ServiceOptions): Promise<Service> => {
  const { name, print, port } = options
  const stopping = new AbortController()
  const launch = (): Promise<Child> =>
    startChild({ ...options, onLine: (line) => print(`[${name}] ${line}`), graceMs: 15_000 })
  let child = await launch()
  let crashes = 0
  let takenPort: PortTakenError | undefined

  const supervise = async (): Promise<void> => {
    let quickDeaths = 0
    for (;;) {
      const since = Date.now()
      const how = await child.exited
      if (stopping.signal.aborted) return
      crashes += 1
      if (port !== undefined && reportsTaken(child.output())) takenPort = new PortTakenError(port.number, port.variable)
      quickDeaths = Date.now() - since < HEALTHY_MS ? quickDeaths + 1 : 1
      const pause = quickDeaths === 1 ? 0 : backoffMs(quickDeaths - 2, 500, 10_000)
      print(`[${name}] ${how}; restarting${pause === 0 ? '' : ` in ${(pause / 1000).toFixed(1)} s`}`)
      await sleep(pause, stopping.signal)
      if (stopping.signal.aborted) return
      child = await launch()
      // `close` was called during the start and did not know about this process.
      if (stopping.signal.aborted) return child.stop()
    }
  }
  const supervision = supervise().catch((error: unknown) => print(`[${name}] cannot be restarted: ${String(error)}`))

  return {
    name,
    crashes: () => crashes,
    takenPort: () => takenPort,
    output: () => child.output(),
    async close() {
      stopping.abort()
      await child.stop()
      await supervision
    },
  }
}
