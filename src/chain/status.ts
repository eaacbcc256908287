import { type EndpointState, isFit, isLagging, lacks, type Need, needs } from './endpoint-state.ts'

/** One endpoint for operators: its place in the configuration and never its URL. */
export type EndpointStatus = {
  readonly index: number
  readonly state: 'ok' | 'unseen' | 'resting' | 'wrong chain' | 'lagging'
  /** The newest block it has shown. */
  readonly height: bigint | null
  /** Blocks it is asked the logs of at once, and requests in one batch. */
  readonly width: bigint
  readonly batch: number
  /** What it turned out not to do. */
  readonly lacks: readonly Need[]
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

const stateOf = (state: EndpointState, all: readonly EndpointState[], now: number): EndpointStatus['state'] => {
  if (state.chain === 'wrong') return 'wrong chain'
  if (state.restsUntil > now || (state.chain === 'unknown' && state.failures > 0)) return 'resting'
  if (state.chain === 'unknown') return 'unseen'
  return isLagging(state, all) ? 'lagging' : 'ok'
}

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

/** What is known of the endpoints of a chain; asks nobody. */
export const statusOf = (states: readonly EndpointState[], now: number): ChainStatus => ({
  endpoints: states.map((state, index) => ({
    index,
    state: stateOf(state, states, now),
    height: state.head?.number ?? null,
    width: state.width.blocks,
    batch: state.batch.most,
    lacks: needs.filter((need) => lacks(state, need, now)),
    fault: state.fault,
  })),
  halted: isHalted(states, now),
  hasLogs: states.some((state) => state.chain !== 'wrong' && !lacks(state, 'logs', now)),
})
