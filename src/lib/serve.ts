import closeWithGrace from 'close-with-grace'
import { type Closers, createClosers } from './lifecycle.ts'
import type { Logger } from './log.ts'
import { onSignals } from './signals.ts'
import { endWithin, watchMainThread } from './watchdog.ts'

/** The time limit of an orderly stop without its drain, in milliseconds. After it the process exits with code 1. */
const STOP_WITHIN_MS = 10_000

/** How long after that limit a process that still runs is killed, in milliseconds. */
const KILL_AFTER_MS = 5_000

/**
 * A main thread that has not run for this long is hung, in milliseconds. Calibration and garbage collection take
 * seconds.
 */
const HUNG_AFTER_MS = 60_000

type Options = {
  readonly log: Logger
  /** How long the started service drains before it closes, in milliseconds. */
  readonly drainMs?: number
  /** Limits in milliseconds; the defaults are the constants above. */
  readonly stopWithinMs?: number
  readonly killAfterMs?: number
  readonly hungAfterMs?: number
}

/**
 * Runs a long-lived service until SIGTERM or SIGINT, then closes its resources, last opened first. A second signal, or
 * a stop that takes too long, ends the process with code 1. A process that cannot exit, or whose main thread hangs, is
 * killed.
 */
export const serve = async (options: Options, start: (closers: Closers) => Promise<void>): Promise<void> => {
  const { log, drainMs = 0, stopWithinMs = STOP_WITHIN_MS, killAfterMs = KILL_AFTER_MS } = options
  const closers = createClosers()
  // Opened first and so closed last: the watchdog also covers the closing of everything else.
  closers.add('watchdog', watchMainThread({ hungAfterMs: options.hungAfterMs ?? HUNG_AFTER_MS, log }), (stop) => stop())
  const delay = drainMs + stopWithinMs
  const grace = closeWithGrace({ delay, logger: log, skip: ['SIGINT', 'SIGTERM'] }, async ({ err }) => {
    endWithin(delay + killAfterMs, log)
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
    endWithin(delay + killAfterMs, log)
    await closers.close()
    throw fault
  }
}
