import closeWithGrace from 'close-with-grace'
import { type Closers, createClosers } from './lifecycle.ts'
import type { Logger } from './log.ts'

/** Longest an orderly stop may take before the process is ended, in milliseconds. */
const STOP_WITHIN_MS = 10_000

/** Runs a long-lived part until SIGTERM or SIGINT, then closes what it opened, last first; a second signal forces. */
export const serve = async (log: Logger, start: (closers: Closers) => Promise<void>): Promise<void> => {
  const closers = createClosers()
  const grace = closeWithGrace({ delay: STOP_WITHIN_MS, logger: log }, async ({ err, signal }) => {
    if (err) log.fatal({ err }, 'stopping after a fault')
    else log.info({ signal }, 'stopping')
    await closers.close()
  })
  try {
    await start(closers)
  } catch (fault) {
    // A process that never started ends with its fault, not in good order with code 0.
    grace.uninstall()
    await closers.close()
    throw fault
  }
}
