import { backoffMs } from '../lib/backoff.ts'
import { type Doubt, doubting } from './doubt.ts'
import type { Fault } from './faults.ts'
import { type Lacks, lacking, type Need, without } from './lacks.ts'
import { firstMerging, learnMerging, type Merged, type Merging } from './merging.ts'
import { firstWidth, learnWidth, type Width } from './width.ts'

/** A newest block, and when it was seen; `timestamp` in Unix seconds. */
type Sight = { readonly number: bigint; readonly timestamp: bigint; readonly seenAt: number }

/** What is remembered of an endpoint; times in milliseconds since the epoch. */
export type EndpointState = {
  /** Whether it serves the chain it is configured for; `unknown` until it is asked, and again after it was down. */
  readonly chain: 'unknown' | 'right' | 'wrong'
  /** Its newest block when last asked for it. */
  readonly head: Sight | null
  /** What that was some seconds ago, newest first: others are asked less often, and compared with it as it was then. */
  readonly earlier: readonly Sight[]
  readonly width: Width
  /** Requests it takes in one batch (at 1 it takes none), and answers since that was learned. */
  readonly batch: { readonly most: number; readonly answers: number }
  readonly merging: Merging
  readonly lacks: Lacks
  /** Its last contradiction, until long after. */
  readonly doubt: Doubt | null
  /** The last time that it left logs out, the same way. */
  readonly omission: Doubt | null
  /** When it last said anything. */
  readonly heardAt: number
  /** Times in a row that it was of no use. */
  readonly failures: number
  /** When that was last noticed. */
  readonly failedAt: number
  readonly restsUntil: number
  /** Text of its last fault, without URLs. */
  readonly fault: string | null
}

/** What an endpoint was seen to do. */
export type Seen =
  /** A batch was answered, and what was asked of these needs was served. */
  | { readonly is: 'answer'; readonly needed: readonly Need[] }
  | { readonly is: 'head'; readonly number: bigint; readonly timestamp: bigint }
  | { readonly is: 'chain'; readonly right: boolean }
  | { readonly is: 'batch'; readonly most: number }
  /** View calls were sent to it as one. */
  | { readonly is: 'merged'; readonly came: Merged }
  /** A range of `asked` blocks was answered with so many `logs`, or not (`fault`). */
  | { readonly is: 'range'; readonly asked: bigint; readonly fault: Fault | null; readonly logs?: number }
  /** `needed` is what the request needed of the node, beyond what all nodes do. */
  | { readonly is: 'fault'; readonly fault: Fault; readonly text: string; readonly needed: readonly Need[] }
  /** It had not answered a request of the time `since` when another one that was asked later had. */
  | { readonly is: 'overtaken'; readonly since: number }
  /** Something came back that can be read, be it one batch of several. */
  | { readonly is: 'response' }
  /** It was asked whether it is there at the time `since`, and did not say so in time. */
  | { readonly is: 'silent'; readonly since: number }
  /** What it said contradicts the others, or what it said before. */
  | { readonly is: 'doubt'; readonly why: string }
  /** It left logs out. What it says of blocks is as good as ever. */
  | { readonly is: 'omission'; readonly why: string }

/** Nodes refuse batches past a size of their own; a hundred passes nearly everywhere. */
const FIRST_BATCH = 100

/** A batch may have been refused for a passing reason: after so many answers, twice as many requests are tried. */
const ANSWERS_UNTIL_MORE = 100

/** Earlier blocks that are remembered, and how far apart: together longer than an endpoint goes without a look. */
const EARLIER = { most: 4, everyMs: 1_000 }

/** Failures in a row after which an endpoint rests: once is a hiccup. */
const FAILURES = 2

/** Refusals of a range in a row, ever narrower, after which the node is taken to have no logs. */
const REFUSALS = 4

const REST = { from: 250, to: 2_000 }
const WRONG_CHAIN_REST_MS = 5_000
/** Longest rest a node may ask for by `Retry-After`. */
const LONGEST_WAIT_MS = 60_000

/** An endpoint that nobody has asked anything yet; `logWidth` is the blocks to ask the logs of at first. */
export const unseen = (logWidth: bigint): EndpointState => ({
  chain: 'unknown',
  head: null,
  earlier: [],
  width: firstWidth(logWidth),
  batch: { most: FIRST_BATCH, answers: 0 },
  merging: firstMerging,
  lacks: {},
  doubt: null,
  omission: null,
  heardAt: 0,
  failures: 0,
  failedAt: 0,
  restsUntil: 0,
  fault: null,
})

const remembered = ({ head, earlier }: EndpointState, now: number): readonly Sight[] => {
  const [last] = earlier
  if (head === null || (last !== undefined && now - last.seenAt < EARLIER.everyMs)) return earlier
  return [head, ...earlier].slice(0, EARLIER.most)
}

const larger = ({ most, answers }: EndpointState['batch']): EndpointState['batch'] =>
  most === FIRST_BATCH || answers < ANSWERS_UNTIL_MORE
    ? { most, answers: answers + 1 }
    : { most: Math.min(FIRST_BATCH, most * 2), answers: 0 }

const failed = (state: EndpointState, now: number): EndpointState => {
  // Requests that were under way together fail together, and count once.
  if (state.restsUntil > now) return state
  const failures = state.failures + 1
  if (failures < FAILURES) return { ...state, failures, failedAt: now }
  // Whatever comes back at this address may be another node.
  return {
    ...state,
    chain: 'unknown',
    failures,
    failedAt: now,
    restsUntil: now + backoffMs(failures - FAILURES, REST.from, REST.to),
  }
}

/** Asked too often: it rests for as long as it says, or ever longer. */
const limited = (state: EndpointState, retryAfterMs: number | null, now: number): EndpointState => {
  const isResting = state.restsUntil > now
  if (isResting && retryAfterMs === null) return state
  const waitMs = Math.min(retryAfterMs ?? backoffMs(state.failures, REST.from, REST.to), LONGEST_WAIT_MS)
  const failures = isResting ? state.failures : state.failures + 1
  return { ...state, failures, restsUntil: Math.max(state.restsUntil, now + waitMs) }
}

const faulty = (state: EndpointState, { fault, text, needed }: Extract<Seen, { is: 'fault' }>, now: number) => {
  const told = { ...state, fault: text }
  switch (fault.kind) {
    case 'rate':
      return limited(told, fault.retryAfterMs, now)
    case 'capability': {
      const need = needed.find((each) => fault.lacks === null || each === fault.lacks)
      return need === undefined ? told : { ...told, lacks: lacking(state.lacks, need, now) }
    }
    case 'filters':
      return { ...told, lacks: lacking(state.lacks, 'topics', now) }
    case 'unanswered':
    case 'garbage':
    case 'batch':
      return failed(told, now)
    default:
      return told
  }
}

const ranged = (state: EndpointState, seen: Extract<Seen, { is: 'range' }>, now: number): EndpointState => {
  const { asked, fault, logs } = seen
  const width = learnWidth(state.width, asked, fault, logs)
  const refused = width.refusals > state.width.refusals
  if (!refused || fault?.kind === 'size' || (width.refusals < REFUSALS && asked > 1n)) return { ...state, width }
  return { ...state, width: { ...width, refusals: 0 }, lacks: lacking(state.lacks, 'logs', now) }
}

/**
 * What is known of an endpoint after something more was seen of it. A rate limit and a missing block never change the width.
 *
 * @example states[0] = learn(states[0], { is: 'chain', right: true }, Date.now())
 */
export const learn = (state: EndpointState, seen: Seen, now: number): EndpointState => {
  switch (seen.is) {
    case 'answer':
      return { ...state, failures: 0, batch: larger(state.batch), lacks: without(state.lacks, seen.needed) }
    case 'head':
      return {
        ...state,
        head: { number: seen.number, timestamp: seen.timestamp, seenAt: now },
        earlier: remembered(state, now),
      }
    case 'chain':
      return seen.right
        ? { ...state, chain: 'right' }
        : {
            ...state,
            chain: 'wrong',
            head: null,
            earlier: [],
            restsUntil: now + WRONG_CHAIN_REST_MS,
            fault: 'serves another chain',
          }
    case 'batch':
      return { ...state, batch: { most: seen.most, answers: 0 } }
    case 'merged':
      return { ...state, merging: learnMerging(state.merging, seen.came) }
    case 'range':
      return ranged(state, seen, now)
    case 'overtaken':
      // It is a short time to go by, so what was under way together counts once.
      return seen.since < state.failedAt ? state : failed({ ...state, fault: 'another node was quicker' }, now)
    case 'response':
      return { ...state, heardAt: now }
    case 'silent':
      // One that says anything is slow, not down.
      if (seen.since < state.heardAt) return state
      return failed({ ...state, failures: Math.max(state.failures, FAILURES - 1), fault: 'says nothing' }, now)
    case 'fault':
      return faulty(state, seen, now)
    case 'doubt':
      return { ...state, doubt: doubting(state.doubt, seen.why, now) }
    case 'omission':
      return { ...state, omission: doubting(state.omission, seen.why, now) }
  }
}

/** Whether requests may go to the endpoint. */
export const isFit = (state: EndpointState, now: number): boolean => state.chain === 'right' && state.restsUntil <= now
