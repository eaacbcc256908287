import { type ServiceError, unavailable } from '../lib/errors.ts'
import type { Deployment } from '../protocol/chains.ts'
import { logTopics } from '../protocol/logs.ts'
import type { RawLog } from '../protocol/packed-log.ts'
import { NodeError, NodeUnreachable, toServiceError } from './errors.ts'
import type { Fault } from './faults.ts'
import type { Keeper } from './keeper.ts'
import type { Member } from './member.ts'
import { type Block, getBlock, getLogs } from './requests.ts'

/** A range of logs with the block that closes it and the one before it, all from one endpoint. */
export type LogRange = {
  readonly endpoint: number
  readonly logs: readonly RawLog[]
  readonly last: Block
  readonly before: Block | null
}

type Span = { readonly from: bigint; readonly upTo: bigint }
type Deps = { readonly keeper: Keeper; readonly deployment: Deployment }
type Refused = { readonly fault: Fault; readonly why: ServiceError }

/** Faults after which the same node may answer a narrower range. */
const narrower: readonly Fault['kind'][] = ['range', 'size', 'other']

/** Asks in one batch, so that the logs and the two blocks belong together. */
const ask = async (
  { deployment }: Deps,
  member: Member,
  { from, upTo: to }: Span,
  anyTopic: boolean,
): Promise<LogRange | Refused> => {
  const topics = anyTopic ? [] : logTopics
  try {
    const [logs, last, before] = await member.send([
      getLogs({ address: deployment.diamond, topics, fromBlock: from, toBlock: to }),
      getBlock(to),
      getBlock(from === 0n ? 0n : from - 1n),
    ])
    if (!logs.ok) throw logs.error
    if (!last.ok) return { fault: { kind: 'missing' }, why: toServiceError(last.error) }
    if (!before.ok) return { fault: { kind: 'missing' }, why: toServiceError(before.error) }
    // A node that lacks the last block has none of its logs, and says so by an empty answer.
    if (last.value === null) return { fault: { kind: 'missing' }, why: unavailable(`no node has block ${to}`) }
    return { endpoint: member.index, logs: logs.value, last: last.value, before: before.value }
  } catch (failure) {
    if (failure instanceof NodeError) return { fault: failure.fault, why: toServiceError(failure) }
    if (failure instanceof NodeUnreachable) return { fault: failure.fault, why: unavailable(failure.message, failure) }
    throw failure
  }
}

/** Asks one node for ever narrower ranges, as far as its refusals are about that. */
const askNarrower = async (deps: Deps, member: Member, { from, upTo }: Span): Promise<LogRange | Refused> => {
  for (;;) {
    const end = from + member.state().width.blocks - 1n
    const to = end < upTo ? end : upTo
    const asked = to - from + 1n
    const anyTopic = member.lacks('topics')
    const result = await ask(deps, member, { from, upTo: to }, anyTopic)
    if (!('fault' in result)) {
      member.learn({ is: 'range', asked, fault: null, logs: result.logs.length })
      return result
    }
    member.learn({ is: 'range', asked, fault: result.fault })
    const again = result.fault.kind === 'filters' ? !anyTopic : narrower.includes(result.fault.kind) && asked > 1n
    if (!again || member.lacks('logs')) return result
  }
}

/**
 * The protocol's logs from `from` on, up to `upTo` or as far as the node takes at once: `last` tells. Each endpoint is asked with the width
 * it has shown. Throws `service_unavailable` when no endpoint answers or none serves logs, `upstream_error` when they refuse.
 */
export const fetchLogs = async (deps: Deps, span: Span): Promise<LogRange> => {
  let why: ServiceError | undefined
  for (const { member } of await deps.keeper.fit(['logs'])) {
    const result = await askNarrower(deps, member, span)
    if (!('fault' in result)) return result
    why = result.why
  }
  if (why !== undefined) throw why
  const { chainId } = deps.deployment
  throw unavailable(
    deps.keeper.status().hasLogs ? `no node of chain ${chainId} answers` : `no node of chain ${chainId} serves logs`,
  )
}
