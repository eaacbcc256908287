import type { Chain } from '../chain/chain.ts'
import { type Kind, kinds } from '../db/progress.ts'
import type { StoredBlock } from '../db/query.ts'
import type { Fact } from '../protocol/logs.ts'
import { existAt, type Ids } from './existence.ts'

/** A row is missing: the chain has it, or ids beyond it, and the index and the range do not. */
export class RowMissing extends Error {
  override readonly name = 'RowMissing'
  readonly kind: Kind
  readonly id: bigint

  constructor(kind: Kind, id: bigint, detail: string) {
    super(`${kind} ${id} is missing: ${detail}`)
    this.kind = kind
    this.id = id
  }
}

/** Logs name ids that the index holds already, so they are not of the chain that the index is on. */
class RowTwice extends Error {
  override readonly name = 'RowTwice'
}

/**
 * Ids are dense, so a hole between the index's next ids and the range's, or within the range, names a row that a node left out. Gives
 * the next ids after the range; throws RowMissing, and RowTwice for an id from before the range.
 */
export const checkDense = (next: Ids, facts: readonly Fact[]): Ids => {
  const reached = { ...next }
  for (const { kind, id } of [...facts].sort((a, b) => (a.id < b.id ? -1 : 1))) {
    if (id < next[kind]) throw new RowTwice(`${kind} ${id} was created before`)
    // A deployment may tell of one creation by a log of either name.
    if (id < reached[kind]) continue
    if (id > reached[kind]) throw new RowMissing(kind, reached[kind], `the next log is of ${id}`)
    reached[kind] = id + 1n
  }
  return reached
}

/**
 * Asks the chain at the range's last block whether anything lies beyond. This is what makes an empty answer to `eth_getLogs`
 * believable. Throws RowMissing.
 */
export const checkComplete = async (chain: Chain, block: StoredBlock, next: Ids): Promise<void> => {
  const beyond = await existAt(chain, block, next)
  for (const kind of kinds) if (beyond[kind]) throw new RowMissing(kind, next[kind], `it exists at ${block.number}`)
}
