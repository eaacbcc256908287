import type { Chain } from '../chain/chain.ts'
import type { Outcome } from '../chain/endpoint.ts'
import type { Kind } from '../db/progress.ts'
import type { StoredBlock } from '../db/query.ts'
import type { DatedFact } from '../db/write.ts'
import type { Call } from '../protocol/outputs.ts'
import { existenceOf, exists } from './existence.ts'

/** One entity. */
export type Entity = { readonly kind: Kind; readonly id: bigint }

type Record = ReturnType<typeof existenceOf> extends Call<infer T> ? T : never

/** What the answer to an entity's view at a block says as a fact; null when it does not exist. What a log alone tells is null in it. */
export const factOf = ({ id }: Entity, outcome: Outcome<Record> | undefined, block: StoredBlock): DatedFact | null => {
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
  const outcomes = await chain.readAt(
    block,
    entities.map(({ kind, id }) => existenceOf(kind, id)),
  )
  return entities.flatMap((entity, at) => factOf(entity, outcomes[at], block) ?? [])
}
