import type { Hint } from '../../protocol/abi/logs.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { type Kind, type MemberKind, memberKinds } from '../../protocol/entities.ts'
import type { Handle } from '../pool.ts'
import { insertSettlementLogs } from './settlements.ts'
import { requestEventRefresh, requestMemberRefresh, requestRefresh } from './work/refresh-queue.ts'

/** The entities of a kind that hints name. */
export const idsIn = (hints: readonly Hint[], kind: Kind): bigint[] =>
  hints.flatMap((hint) => ('id' in hint && hint.subject === kind ? hint.id : []))

/** The events whose deposits or positions may all have changed, according to hints. */
const eventsWith = (hints: readonly Hint[], member: MemberKind): bigint[] =>
  hints.flatMap((hint) => (hint.subject === 'event' && hint.members.includes(member) ? hint.id : []))

/**
 * Stores the logs of settlements among hints, and requests a refresh of what hints name. Reads of `fromBlock` or a later
 * block wait for it; none does if that is null.
 */
export const writeHints = async (
  handle: Handle,
  chainId: ChainId,
  hints: readonly Hint[],
  fromBlock: bigint | null,
): Promise<void> => {
  await insertSettlementLogs(handle, chainId, hints)
  const named = hints.map((hint) =>
    'id' in hint ? { subject: hint.subject, id: hint.id } : { subject: 'chain' as const, id: 0n },
  )
  await requestRefresh(handle, chainId, named, fromBlock)
  for (const kind of memberKinds) {
    await requestEventRefresh(handle, chainId, kind, idsIn(hints, kind), fromBlock)
    await requestMemberRefresh(handle, chainId, kind, eventsWith(hints, kind), fromBlock)
  }
}
