import { type ServiceError, unavailable } from '../lib/errors.ts'
import type { RawLog } from '../protocol/abi/packed-log.ts'
import type { Deployment } from '../protocol/chains.ts'
import type { Endpoint } from './endpoints/endpoint.ts'
import { isCurrent } from './endpoints/ranking.ts'
import { type EndpointStatus, isLost } from './endpoints/status.ts'
import type { EndpointRegistry, RankedEndpoint } from './pool/registry.ts'
import { LogsPruned, NodeError, NodeUnreachable, toServiceError } from './rpc/errors.ts'
import type { Fault } from './rpc/faults.ts'
import { type Block, getBlock, getLogs } from './rpc/requests.ts'

/** The logs of a range with its last block and the block before its first one, all from one endpoint. */
export type LogRange = {
  readonly endpoint: number
  readonly logs: readonly RawLog[]
  readonly last: Block
  readonly before: Block | null
}

/** A range of blocks. Among the endpoints that keep up with the chain, those of `askedLast` are asked after the others. */
type Span = {
  readonly from: bigint
  readonly upTo: bigint
  readonly askedLast?: ReadonlySet<number> | undefined
}
type Deps = { readonly registry: EndpointRegistry; readonly deployment: Deployment }
type Refusal = { readonly fault: Fault; readonly why: ServiceError }

/** Whether an endpoint that is not available now, or not yet, may serve logs. */
const mayServeLater = (endpoint: EndpointStatus): boolean =>
  !endpoint.missing.includes('logs') &&
  (endpoint.rank === 'unknown' || (endpoint.rank === 'paused' && !isLost(endpoint)))

/** Faults after which the same endpoint may answer a narrower range. */
const narrowable: readonly Fault['kind'][] = ['range', 'size', 'other']

/** Requests the logs and both blocks in one batch, so they are of one fork. */
const ask = async ({ deployment }: Deps, endpoint: Endpoint, { from, upTo: to }: Span): Promise<LogRange | Refusal> => {
  try {
    const { logs, last, before } = await endpoint.send({
      logs: getLogs({ address: deployment.diamond, fromBlock: from, toBlock: to }),
      last: getBlock(to),
      before: getBlock(from === 0n ? 0n : from - 1n),
    })
    if (!logs.ok) throw logs.error
    if (!last.ok) return { fault: { kind: 'missing' }, why: toServiceError(last.error) }
    if (!before.ok) return { fault: { kind: 'missing' }, why: toServiceError(before.error) }
    // A node without the last block returns no logs of it, without an error.
    if (last.value === null) return { fault: { kind: 'missing' }, why: unavailable(`no node has block ${to}`) }
    return { endpoint: endpoint.index, logs: logs.value, last: last.value, before: before.value }
  } catch (failure) {
    if (failure instanceof NodeError) return { fault: failure.fault, why: toServiceError(failure) }
    if (failure instanceof NodeUnreachable) return { fault: failure.fault, why: unavailable(failure.message, failure) }
    throw failure
  }
}

/** Asks one endpoint for ever narrower ranges while it refuses them for their width or size. */
const askNarrower = async (deps: Deps, endpoint: Endpoint, { upTo, ...span }: Span): Promise<LogRange | Refusal> => {
  for (;;) {
    const end = span.from + endpoint.state().width.blocks - 1n
    const to = end < upTo ? end : upTo
    const asked = to - span.from + 1n
    const result = await ask(deps, endpoint, { ...span, upTo: to })
    if (!('fault' in result)) {
      endpoint.learn({ is: 'range', asked, upTo: to, fault: null, logs: result.logs.length })
      return result
    }
    endpoint.learn({ is: 'range', asked, upTo: to, fault: result.fault })
    // The width stays where an endpoint may not have the blocks yet.
    const isNarrower = narrowable.includes(result.fault.kind) && endpoint.state().width.blocks < asked
    if (!isNarrower || endpoint.isMissing('logs')) return result
  }
}

/**
 * The protocol's logs from block `from` to `upTo`, or to an earlier block where the endpoint serves fewer blocks in one
 * request: `last` is the last one. Each endpoint is asked with its own log width. Throws `service_unavailable` when no
 * endpoint answers or none serves logs, `upstream_error` when they refuse, `LogsPruned` when each one that serves logs
 * has dropped those of the range.
 */
export const fetchLogs = async (deps: Deps, span: Span): Promise<LogRange> => {
  let why: ServiceError | undefined
  let pruned: ServiceError | undefined
  const isLater = ({ endpoint, rank }: RankedEndpoint): boolean =>
    !isCurrent(rank) || (span.askedLast?.has(endpoint.index) ?? false)
  const ranked = await deps.registry.ranked(['logs'])
  for (const { endpoint } of ranked.toSorted((a, b) => Number(isLater(a)) - Number(isLater(b)))) {
    const result = await askNarrower(deps, endpoint, span)
    if (!('fault' in result)) return result
    if (result.fault.kind === 'pruned') pruned = result.why
    else why = result.why
  }
  if (why !== undefined) throw why
  const { chainId } = deps.deployment
  const { hasLogs, endpoints } = deps.registry.status()
  if (pruned !== undefined && !endpoints.some(mayServeLater))
    throw new LogsPruned(`no node of chain ${chainId} has the logs of block ${span.from} any more`, pruned.cause)
  throw pruned ?? unavailable(`no node of chain ${chainId} ${hasLogs ? 'answers' : 'serves logs'}`)
}
