import { unavailable } from '../../lib/errors.ts'
import { sleep } from '../../lib/lifecycle.ts'
import { untilAborted } from '../../lib/with-timeout.ts'
import { type Endpoint, needsOf } from '../endpoints/endpoint.ts'
import { penaltyAt } from '../endpoints/penalty.ts'
import { isCurrent } from '../endpoints/ranking.ts'
import { isAvailable } from '../endpoints/state.ts'
import { type Batch, type EndpointAnswer, flatten, type Outcomes } from '../rpc/batch.ts'
import { NodeUnreachable } from '../rpc/errors.ts'
import type { Request } from '../rpc/requests.ts'
import type { Outcome, SendOptions } from '../rpc/transport.ts'
import { sendForeign } from './foreign.ts'
import { isLacking } from './lacking.ts'
import type { EndpointRegistry } from './registry.ts'

type Options<B extends Batch> = Pick<SendOptions, 'signal'> & {
  /** The batch runs foreign code; see `sendForeign`, which uses no other option but the signal. */
  readonly foreign?: boolean
  /** Accepts outcomes that would be passed on to the next endpoint because this one lacks a part of them. */
  readonly isAnswer?: (outcomes: Outcomes<B>) => boolean
  /**
   * Returns what the outcomes contradict, or null. They only count when no endpoint gives other outcomes; else their
   * endpoint is penalized.
   */
  readonly contradicts?: (outcomes: Outcomes<B>) => string | null
}

/** The endpoints of one chain as one node. */
export type Node = {
  /**
   * Sends a batch to the best endpoint, and to the next one when that fails or is slow. Throws `service_unavailable`
   * when none answers.
   */
  send<const B extends Batch>(batch: B, options?: Options<B>): Promise<Outcomes<B>>
  /** The same with the endpoint that answered, for callers that check the answer and may penalize the endpoint. */
  sendBy<const B extends Batch>(batch: B, options?: Options<B>): Promise<EndpointAnswer<B>>
}

/**
 * Parts of the time-out: how long an endpoint may leave a request unanswered before its liveness is checked, and the
 * time-out of that check. An endpoint that fails it counts as down. Callers go on waiting while another endpoint may
 * answer.
 */
const SILENT = 1 / 3
const LIVENESS = 1 / 6

/** A lagging or penalized endpoint is only asked when the better ones do not answer for this long. */
const LAST_RESORT_MS = 500

/** How often a caller that waits checks that an endpoint is still up. */
const CHECK_EVERY_MS = 250

type Settled<B extends Batch> = {
  readonly endpoint: Endpoint
  /** The outcomes, or why there are none. */
  readonly outcomes: Outcomes<B> | NodeUnreachable
}

type Attempt<B extends Batch> = { readonly since: number; readonly settled: Promise<Settled<B>> }

/** Why the requests of a batch that is answered are aborted. Each abort without a reason would create an error. */
const ENDED = new DOMException('the batch is answered', 'AbortError')

const isUp = (endpoint: Endpoint): boolean => isAvailable(endpoint.state(), Date.now())

/**
 * Asks endpoints in the order of their rank. When one takes longer than it usually does, the next one is asked too: the
 * first answer counts and the other request is aborted. A fault of the node and a block that it does not have yet pass
 * the batch on to the next one.
 */
export const createNode = (deps: {
  readonly registry: EndpointRegistry
  readonly chainId: number
  /** The time-out of each endpoint, in milliseconds. */
  readonly timeoutMs: number
}): Node => {
  const { registry, chainId, timeoutMs } = deps
  const ask = async <B extends Batch>(endpoint: Endpoint, batch: B, signal: AbortSignal): Promise<Settled<B>> => {
    const since = Date.now()
    const silent = setTimeout(registry.checkLiveness, SILENT * timeoutMs, endpoint, Math.ceil(LIVENESS * timeoutMs))
    try {
      const outcomes = await endpoint.send(batch, { signal })
      endpoint.latency.record(Date.now() - since)
      return { endpoint, outcomes }
    } catch (failure) {
      if (failure instanceof NodeUnreachable) return { endpoint, outcomes: failure }
      throw failure
    } finally {
      clearTimeout(silent)
    }
  }

  /** Another endpoint, asked later, answered first. */
  const overtake = (slow: Endpoint, { since }: Pick<Attempt<Batch>, 'since'>): void => {
    slow.latency.record(Date.now() - since)
    slow.learn({ is: 'overtaken', since })
  }

  const race = async <B extends Batch>(
    batch: B,
    ended: AbortController,
    { signal: given, isAnswer, contradicts }: Options<B>,
  ): Promise<EndpointAnswer<B>> => {
    const requests = flatten<Request<unknown>>(batch)
    const order = await registry.ranked(needsOf(requests))
    const signal = given === undefined ? ended.signal : AbortSignal.any([given, ended.signal])
    const asked = new Map<Endpoint, Attempt<B>>()
    const suspects: { readonly answer: EndpointAnswer<B>; readonly why: string }[] = []
    let partial: EndpointAnswer<B> | undefined
    let tooLong: NodeUnreachable | undefined
    let nextAfterMs = CHECK_EVERY_MS
    for (;;) {
      const next = order.shift()?.endpoint
      if (next !== undefined) {
        asked.set(next, { since: Date.now(), settled: ask(next, batch, signal) })
        nextAfterMs = isCurrent(order[0]?.rank ?? 'ok') ? next.latency.waitMs() : LAST_RESORT_MS
      }
      if (asked.size === 0) break
      // A contradicting answer is not enough while another one may come.
      const isEnough = partial !== undefined && suspects.length === 0
      const waitMs = order.length > 0 || isEnough ? nextAfterMs : CHECK_EVERY_MS
      const settled = await Promise.race([...[...asked.values()].map((each) => each.settled), sleep(waitMs, signal)])
      given?.throwIfAborted()
      if (settled === undefined) {
        if (order.length === 0 && (isEnough || ![...asked.keys()].some(isUp))) break
        continue
      }
      const { endpoint, outcomes } = settled
      asked.delete(endpoint)
      if (outcomes instanceof NodeUnreachable) {
        if (outcomes.fault.kind === 'size') tooLong = outcomes
        continue
      }
      const answer = { endpoint: endpoint.index, outcomes }
      const isPartial = flatten<Outcome<unknown>>(outcomes).some((outcome, at) => isLacking(requests[at], outcome))
      if (isPartial && isAnswer?.(outcomes) !== true) {
        partial ??= answer
        continue
      }
      const why = contradicts?.(outcomes) ?? null
      if (why !== null) {
        suspects.push({ answer, why })
        continue
      }
      for (const suspect of suspects) registry.penalize(suspect.answer.endpoint, suspect.why)
      // A penalized endpoint may be quick because it invents its answers.
      const isTrusted = penaltyAt(endpoint.state().penalty, Date.now()) === null
      if (isTrusted) for (const [slow, attempt] of asked) overtake(slow, attempt)
      return answer
    }
    const best = suspects[0]?.answer ?? partial
    if (best !== undefined) return best
    if (tooLong) throw unavailable(`the answer of the nodes of chain ${chainId} is too long`, tooLong)
    throw unavailable(`no node of chain ${chainId} answers`)
  }

  const sendBy: Node['sendBy'] = async (batch, options = {}) => {
    const { signal, foreign = false } = options
    if (foreign) return sendForeign(deps, batch, signal)
    const ended = new AbortController()
    try {
      const answered = race(batch, ended, options)
      // The probe of an endpoint that hangs may take longer than the caller waits.
      return await (signal === undefined ? answered : untilAborted(answered, signal))
    } finally {
      ended.abort(ENDED)
    }
  }

  return {
    sendBy,
    send: async (batch, options) => (await sendBy(batch, options)).outcomes,
  }
}
