import { type Hex, keccak256, stringToHex } from 'viem'
import type { Chain } from '../../chain/chain.ts'
import { isRevert, toServiceError } from '../../chain/rpc/errors.ts'
import type { Block } from '../../chain/rpc/requests.ts'
import type { Outcome } from '../../chain/rpc/transport.ts'
import type { Observations } from '../../db/index/observations.ts'
import type { RefreshSubject } from '../../db/index/work/refresh-queue.ts'
import type { StoredProtocol } from '../../db/stored.ts'
import { errorText, isUnavailable } from '../../lib/errors.ts'
import type { Logger } from '../../lib/observe/log.ts'
import { type Call, call, type Output } from '../../protocol/abi/outputs.ts'
import { type EntityViews, entities, entityCalls, type Identity, type Kind } from '../../protocol/entities.ts'
import { exists } from './existence.ts'

/** The return value of a view of an existing entity. A revert is a fault of the node or of the deployment. */
const answer = <T>(outcome: Outcome<T>): T => {
  if (outcome.ok) return outcome.value
  throw toServiceError(outcome.error)
}

/** Reads an entity's views at a block. Throws when it does not exist there: some deployments return zeros then. */
const readEntity = async <K extends Kind>(chain: Chain, block: Block, kind: K, id: bigint): Promise<EntityViews<K>> => {
  const calls = Object.entries<(id: bigint) => Call>(entityCalls(kind)).map(
    ([name, callOf]) => [name, callOf(id)] as const,
  )
  const outcomes = await chain.readAt(
    block,
    calls.map(([, view]) => view),
  )
  const outputs = calls.map(([name, view], at) => {
    const outcome = outcomes[at]
    if (outcome === undefined) throw new RangeError('every view has an outcome')
    const output = answer(outcome)
    if (view.name === entities[kind].identity && !exists(outcome as Outcome<Identity>))
      throw new Error('does not exist at this block')
    return [name, output]
  })
  return Object.fromEntries(outputs) as EntityViews<K>
}

/** keccak256 of the functions that the loupe lists; null for a diamond without a loupe. */
const loupeHashOf = (facets: Outcome<Output<'facets'>>): Hex | null => {
  if (!facets.ok && isRevert(facets.error)) return null
  return keccak256(stringToHex(JSON.stringify(answer(facets))))
}

const readProtocol = async (chain: Chain, block: Block): Promise<Omit<StoredProtocol, 'observedAt'>> => {
  const [fees, paused, total, facets] = await chain.readAt(block, [
    call('getHedgeFeeConfig'),
    call('isPaused'),
    call('getTotalHedgeEvents'),
    call('facets'),
  ])
  return { fees: answer(fees), paused: answer(paused), total: answer(total), loupeHash: loupeHashOf(facets) }
}

/**
 * Reads the subjects at one block, in shared batches. A subject whose views revert or cannot be decoded, or that does
 * not exist at the block, is left out with a warning, so that it does not prevent the observation of the others. Throws
 * `service_unavailable` when the nodes do not answer.
 */
export const readViews = async (
  { chain, log }: { readonly chain: Chain; readonly log: Logger },
  block: Block,
  subjects: readonly RefreshSubject[],
): Promise<Observations> => {
  const each = async <T>(subject: RefreshSubject['subject'], read: (id: bigint) => Promise<T>): Promise<T[]> => {
    const ids = subjects.filter((it) => it.subject === subject).map(({ id }) => id)
    const found = await Promise.all(
      ids.map(async (id) => {
        try {
          return [await read(id)]
        } catch (fault) {
          if (isUnavailable(fault)) throw fault
          log.warn({ chainId: chain.chainId, subject, id: String(id), fault: errorText(fault) }, 'cannot be observed')
          return []
        }
      }),
    )
    return found.flat()
  }
  const [events, deposits, positions, [protocol]] = await Promise.all([
    each('event', (id) => readEntity(chain, block, 'event', id)),
    each('deposit', (id) => readEntity(chain, block, 'deposit', id)),
    each('position', (id) => readEntity(chain, block, 'position', id)),
    each('chain', () => readProtocol(chain, block)),
  ])
  return { events, deposits, positions, protocol: protocol ?? null }
}
