import { once } from 'node:events'
import { unavailable } from '../lib/errors.ts'
import { sleep } from '../lib/lifecycle.ts'
import { createSingleFlight } from '../lib/single-flight.ts'
import { doubtAt } from './doubt.ts'
import type { Outcome, Outcomes, Said, SendOptions } from './endpoint.ts'
import { isFit } from './endpoint-state.ts'
import { NodeUnreachable } from './errors.ts'
import { isOfTheNode } from './faults.ts'
import type { Keeper } from './keeper.ts'
import { type Member, needsOf } from './member.ts'
import { getBlock, getChainId, type Request } from './requests.ts'
import { isSeeing } from './standing.ts'

type Options<T extends readonly Request<unknown>[]> = Pick<SendOptions, 'signal'> & {
  /** Tells an answer, where what the node lacks would send the batch on to the next. */
  readonly isAnswer?: (outcomes: Outcomes<T>) => boolean
  /**
   * Tells what an answer contradicts, or null. Such an answer counts only where nobody gives another; where somebody does, whoever gave
   * it is doubted.
   */
  readonly contradicts?: (outcomes: Outcomes<T>) => string | null
}

type SaidAny = Said<readonly Request<unknown>[]>

/** The nodes of one chain as one. */
export type Node = {
  /**
   * Sends a batch to the best node, and to the next one when that fails or takes long. Throws a `service_unavailable` ServiceError when
   * none answers.
   */
  send<const T extends readonly Request<unknown>[]>(requests: T, options?: Options<T>): Promise<Outcomes<T>>
  /** The same, with the endpoint that answered: for callers that may find that it contradicts others or itself. */
  sendBy<const T extends readonly Request<unknown>[]>(requests: T, options?: Options<T>): Promise<Said<T>>
}

/** Whether an outcome speaks of the node and not of what was asked. */
const isLacking = (request: Request<unknown> | undefined, outcome: Outcome<unknown>): boolean =>
  outcome.ok ? request?.mayLack === true && outcome.value === null : isOfTheNode(outcome.error.fault)

/**
 * Of its time-out, how long a node may say nothing to a request before it is asked whether it is there, and how long it has to say so: else
 * it is down. Whoever waits for it goes on waiting while another may answer.
 */
const SILENT = 1 / 3
const THERE = 1 / 6

/** One that lags or is doubted has little to say: it is asked when the others say nothing for so long. */
const LAST_RESORT_MS = 500

/** How often those who wait look whether it is still worth while. */
const LOOK_UP_MS = 250

type Settled = { readonly member: Member; readonly outcomes: readonly Outcome<unknown>[] | null }

type Attempt = { readonly since: number; readonly settled: Promise<Settled> }

const isUp = (member: Member): boolean => isFit(member.state(), Date.now())

/**
 * The order of preference is the keeper's. A node that takes longer than it mostly does is not waited for alone: the next one is asked as
 * well, whoever is first counts, and the other's request is given up. An error that speaks of the node and not of the request sends
 * the batch on to the next, and so does a block that the node does not have yet.
 */
export const createNode = (deps: {
  readonly keeper: Keeper
  readonly chainId: number
  /** What each endpoint is given for an answer, in milliseconds. */
  readonly timeoutMs: number
}): Node => {
  const { keeper, chainId, timeoutMs } = deps
  const asking = createSingleFlight<void>()

  /** Whoever is busy with a long request still answers a short one. */
  const isThere = (member: Member): Promise<void> =>
    asking(String(member.index), async () => {
      const since = Date.now()
      try {
        await member.send([getChainId(), getBlock('latest')], {
          signal: AbortSignal.timeout(Math.ceil(THERE * timeoutMs)),
        })
      } catch (failure) {
        if (!(failure instanceof NodeUnreachable)) throw failure
        member.learn({ is: 'silent', since })
      }
    })

  const ask = async (member: Member, requests: readonly Request<unknown>[], signal: AbortSignal): Promise<Settled> => {
    const since = Date.now()
    const silent = setTimeout(isThere, SILENT * timeoutMs, member)
    try {
      const outcomes = await member.send(requests, { signal })
      member.latency.note(Date.now() - since)
      return { member, outcomes }
    } catch (failure) {
      if (failure instanceof NodeUnreachable) return { member, outcomes: null }
      throw failure
    } finally {
      clearTimeout(silent)
    }
  }

  /** Somebody who was asked later has answered. */
  const overtake = (slow: Member, { since }: Attempt): void => {
    slow.latency.note(Date.now() - since)
    slow.learn({ is: 'overtaken', since })
  }

  const race = async (
    requests: readonly Request<unknown>[],
    over: AbortController,
    { signal: given, isAnswer, contradicts }: Options<readonly Request<unknown>[]>,
  ): Promise<SaidAny> => {
    const order = await keeper.fit(needsOf(requests))
    const signal = given === undefined ? over.signal : AbortSignal.any([given, over.signal])
    const asked = new Map<Member, Attempt>()
    const suspects: { readonly said: SaidAny; readonly why: string }[] = []
    let poor: SaidAny | undefined
    let patience = LOOK_UP_MS
    for (;;) {
      const next = order.shift()?.member
      if (next !== undefined) {
        asked.set(next, { since: Date.now(), settled: ask(next, requests, signal) })
        patience = isSeeing(order[0]?.standing ?? 'ok') ? next.latency.patience() : LAST_RESORT_MS
      }
      if (asked.size === 0) break
      // What contradicts is no answer to be content with while another may come.
      const isEnough = poor !== undefined && suspects.length === 0
      const waitMs = order.length > 0 || isEnough ? patience : LOOK_UP_MS
      const settled = await Promise.race([...[...asked.values()].map((each) => each.settled), sleep(waitMs, signal)])
      given?.throwIfAborted()
      if (settled === undefined) {
        if (order.length === 0 && (isEnough || ![...asked.keys()].some(isUp))) break
        continue
      }
      const { member, outcomes } = settled
      asked.delete(member)
      if (outcomes === null) continue
      const said = { endpoint: member.index, outcomes }
      if (!isAnswer?.(outcomes) && outcomes.some((outcome, at) => isLacking(requests[at], outcome))) {
        poor ??= said
        continue
      }
      const why = contradicts?.(outcomes) ?? null
      if (why !== null) {
        suspects.push({ said, why })
        continue
      }
      for (const suspect of suspects) keeper.doubt(suspect.said.endpoint, suspect.why)
      // A doubted one may be quick because it makes things up.
      const isTrusted = doubtAt(member.state().doubt, Date.now()) === null
      if (isTrusted) for (const [slow, attempt] of asked) overtake(slow, attempt)
      return said
    }
    const best = suspects[0]?.said ?? poor
    if (best !== undefined) return best
    throw unavailable(`no node of chain ${chainId} answers`)
  }

  /** Rejects when the caller gives up: a look at a node that hangs may take longer than the caller has. */
  const givenUp = async (signal: AbortSignal): Promise<never> => {
    if (!signal.aborted) await once(signal, 'abort')
    throw signal.reason
  }

  const send = async (requests: readonly Request<unknown>[], options: Options<never> = {}): Promise<SaidAny> => {
    const { signal } = options
    const over = new AbortController()
    try {
      const answer = race(requests, over, options as never)
      return await (signal === undefined ? answer : Promise.race([answer, givenUp(signal)]))
    } finally {
      over.abort()
    }
  }

  return {
    // As in `Member.send`, the outcomes follow the requests one by one.
    sendBy: (requests, options) => send(requests, options as never) as never,
    send: async (requests, options) => (await send(requests, options as never)).outcomes as never,
  }
}
