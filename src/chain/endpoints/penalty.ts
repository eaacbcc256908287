import { backoffMs } from '../../lib/backoff.ts'

/**
 * Why and until when (milliseconds since the epoch) an endpoint is ranked below others; `times` counts the penalties so
 * far.
 */
export type Penalty = { readonly times: number; readonly until: number; readonly why: string }

/** The first penalty and the longest one, in milliseconds: each further one is twice as long. */
const PENALTY_MS = { from: 5_000, to: 600_000 }

/** An endpoint without a penalty for this long starts again with the shortest one. */
const FORGIVEN_AFTER_MS = 3_600_000

/** The penalty that applies at `now`; null when it is over. */
export const penaltyAt = (penalty: Penalty | null, now: number): Penalty | null =>
  penalty !== null && penalty.until > now ? penalty : null

/**
 * Adds a penalty. One that still applies stays as it is, because concurrent answers contradict together and count once.
 */
export const penalize = (penalty: Penalty | null, why: string, now: number): Penalty => {
  const current = penaltyAt(penalty, now)
  if (current !== null) return current
  const times = penalty === null || now - penalty.until > FORGIVEN_AFTER_MS ? 1 : penalty.times + 1
  // No jitter: the end of a penalty sends no burst of requests.
  return { times, until: now + backoffMs(times - 1, PENALTY_MS.from, PENALTY_MS.to, () => 1), why }
}
