/**
 * The wait in milliseconds before retry `attempt` (0 is the first). It doubles from `baseMs` up to `capMs`, with equal
 * jitter, so that processes that lost the same peer do not reconnect at the same moment.
 */
export const backoffMs = (
  attempt: number,
  baseMs: number,
  capMs: number,
  random: () => number = Math.random,
): number => {
  const full = Math.min(capMs, baseMs * 2 ** Math.min(attempt, 30))
  return full / 2 + (full / 2) * random()
}

/**
 * Whether the `times`-th repetition of a failure gets a log line: the first, second, fourth, eighth and so on. A failure
 * that lasts then neither fills the log nor disappears from it.
 */
export const isLogged = (times: number): boolean => Number.isInteger(Math.log2(times))
