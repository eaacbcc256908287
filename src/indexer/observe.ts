import { type Hex, keccak256, stringToHex } from 'viem'
import type { Chain } from '../chain/chain.ts'
import type { Outcome } from '../chain/endpoint.ts'
import { isRevert, toServiceError } from '../chain/errors.ts'
import type { Block } from '../chain/requests.ts'
import type { Observations } from '../db/observations.ts'
import type { StoredDeposit, StoredEvent, StoredPosition, StoredProtocol } from '../db/stored.ts'
import type { Subject } from '../db/unobserved.ts'
import { errorText, isUnavailable } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { call, type Output } from '../protocol/outputs.ts'
import { exists, type View } from './existence.ts'

/** The answer of a view for something that is known to exist: a revert is then a fault of the node or the deployment. */
const answer = <T>(outcome: Outcome<T>): T => {
  if (outcome.ok) return outcome.value
  throw toServiceError(outcome.error)
}

/** The same of the view that names the owner; zeros are what some deployments answer for an id that does not exist. */
const existing = <T extends View>(outcome: Outcome<T>): T => {
  const view = answer(outcome)
  if (!exists(outcome)) throw new Error('does not exist at this block')
  return view
}

const observeEvent = async (chain: Chain, block: Block, id: bigint): Promise<Omit<StoredEvent, 'observedAt'>> => {
  const [core, stats, range, utilization, paymentToken] = await chain.readAt(block, [
    call('getHedgeEventCore', [id]),
    call('getHedgeEventStats', [id]),
    call('getHedgeEventRange', [id]),
    call('getPoolUtilization', [id]),
    call('getEventPaymentToken', [id]),
  ])
  return {
    core: existing(core),
    stats: answer(stats),
    range: answer(range),
    utilization: answer(utilization),
    paymentToken: answer(paymentToken),
  }
}

const observeDeposit = async (chain: Chain, block: Block, id: bigint): Promise<Omit<StoredDeposit, 'observedAt'>> => {
  const [deposit, pending] = await chain.readAt(block, [call('getHedgeLpDeposit', [id]), call('pendingPremiums', [id])])
  return { deposit: existing(deposit), pending: answer(pending) }
}

const observePosition = async (chain: Chain, block: Block, id: bigint): Promise<Omit<StoredPosition, 'observedAt'>> => {
  const [position] = await chain.readAt(block, [call('getHedgePosition', [id])])
  return { position: existing(position) }
}

/** Null for a diamond without a loupe. */
const loupeHashOf = (facets: Outcome<Output<'facets'>>): Hex | null => {
  if (!facets.ok && isRevert(facets.error)) return null
  return keccak256(stringToHex(JSON.stringify(answer(facets))))
}

const observeProtocol = async (chain: Chain, block: Block): Promise<Omit<StoredProtocol, 'observedAt'>> => {
  const [fees, paused, total, facets] = await chain.readAt(block, [
    call('getHedgeFeeConfig'),
    call('isPaused'),
    call('getTotalHedgeEvents'),
    call('facets'),
  ])
  return { fees: answer(fees), paused: answer(paused), total: answer(total), loupeHash: loupeHashOf(facets) }
}

/**
 * Reads the subjects at one block, all in the same batches. One whose views revert, or that does not exist there, is left out with a
 * warning: a single entity must not keep the others from being seen. Throws `service_unavailable` when the nodes do not answer.
 */
export const observe = async (
  { chain, log }: { readonly chain: Chain; readonly log: Logger },
  block: Block,
  subjects: readonly Subject[],
): Promise<Observations> => {
  const each = async <T>(subject: Subject['subject'], read: (id: bigint) => Promise<T>): Promise<T[]> => {
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
    each('event', (id) => observeEvent(chain, block, id)),
    each('deposit', (id) => observeDeposit(chain, block, id)),
    each('position', (id) => observePosition(chain, block, id)),
    each('chain', () => observeProtocol(chain, block)),
  ])
  return { events, deposits, positions, protocol: protocol ?? null }
}
