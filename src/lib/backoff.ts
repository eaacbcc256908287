/**
 * The wait before attempt `attempt` (0 is the first retry): doubling from `baseMs` up to `capMs`, with equal jitter, in milliseconds.
 * Jitter keeps many processes that lost the same peer from returning in step.
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
