import { toServiceError } from '../../chain/rpc/errors.ts'
import type { AuditedKind } from '../../db/index/audit/rows.ts'
import { idsIn } from '../../db/index/audit/runs.ts'
import { call } from '../../protocol/abi/outputs.ts'
import { type AuditDeps, type ConfirmedComparison, compareUntilConfirmed, repeatIfDifferent } from './confirm.ts'
import { compareMembers } from './lists.ts'

/** The comparison of a slice of one kind. */
export type ComparedSlice = ConfirmedComparison & {
  readonly lists: number
  /** The first id of the next slice; null after the last. */
  readonly next: bigint | null
}

/**
 * Compares the next entities of a kind, for events also the lists of their deposits and positions. After the last row,
 * only the next id is compared, and further ids while these exist on the chain.
 */
export const compareSlice = async (deps: AuditDeps, kind: AuditedKind, from: bigint): Promise<ComparedSlice> => {
  const { size } = deps
  const { chainId } = deps.chain
  const confirmed = await compareUntilConfirmed(deps, kind, (last) => {
    if (kind === 'chain') return [BigInt(chainId)]
    const beyond = (last ?? 0n) + 1n
    return idsIn(from, from <= beyond && beyond < from + size ? beyond : from + size - 1n)
  })
  const { first } = confirmed
  if (kind === 'chain') return { ...confirmed, lists: 0, next: null }
  const end = first.ids.at(-1) ?? from
  const isBeyond = end > (first.last ?? 0n)
  const isMore = first.comparison.differences.some(({ id, record }) => id === end && record !== null)
  const next = isBeyond && !isMore ? null : end + 1n
  if (kind !== 'event') return { ...confirmed, lists: 0, next }
  const members = await repeatIfDifferent(deps, () => compareMembers(deps, first.ids))
  return { ...confirmed, lists: members.lists, differences: [...confirmed.differences, ...members.differences], next }
}

/**
 * Compares the chain's own count of events, at the newest block of the index, with the number of events that were found
 * on the chain.
 */
export const compareTotal = async (
  { chain }: AuditDeps,
  { anchor }: Pick<ConfirmedComparison['first'], 'anchor'>,
  found: number,
): Promise<string[]> => {
  const [total] = await chain.readAt(anchor, [call('getTotalHedgeEvents')])
  if (!total.ok) throw toServiceError(total.error)
  return total.value === BigInt(found) ? [] : [`the chain counts ${total.value} events but has ${found}`]
}
