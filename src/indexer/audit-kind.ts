import { toServiceError } from '../chain/errors.ts'
import type { AuditedKind } from '../db/audit-rows.ts'
import { idsIn } from '../db/audits.ts'
import { call } from '../protocol/outputs.ts'
import { compareMembers } from './audit-lists.ts'
import { type AuditDeps, type Settled, settle, twice } from './audit-look.ts'

/** Entities compared at once. */
const SIZE = 500n

/** A slice of a kind that was compared. */
export type ComparedSlice = Settled & {
  readonly lists: number
  /** The id to go on from; null when nothing lies beyond. */
  readonly next: bigint | null
}

/**
 * Compares the next entities of a kind, events with the lists of their members. Of what lies beyond the last row, the first alone is asked
 * for, and more where that exists.
 */
export const compareSlice = async (deps: AuditDeps, kind: AuditedKind, from: bigint): Promise<ComparedSlice> => {
  const { chainId } = deps.chain
  const settled = await settle(deps, kind, (last) => {
    if (kind === 'chain') return [BigInt(chainId)]
    const beyond = (last ?? 0n) + 1n
    return idsIn({ from, upTo: from <= beyond && beyond < from + SIZE ? beyond : from + SIZE - 1n })
  })
  const { first } = settled
  if (kind === 'chain') return { ...settled, lists: 0, next: null }
  const end = first.ids.at(-1) ?? from
  const isBeyond = end > (first.last ?? 0n)
  const isMore = first.comparison.differences.some(({ id, record }) => id === end && record !== null)
  const next = isBeyond && !isMore ? null : end + 1n
  if (kind !== 'event') return { ...settled, lists: 0, next }
  const members = await twice(deps, () => compareMembers(deps, first.ids))
  return { ...settled, lists: members.lists, differences: [...settled.differences, ...members.differences], next }
}

/** Compares the number of events that the chain counts at the newest block of the index with those that were met. */
export const compareTotal = async (
  { chain }: AuditDeps,
  { anchor }: Pick<Settled['first'], 'anchor'>,
  met: number,
): Promise<string[]> => {
  const [total] = await chain.readAt(anchor, [call('getTotalHedgeEvents')])
  if (!total.ok) throw toServiceError(total.error)
  return total.value === BigInt(met) ? [] : [`the chain counts ${total.value} events and has ${met}`]
}
