import closeWithGrace from 'close-with-grace'
import { type Closers, createClosers } from '../lib/lifecycle.ts'
import type { Logger } from '../lib/observe/log.ts'
import { onSignals } from '../lib/signals.ts'

/** The time limit of an orderly stop without its drain, in milliseconds. After it the process exits with code 1. */
const STOP_WITHIN_MS = 10_000

type Options = {
  readonly log: Logger
  /** How long the started service drains before it closes, in milliseconds. */
  readonly drainMs?: number
  /** `STOP_WITHIN_MS` unless given. */
  readonly stopWithinMs?: number
}

/**
 * Runs a long-lived service until SIGTERM or SIGINT, then closes its resources, last opened first. A second signal, or
 * a stop that takes too long, ends the process with code 1. A process that hangs is for its supervisor to kill.
 */
export const serve = async (options: Options, start: (closers: Closers) => Promise<void>): Promise<void> => {
  const { log, drainMs = 0, stopWithinMs = STOP_WITHIN_MS } = options
  const closers = createClosers()
  const delay = drainMs + stopWithinMs
  const grace = closeWithGrace({ delay, logger: log, skip: ['SIGINT', 'SIGTERM'] }, async ({ err }) => {
    if (err) log.fatal({ err }, 'stopping after a fault')
    await closers.close()
  })
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
    // A process that failed to start must end with its error and not with code 0.
    grace.uninstall()
    ignore()
    setTimeout(() => process.exit(1), stopWithinMs).unref()
    await closers.close()
    throw fault
  }
}
