import type { Chain } from '../chain/chain.ts'
import type { Block } from '../chain/requests.ts'
import type { LastIds } from '../db/progress.ts'
import type { Fact } from '../protocol/logs.ts'
import { call } from '../protocol/outputs.ts'

const kinds = ['event', 'deposit', 'position'] as const
type Kind = (typeof kinds)[number]

/** Rows are missing: `id` is the last one of its kind before the gap, null when the first is missing. */
export class RowsMissing extends Error {
  override readonly name = 'RowsMissing'
  readonly kind: Kind
  readonly id: bigint | null

  constructor(kind: Kind, id: bigint | null, detail: string) {
    super(`${kind} rows are missing after ${id ?? 'the start'}: ${detail}`)
    this.kind = kind
    this.id = id
  }
}

/**
 * Ids are dense, so a hole between the index's last id and the range's, or within the range, names a row that a node left out.
 * Gives the last ids after the range; throws RowsMissing. The first id ever seen is taken as it is: no deployment owes us a 1.
 */
export const checkDense = (last: LastIds, facts: readonly Fact[]): LastIds => {
  const reached = { ...last }
  for (const { kind, id } of [...facts].sort((a, b) => (a.id < b.id ? -1 : 1))) {
    const before = reached[kind]
    if (before !== null && id <= before) continue
    if (before !== null && id !== before + 1n) throw new RowsMissing(kind, before, `the next log is of ${id}`)
    reached[kind] = id
  }
  return reached
}

/**
 * Asks the chain at the range's last block whether anything lies beyond the last ids: the total of events, and the next deposit
 * and position. This is what makes an empty answer to `eth_getLogs` believable. Throws RowsMissing.
 */
export const checkComplete = async (chain: Chain, block: Block, reached: LastIds): Promise<void> => {
  // Where nothing was ever seen, the first id is 0 or 1.
  const next = (kind: Kind): bigint => (reached[kind] ?? 0n) + 1n
  const [total, deposit, position] = await chain.readAt(block, [
    call('getTotalHedgeEvents'),
    call('getHedgeLpDeposit', [next('deposit')]),
    call('getHedgePosition', [next('position')]),
  ])
  if (total.ok && total.value > (reached.event ?? 0n)) {
    throw new RowsMissing('event', reached.event, `the chain counts ${total.value}`)
  }
  if (deposit.ok && deposit.value.id !== 0n)
    throw new RowsMissing('deposit', reached.deposit, `${next('deposit')} exists`)
  if (position.ok && position.value.id !== 0n)
    throw new RowsMissing('position', reached.position, `${next('position')} exists`)
}
