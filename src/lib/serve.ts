import closeWithGrace from 'close-with-grace'
import { type Closers, createClosers } from './lifecycle.ts'
import type { Logger } from './log.ts'
import { onSignals } from './signals.ts'
import { endWithin, watchMainThread } from './watchdog.ts'

/** Longest an orderly stop may take before the process is ended, its drain aside, in milliseconds. */
const STOP_WITHIN_MS = 10_000

/** How much later a process is killed that did not end itself, in milliseconds. */
const KILL_AFTER_MS = 5_000

/** A main thread that does not run for so long hangs: calibrations and collections take seconds. In milliseconds. */
const HUNG_AFTER_MS = 60_000

type Options = {
  readonly log: Logger
  /** How long what was started drains before it closes, in milliseconds. */
  readonly drainMs?: number
  /** Milliseconds; the constants above unless given. */
  readonly stopWithinMs?: number
  readonly killAfterMs?: number
  readonly hungAfterMs?: number
}

/**
 * Runs a long-lived part until SIGTERM or SIGINT, then closes what it opened, last first. A second signal, or a stop that takes too long,
 * ends the process with code 1; one that cannot even do that, or whose main thread hangs, is killed.
 */
export const serve = async (options: Options, start: (closers: Closers) => Promise<void>): Promise<void> => {
  const { log, drainMs = 0, stopWithinMs = STOP_WITHIN_MS, killAfterMs = KILL_AFTER_MS } = options
  const closers = createClosers()
  // Opened first, so that everything else closes under its eyes.
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
    // A process that never started ends with its fault, not in good order with code 0.
    grace.uninstall()
    ignore()
    endWithin(delay + killAfterMs, log)
    await closers.close()
    throw fault
  }
}
