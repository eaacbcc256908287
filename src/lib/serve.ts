import closeWithGrace from 'close-with-grace'
import { type Closers, createClosers } from './lifecycle.ts'
import type { Logger } from './log.ts'
import { onSignals } from './signals.ts'

/** Longest an orderly stop may take before the process is ended, its drain aside, in milliseconds. */
const STOP_WITHIN_MS = 10_000

type Options = {
  readonly log: Logger
  /** How long what was started drains before it closes, in milliseconds. */
  readonly drainMs?: number
}

/**
 * Runs a long-lived part until SIGTERM or SIGINT, then closes what it opened, last first. A second signal, or a stop that takes too long,
 * ends the process with code 1.
 */
export const serve = async (
  { log, drainMs = 0 }: Options,
  start: (closers: Closers) => Promise<void>,
): Promise<void> => {
  const closers = createClosers()
  const grace = closeWithGrace(
    { delay: drainMs + STOP_WITHIN_MS, logger: log, skip: ['SIGINT', 'SIGTERM'] },
    async ({ err }) => {
      if (err) log.fatal({ err }, 'stopping after a fault')
      await closers.close()
    },
  )
  const ignore = onSignals({
    stop(signal) {
      log.info({ signal }, 'stopping')
      void grace.close()
    },
    force(signal) {
      log.error({ signal }, 'stopping at once')
      process.exit(1)
    },
  })
  try {
    await start(closers)
  } catch (fault) {
    // A process that never started ends with its fault, not in good order with code 0.
    grace.uninstall()
    ignore()
    await closers.close()
    throw fault
  }
}
