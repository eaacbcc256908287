import { backoffMs } from '../lib/backoff.ts'
import { unavailable } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { createEndpoint, type Outcome, type Outcomes } from './endpoint.ts'
import { isAboutTheNode, NodeUnreachable } from './errors.ts'
import type { Request } from './requests.ts'

type SendOptions = { readonly signal?: AbortSignal }

/** The nodes of one chain as one. */
export type Node = {
  /**
   * Sends a batch as one HTTP request to the first healthy node, then to the next. Throws a `service_unavailable` ServiceError
   * when none answers.
   */
  send<const T extends readonly Request<unknown>[]>(requests: T, options?: SendOptions): Promise<Outcomes<T>>
  close(): Promise<void>
}

export type NodeOptions = {
  readonly chainId: number
  /** In order of preference. */
  readonly urls: readonly string[]
  readonly timeoutMs: number
  readonly log: Logger
}

/**
 * Remembers which nodes failed: one that fails twice in a row rests for a moment that doubles up to five seconds, so a hanging
 * first node costs its time-out once and not on every call.
 */
export const createNode = (options: NodeOptions): Node => {
  const members = options.urls.map((url, index) => ({
    index,
    endpoint: createEndpoint({ url, timeoutMs: options.timeoutMs }),
    failures: 0,
    restsUntil: 0,
  }))

  const failed = (member: (typeof members)[number], fault: string): void => {
    member.failures += 1
    if (member.failures > 1) member.restsUntil = Date.now() + backoffMs(member.failures - 2, 250, 5_000)
    options.log.warn({ chainId: options.chainId, node: member.index, failures: member.failures, fault }, 'node failed')
  }

  const tryAll = async (requests: readonly Request<unknown>[], signal?: AbortSignal): Promise<Outcome<unknown>[]> => {
    let last: unknown
    let answered: Outcome<unknown>[] | undefined
    for (const member of members.filter(({ restsUntil }) => restsUntil <= Date.now())) {
      try {
        const outcomes = await member.endpoint.send(requests, signal)
        member.failures = 0
        if (!outcomes.some((outcome) => !outcome.ok && isAboutTheNode(outcome.error))) return outcomes
        answered ??= outcomes
      } catch (error) {
        if (!(error instanceof NodeUnreachable)) throw error
        signal?.throwIfAborted()
        failed(member, error.message)
        last = error
      }
    }
    if (answered !== undefined) return answered
    throw unavailable(`no node of chain ${options.chainId} answers`, last)
  }

  return {
    // The tuple type of the outcomes follows the requests one by one; a loop cannot show that to the compiler.
    send: (requests, { signal } = {}) => tryAll(requests, signal) as never,
    async close() {
      await Promise.all(members.map(({ endpoint }) => endpoint.close()))
    },
  }
}
