import type { Chain } from '../../chain/chain.ts'
import type { Outcome } from '../../chain/rpc/transport.ts'
import type { LastIds } from '../../db/index/work/progress.ts'
import type { DatedFact } from '../../db/index/write.ts'
import type { StoredBlock } from '../../db/stored.ts'
import { type Entity, type Identity, kinds } from '../../protocol/entities.ts'
import { exists, recordCall } from './existence.ts'

/*
 * The second source of facts, which needs no logs: ids are dense, so every entity can be read by its id. The cost grows
 * with the number of entities, not of blocks. Values that only a log has stay unknown: transaction, log index and
 * initial liquidity.
 */

/** The fact in an entity's view at a block, in which values of logs are null; null when the entity does not exist. */
export const factOf = (
  { id }: Entity,
  outcome: Outcome<Identity> | undefined,
  block: StoredBlock,
): DatedFact | null => {
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

/** Reads the entities that exist at a block. Throws as `Chain.readAt` does. */
export const readEntities = async (
  chain: Chain,
  block: StoredBlock,
  entities: readonly Entity[],
): Promise<DatedFact[]> => {
  const outcomes = await chain.readAt(block, entities.map(recordCall))
  return entities.flatMap((entity, at) => factOf(entity, outcomes[at], block) ?? [])
}

/**
 * The facts after the last ids; `complete` when no further entity exists at the block. `denied` is one that does not
 * exist, although a later one does.
 */
export type Continuation = {
  readonly facts: readonly DatedFact[]
  readonly complete: boolean
  readonly denied: Entity | undefined
}

/** Reads the entities after the last ids at a block, at most `most` of each kind. Throws as `Chain.readAt` does. */
export const readOn = async (chain: Chain, block: StoredBlock, last: LastIds, most: number): Promise<Continuation> => {
  const continued = await Promise.all(
    kinds.map(async (kind) => {
      const before = last[kind]
      const from = before === null ? 0n : before + 1n
      // The first id of a deployment may be 0 or 1.
      const length = before === null ? Math.max(most, 2) : most
      const asked = Array.from({ length }, (_, at) => ({ kind, id: from + BigInt(at) }))
      const facts = await readEntities(chain, block, asked)
      // Entities after the first id that does not exist were answered from another state. They are read again.
      const begins = facts[0]?.id === 1n && before === null ? 1n : from
      const dense = facts.filter(({ id }, at) => id === begins + BigInt(at))
      const next = facts[dense.length]
      const denied = next && { kind, id: next.id - 1n }
      return { facts: dense, complete: next === undefined && facts.at(-1)?.id !== asked.at(-1)?.id, denied }
    }),
  )
  return {
    facts: continued.flatMap(({ facts }) => facts),
    complete: continued.every(({ complete }) => complete),
    denied: continued.find(({ denied }) => denied)?.denied,
  }
}
