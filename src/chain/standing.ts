import { doubtAt } from './doubt.ts'
import type { EndpointState } from './endpoint-state.ts'

/** What an endpoint is next to the others; `ok` are asked first, `doubted` last. */
export const standings = ['ok', 'lagging', 'doubted'] as const

export type Standing = (typeof standings)[number]

/** Seconds of chain time that an endpoint may be behind another and still be preferred to it. */
const LAG_SECONDS = 5n

/** Whether an endpoint, looked at after another one, was behind it all the same by more than a few seconds of chain time. */
const isBehind = ({ head }: EndpointState, other: EndpointState): boolean =>
  head !== null &&
  other.head !== null &&
  [other.head, ...other.earlier].some(
    ({ seenAt, timestamp }) => seenAt <= head.seenAt && timestamp - head.timestamp > LAG_SECONDS,
  )

/**
 * The standing of an endpoint next to others. It is compared with others alone, so a chain that stands still has no node that lags, and
 * with none that is doubted, so a made-up head makes nobody lag.
 *
 * @example standingOf(states[0], states, Date.now()) // 'ok'
 */
export const standingOf = (state: EndpointState, others: readonly EndpointState[], now: number): Standing => {
  if (doubtAt(state.doubt, now) !== null) return 'doubted'
  const trusted = others.filter(({ chain, doubt }) => chain === 'right' && doubtAt(doubt, now) === null)
  return trusted.some((other) => isBehind(state, other)) ? 'lagging' : 'ok'
}
