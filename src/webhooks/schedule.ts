const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

/** The pauses between attempts in milliseconds: ten attempts over about three days. */
const PAUSES_MS = [
  ...[5 * SECOND_MS, 5 * MINUTE_MS, 30 * MINUTE_MS],
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR_MS),
]

/** Attempts at a message. */
export const MAX_ATTEMPTS = PAUSES_MS.length + 1

/** Part of a pause that is added at random, so that messages that failed together are not repeated together. */
const JITTER = 0.1

/** The longest pause that a receiver can ask for. */
const MAX_RETRY_AFTER_MS = 24 * HOUR_MS

/** Pause of an endpoint after a failed attempt, before its next message is tried. */
const ENDPOINT_PAUSE_MS = 10 * SECOND_MS

/** The pause that a `Retry-After` header asks for, in milliseconds: seconds or a date; 0 when it is neither. */
export const retryAfterMs = (header: string | undefined, now: number): number => {
  if (header === undefined) return 0
  const asked = /^\d{1,9}$/.test(header) ? Number(header) * SECOND_MS : Date.parse(header) - now
  return Number.isNaN(asked) ? 0 : Math.min(Math.max(asked, 0), MAX_RETRY_AFTER_MS)
}

/**
 * When to send a message again after its `attempt`-th attempt failed (the first is 1; null after the last one), and when
 * to send other messages to the endpoint.
 */
export const nextAttempt = (
  attempt: number,
  now: number,
  askedMs: number,
  random: () => number,
): { readonly nextAt: Date | null; readonly retryAt: Date } => {
  const pause = PAUSES_MS[attempt - 1]
  const wait = pause === undefined ? undefined : Math.max(askedMs, pause * (1 + JITTER * random()))
  return {
    nextAt: wait === undefined ? null : new Date(now + wait),
    retryAt: new Date(now + Math.max(askedMs, Math.min(ENDPOINT_PAUSE_MS, pause ?? ENDPOINT_PAUSE_MS))),
  }
}
