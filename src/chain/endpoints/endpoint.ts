import { z } from 'zod'
import { isLogged } from '../../lib/backoff.ts'
import type { Logger } from '../../lib/observe/log.ts'
import { type Batch, flatten, type Outcomes, unflatten } from '../rpc/batch.ts'
import { NodeUnreachable, redactUrls } from '../rpc/errors.ts'
import { type Fault, isNodeFault } from '../rpc/faults.ts'
import { sendMerged } from '../rpc/merged/send.ts'
import type { Odd } from '../rpc/odd.ts'
import { nodeRequests } from '../rpc/request-channel.ts'
import type { Request } from '../rpc/requests.ts'
import { createTransport, type Outcome, type SendOptions, type Transport } from '../rpc/transport.ts'
import { isMissing, type RequiredCapability, requiredCapabilities } from './capabilities.ts'
import { createLatency, type Latency } from './latency.ts'
import { type EndpointReport, type EndpointState, initialState, learn } from './state.ts'

export type EndpointOptions = {
  readonly chainId: number
  readonly url: string
  /** Its zero-based position in the configuration, which identifies it in the log. */
  readonly index: number
  readonly timeoutMs: number
  /** Blocks in the first request for logs. */
  readonly logWidth: bigint
  readonly log: Logger
}

/** One endpoint and its state. */
export type Endpoint = {
  readonly index: number
  state(): EndpointState
  isMissing(need: RequiredCapability): boolean
  learn(report: EndpointReport): void
  /** Of the requests of readers, which any endpoint could have answered. */
  readonly latency: Latency
  /**
   * Sends a batch. The view calls of one block are merged, and the batch is split where it exceeds the node's limit.
   * Each answer updates the state. Throws NodeUnreachable, which updates the state too unless the caller's `signal` has
   * aborted.
   */
  send<const B extends Batch>(batch: B, options?: SendOptions): Promise<Outcomes<B>>
  close(): Promise<void>
}

const HeadShape = z.object({ number: z.bigint(), timestamp: z.bigint() })

/** The capability that a request needs and not every node has. */
const needOf = ({ method, params: [first, second, overrides] }: Request<unknown>): RequiredCapability | null => {
  if (method === 'eth_getLogs') return 'logs'
  if (method === 'eth_simulateV1') return 'simulation'
  if (method === 'eth_call' && overrides !== undefined) return 'overrides'
  if (method === 'debug_traceTransaction') return 'trace'
  if (first === 'safe' || first === 'finalized') return 'tags'
  return typeof second === 'object' && second !== null ? 'pinned' : null
}

/** The capabilities that a list of requests needs. */
export const needsOf = (requests: readonly Request<unknown>[]): RequiredCapability[] => {
  const distinct = new Set(requests.map(needOf))
  return [...distinct].filter((need) => need !== null)
}

/**
 * Whether a report of a batch that runs foreign code counts: what answered, and a refusal of what only such batches
 * need or of a capability, which a node gives without running the code. Time, size and quota may be the code's doing.
 */
const isJudged = (report: EndpointReport): boolean => {
  if (report.is !== 'fault') return report.is === 'answer'
  const { fault, needed } = report
  return fault.kind === 'capability' || (needed.includes('trace') && ['garbage', 'batch'].includes(fault.kind))
}

/** Creates an endpoint whose state is updated by each answer and each failure. */
export const createEndpoint = (
  { chainId, url, index, timeoutMs, logWidth, log }: EndpointOptions,
  transport: Transport = createTransport({ url, timeoutMs }),
): Endpoint => {
  let state = initialState(logWidth)

  const logChange = (before: EndpointState, report: EndpointReport): void => {
    const fields = { chainId, node: index }
    if (state.chain === 'wrong' && before.chain !== 'wrong') {
      log.error(fields, 'node serves another chain and is not used')
    }
    if (state.width.blocks < before.width.blocks) {
      log.info({ ...fields, width: state.width.blocks.toString() }, 'log width of the node reduced')
    }
    const isReported = state.failures > before.failures && isLogged(state.failures)
    if (isReported && report.is === 'fault' && isNodeFault(report.fault)) {
      log.warn({ ...fields, failures: state.failures, kind: report.fault.kind, fault: report.text }, 'node failed')
    }
    if (isReported && report.is === 'silent') {
      log.warn({ ...fields, failures: state.failures, fault: state.fault }, 'node failed')
    }
    if (state.penalty !== null && state.penalty !== before.penalty) {
      const { why, times, until } = state.penalty
      log.warn(
        { ...fields, why, times, seconds: Math.round((until - Date.now()) / 1_000) },
        'node is penalized and asked last',
      )
    }
    if (state.missingLogs !== null && state.missingLogs !== before.missingLogs) {
      log.warn({ ...fields, why: state.missingLogs.why, times: state.missingLogs.times }, 'node leaves logs out')
    }
    for (const need of requiredCapabilities) {
      const { times = 0 } = state.missing[need] ?? {}
      if (times > (before.missing[need]?.times ?? 0)) log.warn({ ...fields, missing: need }, 'node lacks a capability')
    }
  }

  const update = (report: EndpointReport): void => {
    const before = state
    state = learn(state, report, Date.now())
    logChange(before, report)
    const isSilent =
      ['overtaken', 'silent'].includes(report.is) || (report.is === 'fault' && report.fault.kind === 'unanswered')
    const isDown = isSilent && state.pausedUntil > before.pausedUntil
    if (isDown) transport.renew()
  }

  const faultReport = (of: Fault, text: string, needed: readonly RequiredCapability[]): EndpointReport => ({
    is: 'fault',
    fault: of,
    needed,
    text: redactUrls(text),
  })

  /** Reports what a request showed, except what foreign code may have caused. */
  const reportOf =
    ({ foreign = false }: SendOptions) =>
    (report: EndpointReport): void => {
      if (!foreign || isJudged(report)) update(report)
    }

  /** Sends batches of at most `maxRequests` requests: one first, and the others concurrently once it is accepted. */
  const sendSplit = async (
    requests: readonly Request<unknown>[],
    maxRequests: number,
    options: SendOptions,
  ): Promise<Outcome<unknown>[]> => {
    const send = async (from: number) => {
      const part = requests.slice(from, from + maxRequests)
      const odd = new Set<Odd>()
      const about = { chainId, node: index, methods: part.map(({ method }) => method), signal: options.signal, odd }
      const outcomes = await nodeRequests.trace(about, () =>
        transport.send(part, { ...options, alone: maxRequests === 1, odd }),
      )
      update({ is: 'response' })
      return outcomes
    }
    const first = await send(0)
    const count = Math.ceil(requests.length / maxRequests)
    const others = await Promise.all(Array.from({ length: count - 1 }, (_, at) => send((at + 1) * maxRequests)))
    return [first, ...others].flat()
  }

  /** Sends smaller batches when a batch is refused as a whole; a size that works is kept as the node's limit. */
  const sendFitting = async (
    requests: readonly Request<unknown>[],
    options: SendOptions,
    maxRequests = state.batch.most,
  ): Promise<Outcome<unknown>[]> => {
    try {
      const outcomes = await sendSplit(requests, maxRequests, options)
      if (maxRequests < state.batch.most) reportOf(options)({ is: 'batch', most: maxRequests })
      return outcomes
    } catch (refusal) {
      if (!(refusal instanceof NodeUnreachable) || refusal.fault.kind !== 'batch' || maxRequests === 1) throw refusal
      const sent = Math.min(maxRequests, requests.length)
      const stated = refusal.fault.most
      const fewer = stated !== null && stated < sent ? stated : Math.floor(sent / 4)
      return sendFitting(requests, options, Math.max(1, fewer))
    }
  }

  const learnFrom = (
    requests: readonly Request<unknown>[],
    outcomes: readonly Outcome<unknown>[],
    report: (report: EndpointReport) => void,
  ): void => {
    const served = requests.filter((_, at) => outcomes[at]?.ok)
    // Equal refusals of the items of one batch count once.
    const faults = new Map<string, { readonly of: Fault; readonly needed: readonly RequiredCapability[] }>()
    for (const [at, request] of requests.entries()) {
      const outcome = outcomes[at]
      if (outcome?.ok === false) {
        if (request.isForLater?.(outcome.error) === true) continue
        faults.set(outcome.error.message, { of: outcome.error.fault, needed: needsOf([request]) })
      } else if (request.method === 'eth_getBlockByNumber' && request.params[0] === 'latest') {
        const head = HeadShape.safeParse(outcome?.value)
        if (head.success) report({ is: 'head', ...head.data })
      }
    }
    const hasNoAnswer = [...faults.values()].some(({ of }) => of.kind === 'unanswered' || of.kind === 'rate')
    if (!hasNoAnswer) report({ is: 'answer', needed: needsOf(served) })
    for (const [text, { of, needed }] of faults) if (of.kind !== 'other') report(faultReport(of, text, needed))
  }

  return {
    index,
    state: () => state,
    isMissing: (need) => isMissing(state.missing, need, Date.now()),
    learn: update,
    latency: createLatency(),
    async send(batch, options = {}) {
      const requests = flatten<Request<unknown>>(batch)
      try {
        const outcomes = await sendMerged(requests, {
          async send(parts) {
            const answers = await sendFitting(parts, options)
            learnFrom(parts, answers, reportOf(options))
            return answers
          },
          merging: () => state.merging,
          learn: (failed) => reportOf(options)({ is: 'merged', failed }),
        })
        return unflatten(batch, outcomes)
      } catch (failure) {
        if (failure instanceof NodeUnreachable && options.signal?.aborted !== true) {
          reportOf(options)(faultReport(failure.fault, failure.message, needsOf(requests)))
        }
        throw failure
      }
    },
    close: transport.close,
  }
}
