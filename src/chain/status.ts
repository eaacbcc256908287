import { doubtAt } from './doubt.ts'
import { type EndpointState, isFit } from './endpoint-state.ts'
import { isLacking, type Need, needs } from './lacks.ts'
import { type Standing, standingOf } from './standing.ts'

/** One endpoint for operators: its place in the configuration and never its URL. */
export type EndpointStatus = {
  readonly index: number
  readonly state: Standing | 'unseen' | 'resting' | 'wrong chain' | 'stale'
  /** The newest block it has shown. */
  readonly height: bigint | null
  /** That block's time, in Unix seconds. */
  readonly timestamp?: bigint | null
  /** Seconds since the height was read. */
  readonly heightAgeSeconds?: number | null
  /** Blocks it is asked the logs of at once, and requests in one batch. */
  readonly width: bigint
  readonly batch: number
  /** What it turned out not to do. */
  readonly lacks: readonly Need[]
  /** What it contradicted or left out; null when it is neither doubted nor forgetful now. */
  readonly doubt: string | null
  /** Text of its last fault, without URLs. */
  readonly fault: string | null
}

export type ChainStatus = {
  readonly endpoints: readonly EndpointStatus[]
  /** Every endpoint that answers shows the same old block: the chain stands still, and not the service. */
  readonly halted: boolean
  /** Some endpoint in use serves logs, or may. */
  readonly hasLogs: boolean
}

/** A head that is older, by the clock, is a chain's that stands still; both chains make several blocks a second. */
const OLD_SECONDS = 60

/** A height that was read longer ago says nothing of how the endpoint is now. */
const STALE_MS = 10_000

const ageOf = ({ head }: EndpointState, now: number): number | null => (head === null ? null : now - head.seenAt)

const stateOf = (state: EndpointState, all: readonly EndpointState[], now: number): EndpointStatus['state'] => {
  if (state.chain === 'wrong') return 'wrong chain'
  if (state.restsUntil > now || (state.chain === 'unknown' && state.failures > 0)) return 'resting'
  if (state.chain === 'unknown') return 'unseen'
  const standing = standingOf(state, all, now)
  return standing === 'ok' && (ageOf(state, now) ?? 0) > STALE_MS ? 'stale' : standing
}

const secondsOf = (ms: number | null): number | null => (ms === null ? null : Math.max(0, Math.floor(ms / 1_000)))

const isHalted = (states: readonly EndpointState[], now: number): boolean => {
  const heads = states.filter((state) => isFit(state, now)).flatMap(({ head }) => (head === null ? [] : [head]))
  const [first] = heads
  return (
    first !== undefined &&
    heads.every(({ number }) => number === first.number) &&
    // How old it was when it was last shown: a head that nobody asked for lately is not old.
    heads.every(({ timestamp, seenAt }) => seenAt / 1_000 - Number(timestamp) > OLD_SECONDS)
  )
}

/** The fewest blocks that an endpoint which serves logs, or may, is asked for at once; null when there is none. */
export const logWidthOf = (states: readonly EndpointState[], now: number): bigint | null => {
  const serving = states.filter((state) => state.chain !== 'wrong' && !isLacking(state.lacks, 'logs', now))
  const widths = serving.map(({ width }) => width.blocks)
  return widths.reduce<bigint | null>((least, width) => (least === null || width < least ? width : least), null)
}

/** What is known of the endpoints of a chain; asks nobody. */
export const statusOf = (states: readonly EndpointState[], now: number): ChainStatus => ({
  endpoints: states.map((state, index) => ({
    index,
    state: stateOf(state, states, now),
    height: state.head?.number ?? null,
    timestamp: state.head?.timestamp ?? null,
    heightAgeSeconds: secondsOf(ageOf(state, now)),
    width: state.width.blocks,
    batch: state.batch.most,
    lacks: needs.filter((need) => isLacking(state.lacks, need, now)),
    doubt: (doubtAt(state.doubt, now) ?? doubtAt(state.omission, now))?.why ?? null,
    fault: state.fault,
  })),
  halted: isHalted(states, now),
  hasLogs: logWidthOf(states, now) !== null,
})
