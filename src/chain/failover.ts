import { once } from 'node:events'
import { unavailable } from '../lib/errors.ts'
import { sleep } from '../lib/lifecycle.ts'
import { doubtAt } from './doubt.ts'
import type { Outcome, Outcomes, Said, SendOptions } from './endpoint.ts'
import { NodeUnreachable } from './errors.ts'
import { isOfTheNode } from './faults.ts'
import type { Keeper } from './keeper.ts'
import { type Member, needsOf } from './member.ts'
import type { Request } from './requests.ts'

type Options<T extends readonly Request<unknown>[]> = Pick<SendOptions, 'signal'> & {
  /** Tells an answer, where what the node lacks would send the batch on to the next. */
  readonly isAnswer?: (outcomes: Outcomes<T>) => boolean
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

/** A node that has said nothing for so long is not waited for alone: the next one is asked as well, and whoever is first counts. */
const PATIENCE_MS = 250

type Settled = { readonly member: Member; readonly outcomes: readonly Outcome<unknown>[] | null }

/**
 * The order of preference is the keeper's, so a hanging first node costs the patience of a few calls and then rests. An error that
 * speaks of the node and not of the request sends the batch on to the next, and so does a block that the node does not have yet.
 */
export const createNode = ({ keeper, chainId }: { readonly keeper: Keeper; readonly chainId: number }): Node => {
  const attempt = async (
    member: Member,
    requests: readonly Request<unknown>[],
    signal: AbortSignal,
  ): Promise<Settled> => {
    try {
      return { member, outcomes: await member.send(requests, { signal }) }
    } catch (failure) {
      if (failure instanceof NodeUnreachable) return { member, outcomes: null }
      throw failure
    }
  }

  const race = async (
    requests: readonly Request<unknown>[],
    over: AbortController,
    { signal: given, isAnswer }: Options<readonly Request<unknown>[]>,
  ): Promise<SaidAny> => {
    const order = await keeper.fit(needsOf(requests))
    const signal = given === undefined ? over.signal : AbortSignal.any([given, over.signal])
    const asked = new Map<Member, Promise<Settled>>()
    let answered: SaidAny | undefined
    for (;;) {
      const next = order.shift()
      if (next !== undefined) asked.set(next, attempt(next, requests, signal))
      if (asked.size === 0) break
      const patience = order.length > 0 ? [sleep(PATIENCE_MS, signal)] : []
      const settled = await Promise.race([...asked.values(), ...patience])
      given?.throwIfAborted()
      if (settled === undefined) continue
      asked.delete(settled.member)
      if (settled.outcomes === null) continue
      const said = { endpoint: settled.member.index, outcomes: settled.outcomes }
      if (isAnswer?.(said.outcomes) || !said.outcomes.some((outcome, at) => isLacking(requests[at], outcome))) {
        // A doubted one may be quick because it makes things up.
        const isTrusted = doubtAt(settled.member.state().doubt, Date.now()) === null
        if (isTrusted) for (const slow of asked.keys()) slow.learn(overtaken)
        return said
      }
      answered ??= said
    }
    if (answered !== undefined) return answered
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

/** A node that another one, asked later, was quicker than. */
const overtaken = {
  is: 'fault',
  fault: { kind: 'unanswered' },
  text: 'another node was quicker by far',
  needed: [],
} as const
