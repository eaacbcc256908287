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
