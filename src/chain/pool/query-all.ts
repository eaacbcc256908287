import { unavailable } from '../../lib/errors.ts'
import { type Endpoint, needsOf } from '../endpoints/endpoint.ts'
import { type Batch, type EndpointAnswer, flatten } from '../rpc/batch.ts'
import { NodeUnreachable } from '../rpc/errors.ts'
import { isNodeFault } from '../rpc/faults.ts'
import type { Request } from '../rpc/requests.ts'
import type { Outcome } from '../rpc/transport.ts'
import type { EndpointRegistry } from './registry.ts'

/** The time-out of each endpoint. */
const TIMEOUT_MS = 1_000

/**
 * Whether the endpoint refused the request unseen. A missing block is an answer: the endpoint's chain does not have it.
 */
const isRefused = (outcome: Outcome<unknown>): boolean =>
  !outcome.ok && outcome.error.fault.kind !== 'missing' && isNodeFault(outcome.error.fault)

const ask = async <B extends Batch>(endpoint: Endpoint, batch: B): Promise<readonly EndpointAnswer<B>[]> => {
  try {
    const outcomes = await endpoint.send(batch, { timeoutMs: TIMEOUT_MS })
    return flatten<Outcome<unknown>>(outcomes).every(isRefused) ? [] : [{ endpoint: endpoint.index, outcomes }]
  } catch (failure) {
    if (failure instanceof NodeUnreachable) return []
    throw failure
  }
}

/**
 * Sends a batch to every available endpoint concurrently and returns the answers in the order of rank, penalized
 * endpoints last. Endpoints that fail, refuse the whole batch or take more than a second are left out. Throws
 * `service_unavailable` when none answers.
 */
export const queryAllEndpoints = async <const B extends Batch>(
  { registry, chainId }: { readonly registry: EndpointRegistry; readonly chainId: number },
  batch: B,
): Promise<readonly EndpointAnswer<B>[]> => {
  const ranked = await registry.ranked(needsOf(flatten<Request<unknown>>(batch)))
  const answers = (await Promise.all(ranked.map(({ endpoint }) => ask(endpoint, batch)))).flat()
  if (answers.length === 0) throw unavailable(`no node of chain ${chainId} answers`)
  return answers
}
