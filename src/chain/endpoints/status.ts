import { isMissing, type RequiredCapability, requiredCapabilities } from './capabilities.ts'
import { penaltyAt } from './penalty.ts'
import { rankOf } from './ranking.ts'
import { type EndpointState, isAvailable } from './state.ts'

/**
 * How an endpoint compares with the others of its chain: a `Rank`, or `stale` (its height was not read for twenty
 * seconds), `unknown` (not probed yet), `paused` (after failures) or `wrong chain`.
 */
export const endpointRanks = [
  'ok',
  'incomplete logs',
  'lagging',
  'penalized',
  'stale',
  'paused',
  'wrong chain',
  'unknown',
] as const

type EndpointRank = (typeof endpointRanks)[number]

/** One endpoint for operators. Its URL is not part of it, because a provider's URL may contain a key. */
export type EndpointStatus = {
  /** Its zero-based position in the configuration. */
  readonly index: number
  readonly rank: EndpointRank
  /** The newest block that it has reported. */
  readonly height: bigint | null
  /** That block's time, in Unix seconds. */
  readonly timestamp?: bigint | null
  /** Seconds since the height was read. */
  readonly heightAgeSeconds?: number | null
  /** Blocks in one request for logs, and requests in one batch. */
  readonly width: bigint
  readonly batch: number
  /** Capabilities that it refused. */
  readonly missing: readonly RequiredCapability[]
  /** Why it is ranked as `penalized` or `incomplete logs`; null when it is neither. */
  readonly penalty: string | null
  /** Text of its last fault, without URLs. */
  readonly fault: string | null
}

export type ChainStatus = {
  readonly endpoints: readonly EndpointStatus[]
  /** Every available endpoint reports the same old block: the chain has halted, not the service. */
  readonly halted: boolean
  /** Some endpoint serves logs, or has not refused them yet and is not lost while another one is available. */
  readonly hasLogs: boolean
}

/** A head older than this, by our clock, shows that the chain has halted: chains produce a block every few seconds. */
const OLD_SECONDS = 60

/** A height that was read longer ago does not describe the endpoint any more. */
const STALE_MS = 20_000

/** An endpoint that does not answer is lost when its height was read this many seconds ago. */
const LOST_SECONDS = 30

/** Whether an endpoint does not answer, and may not do so soon. */
export const isLost = ({ rank, heightAgeSeconds }: EndpointStatus): boolean =>
  rank === 'paused' && (heightAgeSeconds ?? LOST_SECONDS) >= LOST_SECONDS

const ageOf = ({ head }: EndpointState, now: number): number | null => (head === null ? null : now - head.seenAt)

const endpointRankOf = (state: EndpointState, all: readonly EndpointState[], now: number): EndpointRank => {
  if (state.chain === 'wrong') return 'wrong chain'
  if (state.pausedUntil > now || (state.chain === 'unknown' && state.failures > 0)) return 'paused'
  if (state.chain === 'unknown') return 'unknown'
  const rank = rankOf(state, all, now)
  return rank === 'ok' && (ageOf(state, now) ?? 0) > STALE_MS ? 'stale' : rank
}

const secondsOf = (ms: number | null): number | null => (ms === null ? null : Math.max(0, Math.floor(ms / 1_000)))

const isHalted = (states: readonly EndpointState[], now: number): boolean => {
  const heads = states.flatMap((state) =>
    isAvailable(state, now) && state.head !== null ? [{ ...state, ...state.head }] : [],
  )
  const [first] = heads
  return (
    first !== undefined &&
    heads.every(({ number }) => number === first.number) &&
    // The age when the head was read, since a head that was not requested for a while is not old.
    heads.every(({ timestamp, seenAt }) => seenAt / 1_000 - Number(timestamp) > OLD_SECONDS) &&
    // The blocks of a chain may have old times.
    heads.every(({ advancedAt }) => advancedAt === null || now - advancedAt > OLD_SECONDS * 1_000)
  )
}

const statusOfEndpoint = (
  state: EndpointState,
  index: number,
  all: readonly EndpointState[],
  now: number,
): EndpointStatus => {
  const rank = endpointRankOf(state, all, now)
  const missing = requiredCapabilities.filter((need) => isMissing(state.missing, need, now))
  const penalty = (penaltyAt(state.penalty, now) ?? penaltyAt(state.missingLogs, now))?.why ?? null
  return {
    index,
    rank,
    height: state.head?.number ?? null,
    timestamp: state.head?.timestamp ?? null,
    heightAgeSeconds: secondsOf(ageOf(state, now)),
    width: state.width.blocks,
    batch: state.batch.most,
    missing,
    penalty,
    fault: state.fault,
  }
}

/** Whether it serves logs, or has not refused them yet. */
const mayServeLogs = ({ rank, missing }: EndpointStatus): boolean => rank !== 'wrong chain' && !missing.includes('logs')

/** Describes the endpoints of a chain without sending a request. */
export const statusOf = (states: readonly EndpointState[], now: number): ChainStatus => {
  const endpoints = states.map((state, index) => statusOfEndpoint(state, index, states, now))
  const isAnyAvailable = states.some((state) => isAvailable(state, now))
  return {
    endpoints,
    halted: isHalted(states, now),
    hasLogs: endpoints.filter(mayServeLogs).some((endpoint) => !isAnyAvailable || !isLost(endpoint)),
  }
}

/** The smallest log width among the endpoints that may serve logs; null without one. */
export const logWidthOf = ({ endpoints }: Pick<ChainStatus, 'endpoints'>): bigint | null => {
  const widths = endpoints.filter(mayServeLogs).map(({ width }) => width)
  return widths.reduce<bigint | null>((least, width) => (least === null || width < least ? width : least), null)
}
