/** In milliseconds. Under npm one Ctrl-C arrives twice: from the terminal, and forwarded by npm. */
const SAME_SIGNAL_MS = 500

/**
 * Calls `stop` at the first SIGINT or SIGTERM, and `force` at each later one that is not a duplicate of the first.
 * Returns a function that removes the listeners.
 *
 * @example const ignore = onSignals({ stop: () => controller.abort(), force: () => process.exit(1) })
 */
export const onSignals = ({
  stop,
  force,
}: {
  readonly stop: (signal: NodeJS.Signals) => void
  readonly force: (signal: NodeJS.Signals) => void
}): (() => void) => {
  let first: number | null = null
  const onSignal = (signal: NodeJS.Signals): void => {
    if (first === null) {
      first = performance.now()
      stop(signal)
    } else if (performance.now() - first >= SAME_SIGNAL_MS) force(signal)
  }
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal)
  return () => void process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
}
