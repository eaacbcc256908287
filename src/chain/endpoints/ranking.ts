import { min } from '../../lib/fixed.ts'
import { penaltyAt } from './penalty.ts'
import type { EndpointState } from './state.ts'

/**
 * The ranks of an endpoint compared with the others, in the order in which endpoints are asked. Incomplete logs rank
 * above lagging: later checks find a log that was left out, but an endpoint that lags does not have the newest blocks
 * at all.
 */
export const ranks = ['ok', 'incomplete logs', 'lagging', 'penalized'] as const

export type Rank = (typeof ranks)[number]

/** Whether the endpoint can be trusted about the newest blocks: it neither lags nor is penalized. */
export const isCurrent = (rank: string): boolean => rank === 'ok' || rank === 'incomplete logs'

/** Seconds of chain time that an endpoint may be behind another one without being ranked below it. */
const LAG_SECONDS = 2n

/** Seconds of chain time within which the heads of nodes are that follow the same chain. */
const NEAR_SECONDS = 5n

/** Seconds that a block's time may be ahead of our clock. */
const AHEAD_SECONDS = 15n

/**
 * Whether a block's time (Unix seconds) is so many seconds behind another one that its node may have stopped. The part of
 * the other one that is ahead of the clock shows nothing, unless the chain's own time is far ahead of it.
 */
export const isStopped = (time: bigint, other: bigint, now: number, seconds = NEAR_SECONDS): boolean => {
  const clock = BigInt(Math.floor(now / 1_000))
  return (time > clock + AHEAD_SECONDS ? other : min(other, clock)) - time > seconds
}

/**
 * Whether a head's time (Unix seconds) is in the future, while other heads are not and none of them comes close to it.
 * Such a head does not show that the others lag. On a chain whose clock is ahead of ours all heads are in the future,
 * and none is implausible.
 */
export const isImplausibleHead = (time: bigint, others: readonly bigint[], now: number): boolean => {
  const latest = BigInt(Math.floor(now / 1_000)) + AHEAD_SECONDS
  return time > latest && others.some((it) => it <= latest) && !others.some((it) => time - it <= NEAR_SECONDS)
}

const timesOf = ({ head }: EndpointState): bigint[] => (head === null ? [] : [head.timestamp])

/**
 * Whether an endpoint's head was read after a plausible one of the other and still is more than `LAG_SECONDS` of chain
 * time behind it.
 */
const isBehind = ({ head }: EndpointState, other: EndpointState, isPlausible: (time: bigint) => boolean): boolean =>
  head !== null &&
  other.head !== null &&
  [other.head, ...other.earlier].some(
    ({ seenAt, timestamp }) =>
      seenAt <= head.seenAt && timestamp - head.timestamp > LAG_SECONDS && isPlausible(timestamp),
  )

/**
 * Ranks an endpoint among `all`, which may contain it. It is only compared with other endpoints, so no endpoint of a
 * halted chain lags, and only with those that are not penalized and whose head is plausible.
 *
 * @example rankOf(states[0], states, Date.now()) // 'ok'
 */
export const rankOf = (state: EndpointState, all: readonly EndpointState[], now: number): Rank => {
  if (penaltyAt(state.penalty, now) !== null) return 'penalized'
  const trusted = all.filter(({ chain, penalty }) => chain === 'right' && penaltyAt(penalty, now) === null)
  const plausibleOf = (other: EndpointState) => {
    const times = trusted.filter((it) => it !== other).flatMap(timesOf)
    return (time: bigint): boolean => !isImplausibleHead(time, times, now)
  }
  // Its own earlier heads do not count: after a reorg they may be higher.
  if (trusted.some((other) => other !== state && isBehind(state, other, plausibleOf(other)))) return 'lagging'
  return penaltyAt(state.missingLogs, now) === null ? 'ok' : 'incomplete logs'
}
