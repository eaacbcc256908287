import { unavailable } from '../../lib/errors.ts'
import { untilAborted } from '../../lib/with-timeout.ts'
import { needsOf } from '../endpoints/endpoint.ts'
import { type Batch, type EndpointAnswer, flatten } from '../rpc/batch.ts'
import { NodeUnreachable } from '../rpc/errors.ts'
import type { Request } from '../rpc/requests.ts'
import type { Outcome } from '../rpc/transport.ts'
import { isLacking } from './lacking.ts'
import type { EndpointRegistry } from './registry.ts'

/** The most time for all endpoints together, in milliseconds: an honest contract is answered in a fraction of it. */
const TIMEOUT_MS = 3_000

/** The most endpoints that are asked, one after the other: the first one may be down, or lack what is needed. */
const MAX_ENDPOINTS = 2

/**
 * Sends a batch that runs foreign code. There is no race, and the endpoints are not judged by its outcome: code that
 * uses up time or memory of one node would do so on each. Throws `service_unavailable` when no endpoint answers within
 * three seconds, and the reason of `signal`.
 */
export const sendForeign = async <const B extends Batch>(
  deps: { readonly registry: EndpointRegistry; readonly chainId: number; readonly timeoutMs: number },
  batch: B,
  signal: AbortSignal | undefined,
): Promise<EndpointAnswer<B>> => {
  const { registry, chainId } = deps
  const ms = Math.min(deps.timeoutMs, TIMEOUT_MS)
  const requests = flatten<Request<unknown>>(batch)
  const timeout = AbortSignal.timeout(ms)
  const within = signal === undefined ? timeout : AbortSignal.any([signal, timeout])
  let partial: EndpointAnswer<B> | undefined
  try {
    const order = await untilAborted(registry.ranked(needsOf(requests)), within)
    for (const { endpoint } of order.slice(0, MAX_ENDPOINTS)) {
      try {
        const outcomes = await endpoint.send(batch, { signal: within, foreign: true })
        const answer = { endpoint: endpoint.index, outcomes }
        if (!flatten<Outcome<unknown>>(outcomes).some((outcome, at) => isLacking(requests[at], outcome))) return answer
        partial ??= answer
      } catch (failure) {
        within.throwIfAborted()
        if (!(failure instanceof NodeUnreachable)) throw failure
        if (failure.fault.kind === 'size')
          throw unavailable(`the answer of the nodes of chain ${chainId} is too long`, failure)
      }
    }
  } catch (failure) {
    signal?.throwIfAborted()
    if (!timeout.aborted) throw failure
    throw unavailable(`the nodes of chain ${chainId} did not answer within ${ms} ms`, timeout.reason)
  }
  if (partial !== undefined) return partial
  throw unavailable(`no node of chain ${chainId} answers`)
}
