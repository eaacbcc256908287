import { errorText } from '../errors.ts'
import type { Logger } from './log.ts'

/** The period in milliseconds and its limit: one line for each of the first different faults of a service. */
const PERIOD_MS = 10_000
const FAULTS_PER_PERIOD = 3

/** A service counts as recovered when a request works and none has failed for this long, in milliseconds. */
const QUIET_MS = 1_000

export type OutageLog = {
  /** Records a failed request. Writes at most three lines in 10 s. */
  failed(fault: unknown): void
  /** Records a request that worked. Writes one line when that ends an outage that was logged. */
  worked(): void
  /** Whether the service is in an outage. */
  isDown(): boolean
}

/**
 * Logs the outages of one service without a line for every request that fails. Every 10 s it logs up to three different
 * faults, each with the number of failures since the line before, and finally the recovery. (The first fault is often a
 * lost connection, the next one its reason.)
 *
 * @example
 * const outages = createOutageLog({ log, down: 'job queue unreachable', up: 'job queue reachable again' })
 */
export const createOutageLog = (options: {
  readonly log: Logger
  readonly down: string
  readonly up: string
  /** Returns the fields that a line has for a fault; by default its text. */
  readonly describe?: (fault: unknown) => { readonly fault: string }
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number
}): OutageLog => {
  const { log, down, up, now = () => performance.now() } = options
  const { describe = (fault: unknown) => ({ fault: errorText(fault) }) } = options
  let outage: { readonly since: number; lastAt: number; isLogged: boolean } | null = null
  let periodAt = Number.NEGATIVE_INFINITY
  const faults = new Set<string>()
  let failures = 0

  return {
    failed(fault) {
      const at = now()
      outage ??= { since: at, lastAt: at, isLogged: false }
      outage.lastAt = at
      failures += 1
      if (at - periodAt >= PERIOD_MS) {
        periodAt = at
        faults.clear()
      }
      const fields = describe(fault)
      if (faults.has(fields.fault) || faults.size === FAULTS_PER_PERIOD) return
      faults.add(fields.fault)
      log.warn({ ...fields, failures }, down)
      outage.isLogged = true
      failures = 0
    },
    worked() {
      if (outage === null || now() - outage.lastAt < QUIET_MS) return
      if (outage.isLogged) log.info({ failures, downMs: Math.round(outage.lastAt - outage.since) }, up)
      outage = null
    },
    isDown: () => outage !== null,
  }
}
