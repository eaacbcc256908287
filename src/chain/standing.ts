import { doubtAt } from './doubt.ts'
import type { EndpointState } from './endpoint-state.ts'

/**
 * What an endpoint is next to the others; `ok` are asked first, `doubted` last. One that leaves logs out is found out by what comes
 * after them; one that lags has not seen yet what there is to find.
 */
export const standings = ['ok', 'forgetful', 'lagging', 'doubted'] as const

export type Standing = (typeof standings)[number]

/** Whether what it says of blocks is as good as any: it is on time and believed. */
export const isSeeing = (standing: Standing): boolean => standing === 'ok' || standing === 'forgetful'

/** Seconds of chain time that an endpoint may be behind another and still be preferred to it. */
const LAG_SECONDS = 5n

/** Seconds that a block may be ahead of our clock and be of now. */
const AHEAD_SECONDS = 15n

/**
 * Whether the time of a head, in Unix seconds, is of the future, others' are not, and none of them has come as far: such a head says nothing
 * of those others. On a chain whose own clock is ahead all heads are of the future, and none is made up for that.
 */
export const isMadeUp = (time: bigint, others: readonly bigint[], now: number): boolean => {
  const latest = BigInt(Math.floor(now / 1_000)) + AHEAD_SECONDS
  return time > latest && others.some((it) => it <= latest) && !others.some((it) => time - it <= LAG_SECONDS)
}

const timeOf = ({ head }: EndpointState): bigint[] => (head === null ? [] : [head.timestamp])

/** Whether an endpoint, looked at after another one, was behind it all the same by more than a few seconds of chain time. */
const isBehind = ({ head }: EndpointState, other: EndpointState): boolean =>
  head !== null &&
  other.head !== null &&
  [other.head, ...other.earlier].some(
    ({ seenAt, timestamp }) => seenAt <= head.seenAt && timestamp - head.timestamp > LAG_SECONDS,
  )

/**
 * The standing of an endpoint next to others, of which it may be one. It is compared with others alone, so a chain that stands still has no
 * node that lags; and neither with one that is doubted nor with a head that is made up.
 *
 * @example standingOf(states[0], states, Date.now()) // 'ok'
 */
export const standingOf = (state: EndpointState, all: readonly EndpointState[], now: number): Standing => {
  if (doubtAt(state.doubt, now) !== null) return 'doubted'
  const trusted = all.filter(({ chain, doubt }) => chain === 'right' && doubtAt(doubt, now) === null)
  const isReal = (other: EndpointState): boolean =>
    !timeOf(other).some((time) => isMadeUp(time, trusted.filter((it) => it !== other).flatMap(timeOf), now))
  // Its own past says nothing: it may have gone back with its chain.
  if (trusted.some((other) => other !== state && isBehind(state, other) && isReal(other))) return 'lagging'
  return doubtAt(state.omission, now) === null ? 'ok' : 'forgetful'
}
