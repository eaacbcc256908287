import type { Chain } from '../chain/chain.ts'

/** How many endpoints have to agree before one is believed: two, or the only one that is configured (decision 10). */
export const quorum = (chain: Pick<Chain, 'status'>): number => Math.min(2, chain.status().endpoints.length)

/**
 * How long a single endpoint has to repeat its answer while other configured endpoints do not answer, in milliseconds.
 */
export const SINGLE_ANSWER_MS = 10_000

/** Since when something has been so, in milliseconds, and of which block or row. */
export type Since = { readonly of: string; readonly since: number }

/** The time that was noted before, or now: also when it was of another block or row, or the clock was set back. */
export const sinceThen = (before: Since | null, of: string, now: number): Since =>
  before?.of === of && before.since <= now ? before : { of, since: now }

/** The answer of all endpoints; undefined when they disagree or fewer than the quorum answered. */
export const unanimous = <T>(
  chain: Pick<Chain, 'status'>,
  answers: readonly T[],
  isSame: (first: T, other: T) => boolean,
): T | undefined => {
  const [first, ...others] = answers
  if (first === undefined || answers.length < quorum(chain)) return undefined
  return others.every((other) => isSame(first, other)) ? first : undefined
}
