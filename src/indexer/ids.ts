import type { Chain } from '../chain/chain.ts'
import type { Outcome } from '../chain/endpoint.ts'
import type { LastIds } from '../db/progress.ts'
import type { StoredBlock } from '../db/stored.ts'
import type { DatedFact } from '../db/write.ts'
import { kinds } from '../protocol/kinds.ts'
import { type Entity, exists, recordCall, type View } from './existence.ts'

/*
 * The second source of facts, which needs no logs: ids are dense, so every entity can be read by its own. It costs by entities and not
 * by blocks. What a log alone tells (transaction, log index, initial liquidity) stays unknown.
 */

/** What the answer to an entity's view at a block says as a fact; null when it does not exist. What a log alone tells is null in it. */
export const factOf = ({ id }: Entity, outcome: Outcome<View> | undefined, block: StoredBlock): DatedFact | null => {
  if (!outcome?.ok || !exists(outcome)) return null
  const { value } = outcome
  const seen = {
    id,
    blockNumber: block.number,
    blockHash: block.hash,
    blockTimestamp: block.timestamp,
    txHash: null,
    logIndex: null,
  }
  if ('creator' in value) {
    const { creator, underlying, strike, premiumRate, expiryDate } = value
    return { kind: 'event', creator, underlying, strike, premiumRate, expiryDate, initialLiquidity: null, ...seen }
  }
  if ('lp' in value) {
    const { eventId, lp, amount, shares } = value
    return { kind: 'deposit', eventId, lp, amount, shares, ...seen }
  }
  const { eventId, hedger, notional, premiumPaid, platformFeePaid: platformFee } = value
  return { kind: 'position', eventId, hedger, notional, premiumPaid, platformFee, ...seen }
}

/** Reads entities at a block, where they exist. Throws as `Chain.readAt` does. */
export const readEntities = async (
  chain: Chain,
  block: StoredBlock,
  entities: readonly Entity[],
): Promise<DatedFact[]> => {
  const outcomes = await chain.readAt(block, entities.map(recordCall))
  return entities.flatMap((entity, at) => factOf(entity, outcomes[at], block) ?? [])
}

/** What was read on from the last ids; `complete` when nothing lies beyond it at that block. */
export type Continuation = { readonly facts: readonly DatedFact[]; readonly complete: boolean }

/** Reads on from the last ids, at most `most` (two or more) entities of each kind, at a block. Throws as `Chain.readAt` does. */
export const readOn = async (chain: Chain, block: StoredBlock, last: LastIds, most: number): Promise<Continuation> => {
  const continued = await Promise.all(
    kinds.map(async (kind) => {
      const before = last[kind]
      const from = before === null ? 0n : before + 1n
      const asked = Array.from({ length: most }, (_, at) => ({ kind, id: from + BigInt(at) }))
      const facts = await readEntities(chain, block, asked)
      // From the first id that does not exist on, what exists is not dense: of another moment, and read again.
      const begins = facts[0]?.id === 1n && before === null ? 1n : from
      const dense = facts.filter(({ id }, at) => id === begins + BigInt(at))
      return { facts: dense, complete: dense.length === facts.length && facts.at(-1)?.id !== asked.at(-1)?.id }
    }),
  )
  return { facts: continued.flatMap(({ facts }) => facts), complete: continued.every(({ complete }) => complete) }
}
