import { backoffMs } from '../../lib/backoff.ts'
import type { Fault } from '../rpc/faults.ts'
import { answeredMerging, firstMerging, learnMerging, type Merging, type NotMerged } from '../rpc/merged/merging.ts'
import { type MissingCapabilities, type RequiredCapability, withMissing, withoutMissing } from './capabilities.ts'
import { firstWidth, type LogWidth, learnWidth } from './log-width.ts'
import { type Penalty, penalize } from './penalty.ts'

/** A newest block (`timestamp` in Unix seconds) and when it was read (`seenAt` in milliseconds). */
type HeadSample = { readonly number: bigint; readonly timestamp: bigint; readonly seenAt: number }

/** The state of an endpoint; times in milliseconds since the epoch. */
export type EndpointState = {
  /** Whether it serves the configured chain; `unknown` before the first probe and again after it was down. */
  readonly chain: 'unknown' | 'right' | 'wrong'
  /** Its newest block at the last request for it. */
  readonly head: HeadSample | null
  /** When its newest block last was a higher one than before; null before the second one. */
  readonly advancedAt: number | null
  /**
   * Its heads of the last seconds, newest first: other endpoints may have been probed earlier and are compared with
   * these.
   */
  readonly earlier: readonly HeadSample[]
  readonly width: LogWidth
  /** Refusals in a row of ranges of a few old blocks. */
  readonly refusals: number
  /** Requests that it accepts in one batch (1: it accepts no batch), and answers since that was learned. */
  readonly batch: { readonly most: number; readonly answers: number }
  readonly merging: Merging
  readonly missing: MissingCapabilities
  /**
   * The last penalty for contradicting others or itself; it is kept after it is over, because the next one is longer.
   */
  readonly penalty: Penalty | null
  /** The same for leaving logs out. */
  readonly missingLogs: Penalty | null
  /** When it last answered a request. */
  readonly respondedAt: number
  /** Failures in a row. */
  readonly failures: number
  /** When the last of them was counted. */
  readonly failedAt: number
  readonly pausedUntil: number
  /** Text of its last fault, without URLs. */
  readonly fault: string | null
}

/** A report of an endpoint, from which `learn` derives the next state. */
export type EndpointReport =
  /** It answered a batch and served requests with these needs. */
  | { readonly is: 'answer'; readonly needed: readonly RequiredCapability[] }
  | { readonly is: 'head'; readonly number: bigint; readonly timestamp: bigint }
  | { readonly is: 'chain'; readonly right: boolean }
  | { readonly is: 'batch'; readonly most: number }
  /** It did not answer a merged call. */
  | { readonly is: 'merged'; readonly failed: NotMerged }
  /** It answered a range of `asked` blocks up to `upTo` with so many `logs`, or refused it (`fault`). */
  | {
      readonly is: 'range'
      readonly asked: bigint
      readonly upTo: bigint
      readonly fault: Fault | null
      readonly logs?: number
    }
  /** `needed` are the capabilities of the request that not every node has. */
  | {
      readonly is: 'fault'
      readonly fault: Fault
      readonly text: string
      readonly needed: readonly RequiredCapability[]
    }
  /** Another endpoint, asked later, answered first; the request to this one was sent at `since`. */
  | { readonly is: 'overtaken'; readonly since: number }
  /** A readable answer arrived, possibly to one of several batches. */
  | { readonly is: 'response' }
  /** It did not answer a liveness check that was sent at `since`. */
  | { readonly is: 'silent'; readonly since: number }
  /** An answer contradicts other endpoints or an earlier answer of its own. */
  | { readonly is: 'contradiction'; readonly why: string }
  /** It left logs out of an answer; this does not affect the trust in its blocks. */
  | { readonly is: 'missing logs'; readonly why: string }
  /** The machine's clock was set back: what has a time is unknown. */
  | { readonly is: 'clock set back' }

/** Nodes limit the size of a batch; nearly all accept a hundred requests. */
const FIRST_BATCH = 100

/** A batch may have been refused for a temporary reason: after so many answers twice as many requests are tried. */
const ANSWERS_UNTIL_MORE = 100

/** Earlier heads that are kept, and their distance: together they span more time than passes between two probes. */
const EARLIER = { most: 4, everyMs: 1_000 }

/** Failures in a row after which an endpoint is paused; a single failure may be an exception. */
const FAILURES = 2

/**
 * Refusals in a row of ranges of a few old blocks, `old` blocks below the endpoint's head, after which the capability
 * `logs` counts as missing. Nearer to the head, a node may refuse what it does not have yet.
 */
const REFUSED = { times: 4, few: 8n, old: 64n }

/** The first pause after failures and the longest one, in milliseconds. */
const PAUSE_MS = { from: 250, to: 2_000 }
const WRONG_CHAIN_PAUSE_MS = 5_000
/** The longest pause that a node can ask for by `Retry-After`. */
const LONGEST_WAIT_MS = 60_000

/** The state before the first request; `logWidth` is the number of blocks in the first request for logs. */
export const initialState = (logWidth: bigint): EndpointState => ({
  chain: 'unknown',
  head: null,
  advancedAt: null,
  earlier: [],
  width: firstWidth(logWidth),
  refusals: 0,
  batch: { most: FIRST_BATCH, answers: 0 },
  merging: firstMerging,
  missing: {},
  penalty: null,
  missingLogs: null,
  respondedAt: 0,
  failures: 0,
  failedAt: 0,
  pausedUntil: 0,
  fault: null,
})

const earlierHeads = ({ head, earlier }: EndpointState, now: number): readonly HeadSample[] => {
  const [last] = earlier
  if (head === null || (last !== undefined && now - last.seenAt < EARLIER.everyMs)) return earlier
  return [head, ...earlier].slice(0, EARLIER.most)
}

const larger = ({ most, answers }: EndpointState['batch']): EndpointState['batch'] =>
  most === FIRST_BATCH || answers < ANSWERS_UNTIL_MORE
    ? { most, answers: answers + 1 }
    : { most: Math.min(FIRST_BATCH, most * 2), answers: 0 }

const failed = (state: EndpointState, now: number): EndpointState => {
  // Concurrent requests fail together and count once.
  if (state.pausedUntil > now) return state
  const failures = state.failures + 1
  if (failures < FAILURES) return { ...state, failures, failedAt: now }
  // Another node may be at this address when it answers again, so its chain is checked again.
  return {
    ...state,
    chain: 'unknown',
    failures,
    failedAt: now,
    pausedUntil: now + backoffMs(failures - FAILURES, PAUSE_MS.from, PAUSE_MS.to),
  }
}

/** A rate limit pauses the endpoint for as long as it asks for, or for ever longer. */
const limited = (state: EndpointState, retryAfterMs: number | null, now: number): EndpointState => {
  const isPaused = state.pausedUntil > now
  if (isPaused && retryAfterMs === null) return state
  const waitMs = Math.min(retryAfterMs ?? backoffMs(state.failures, PAUSE_MS.from, PAUSE_MS.to), LONGEST_WAIT_MS)
  const failures = isPaused ? state.failures : state.failures + 1
  return { ...state, failures, pausedUntil: Math.max(state.pausedUntil, now + waitMs) }
}

/** Requests for which a node executes contracts of anyone's choice, as long as these like. */
const executing = ['trace', 'simulation', 'overrides'] as const

/**
 * The state after requests without an answer of which one makes the node execute contracts: it is not asked for that
 * for a while. Providers refuse such requests in many ways, and slow ones time out, which does not concern others.
 */
const withoutExecution = (
  state: EndpointState,
  needed: readonly RequiredCapability[],
  now: number,
): EndpointState | undefined => {
  const need = executing.find((each) => needed.includes(each))
  return need && { ...state, missing: withMissing(state.missing, need, now) }
}

const faulty = (
  state: EndpointState,
  { fault, text, needed }: Extract<EndpointReport, { is: 'fault' }>,
  now: number,
): EndpointState => {
  const next: EndpointState = { ...state, fault: text }
  switch (fault.kind) {
    case 'rate':
      return limited(next, fault.retryAfterMs, now)
    case 'capability': {
      const need = needed.find((each) => fault.missing === null || each === fault.missing)
      return need === undefined ? next : { ...next, missing: withMissing(state.missing, need, now) }
    }
    case 'unanswered':
    case 'garbage':
    case 'batch':
      return withoutExecution(next, needed, now) ?? failed(next, now)
    default:
      return next
  }
}

const ranged = (state: EndpointState, report: Extract<EndpointReport, { is: 'range' }>, now: number): EndpointState => {
  const { asked, upTo, fault, logs } = report
  const isFew = asked <= REFUSED.few
  const isOld = upTo + REFUSED.old <= (state.head?.number ?? 0n)
  // An endpoint that refused old blocks, and is asked again after a while, refuses these for the same reason.
  const isJudged = isFew && (isOld || state.missing.logs !== undefined)
  if (fault?.kind === 'other' && isFew && !isJudged) return state
  const width = learnWidth(state.width, asked, fault, logs)
  if (fault === null) return { ...state, width, refusals: 0 }
  if (!isJudged || (fault.kind !== 'range' && fault.kind !== 'other')) return { ...state, width }
  const refusals = state.refusals + 1
  if (refusals < REFUSED.times && state.missing.logs === undefined) return { ...state, width, refusals }
  return { ...state, width: { ...width, refusals: 0 }, refusals: 0, missing: withMissing(state.missing, 'logs', now) }
}

/**
 * The state of an endpoint after one more report. A rate limit and a missing block never change the log width.
 *
 * @example states[0] = learn(states[0], { is: 'chain', right: true }, Date.now())
 */
export const learn = (state: EndpointState, report: EndpointReport, now: number): EndpointState => {
  switch (report.is) {
    case 'answer':
      return {
        ...state,
        failures: 0,
        batch: larger(state.batch),
        merging: answeredMerging(state.merging),
        missing: withoutMissing(state.missing, report.needed),
      }
    case 'head':
      return {
        ...state,
        head: { number: report.number, timestamp: report.timestamp, seenAt: now },
        advancedAt: state.head !== null && report.number > state.head.number ? now : state.advancedAt,
        earlier: earlierHeads(state, now),
      }
    case 'chain':
      return report.right
        ? { ...state, chain: 'right' }
        : {
            ...state,
            chain: 'wrong',
            head: null,
            earlier: [],
            pausedUntil: now + WRONG_CHAIN_PAUSE_MS,
            fault: 'serves another chain',
          }
    case 'batch':
      return { ...state, batch: { most: report.most, answers: 0 } }
    case 'merged':
      return { ...state, merging: learnMerging(state.merging, report.failed) }
    case 'range':
      return ranged(state, report, now)
    case 'overtaken':
      // The wait before another endpoint is asked is short, so concurrent requests that are overtaken count once.
      return report.since < state.failedAt ? state : failed({ ...state, fault: 'another node was quicker' }, now)
    case 'response':
      return { ...state, respondedAt: now }
    case 'silent':
      // An endpoint that answers other requests is slow, not down.
      if (report.since < state.respondedAt) return state
      return failed({ ...state, failures: Math.max(state.failures, FAILURES - 1), fault: 'no answer' }, now)
    case 'fault':
      return faulty(state, report, now)
    case 'contradiction':
      return { ...state, penalty: penalize(state.penalty, report.why, now) }
    case 'missing logs':
      return { ...state, missingLogs: penalize(state.missingLogs, report.why, now) }
    case 'clock set back':
      return { ...initialState(state.width.blocks), width: state.width, batch: state.batch, merging: state.merging }
  }
}

/** Whether the endpoint serves the right chain and is not paused. */
export const isAvailable = (state: EndpointState, now: number): boolean =>
  state.chain === 'right' && state.pausedUntil <= now
