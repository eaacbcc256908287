import { backoffMs } from '../lib/backoff.ts'

/** What an endpoint said contradicted others or itself, or lacked something; it is asked later than others until then. */
export type Doubt = { readonly times: number; readonly until: number; readonly why: string }

const DOUBT = { from: 5_000, to: 600_000 }

/** An endpoint that gave no cause for doubt so long after the last one ended is as good as new. */
const FORGOTTEN_AFTER_MS = 3_600_000

/** The doubt that holds now; null when it is over. */
export const doubtAt = (doubt: Doubt | null, now: number): Doubt | null =>
  doubt !== null && doubt.until > now ? doubt : null

/** The doubt after one more cause. Answers that were under way together contradict together: while it holds, nothing is added. */
export const doubting = (doubt: Doubt | null, why: string, now: number): Doubt => {
  const held = doubtAt(doubt, now)
  if (held !== null) return held
  const times = doubt === null || now - doubt.until > FORGOTTEN_AFTER_MS ? 1 : doubt.times + 1
  // To the full: others need not be kept from coming back in step.
  return { times, until: now + backoffMs(times - 1, DOUBT.from, DOUBT.to, () => 1), why }
}
