import type { Chain } from '../chain/chain.ts'
import { toServiceError } from '../chain/errors.ts'
import { factsBetween, lastIdAt } from '../db/facts.ts'
import type { Database } from '../db/pool.ts'
import type { Kind } from '../db/progress.ts'
import type { StoredBlock } from '../db/query.ts'
import { call } from '../protocol/outputs.ts'
import { compareMembers } from './audit-lists.ts'
import { compareRows } from './compare.ts'

type Deps = { readonly chain: Chain; readonly database: Database }

/** Where a walk through all ids of a kind goes on, and how many it has met on the chain. */
export type KindMark = { readonly kind: Kind; readonly from: bigint; readonly met: number }

/** Entities compared at once. */
const SIZE = 500n

/**
 * Compares the next entities of a kind at a block, events with the lists of their members and the chain's count. Of what lies beyond the
 * last row, the first alone is asked for, and more where that exists. `next` is null after the last.
 */
export const compareKind = async ({ chain, database }: Deps, at: StoredBlock, { kind, from, met }: KindMark) => {
  const { chainId } = chain
  const last = await database.run((handle) => lastIdAt(handle, chainId, kind, at.number))
  const beyond = (last ?? 0n) + 1n
  const upTo = from <= beyond && beyond < from + SIZE ? beyond : from + SIZE - 1n
  const ids = { from, upTo }
  const stored = await database.run((handle) => factsBetween(handle, chainId, kind, ids))
  const rows = stored.filter(({ blockNumber }) => blockNumber <= at.number)
  const { onChain, differences } = await compareRows({ chain, block: at, kind, rows, ids })
  const words = differences.flatMap((it) => it.words)
  const isLast = upTo >= beyond && !differences.some(({ id, record }) => id === upTo && record !== null)
  if (kind === 'event') {
    const missing = differences.flatMap(({ id, row }) => (row === null ? [id] : []))
    words.push(...(await compareMembers({ chain, database }, at, [...rows.map(({ id }) => id), ...missing])))
    if (isLast) words.push(...(await compareTotal(chain, at, met + onChain)))
  }
  const next: KindMark | null = isLast ? null : { kind, from: upTo + 1n, met: met + onChain }
  return { inIndex: rows.length, onChain, last: last ?? 0n, differences: words, next }
}

const compareTotal = async (chain: Chain, at: StoredBlock, met: number): Promise<string[]> => {
  const [total] = await chain.readAt(at, [call('getTotalHedgeEvents')])
  if (!total.ok) throw toServiceError(total.error)
  return total.value === BigInt(met) ? [] : [`the chain counts ${total.value} events and has ${met}`]
}
