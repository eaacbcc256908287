import type { Chain } from '../chain/chain.ts'
import { isRevert } from '../chain/errors.ts'
import { viewCall } from '../chain/requests.ts'
import { blockAfter } from '../db/audits.ts'
import { putFact } from '../db/facts.ts'
import type { Handle } from '../db/pool.ts'
import type { StoredBlock } from '../db/stored.ts'
import { markUnobserved } from '../db/unobserved.ts'
import type { DatedFact } from '../db/write.ts'
import { isUnavailable } from '../lib/errors.ts'
import type { ChainId } from '../protocol/chains.ts'
import { type Difference, differ, factRow } from './compare.ts'
import { type Entity, recordCall } from './existence.ts'
import { factOf } from './ids.ts'

/** What the chain says of an entity at another look: its record, null when it does not exist, undefined when nobody tells. */
export type Confirm = (entity: Entity) => Promise<DatedFact | null | undefined>

/** Asks every endpoint for an entity at the newest block; they tell only when they tell the same, two at the least where there are more than one. */
export const createConfirm =
  (chain: Chain): Confirm =>
  async (entity) => {
    try {
      const head = await chain.head()
      const call = viewCall(chain.deployment.diamond, recordCall(entity), { blockHash: head.hash })
      const told = (await chain.opinions([call])).flatMap(({ outcomes: [record] }) =>
        record.ok || isRevert(record.error) ? [factOf(entity, record, head)] : [],
      )
      const [first, ...others] = told
      if (first === undefined || told.length < Math.min(2, chain.status().endpoints.length)) return undefined
      return others.every((other) => differ(entity, factRow(first), other).length === 0) ? first : undefined
    } catch (fault) {
      if (isUnavailable(fault)) return undefined
      throw fault
    }
  }

/** A difference after the second look. */
export type Verdict =
  /** The chain says what the index does: the first answer was wrong. */
  | 'withdrawn'
  /** Twice the same, and the index can be put right by it. */
  | 'repairable'
  /** Twice the same of what was observed: the entity is observed again, which replaces it. */
  | 'observed again'
  /** A text is not what its columns are rendered to: it is taken away. */
  | 'cleared'
  /** The looks disagree, or the index holds what the chain does not: for a person to judge. */
  | 'open'

/** What a second look makes of a difference in the row of an entity's creation. */
export const judge = (
  { entity, row, record }: { readonly entity: Entity } & Pick<Difference, 'row' | 'record'>,
  second: DatedFact | null | undefined,
): Verdict => {
  if (second === undefined) return 'open'
  if (differ(entity, row, second).length === 0) return 'withdrawn'
  return record !== null && second !== null && differ(entity, factRow(record), second).length === 0
    ? 'repairable'
    : 'open'
}

/**
 * Writes what the chain says of an entity at `block`, which the transaction must hold. A row that was missing is dated by the one after
 * it, so that a rollback takes both or none. What depends on it is observed again.
 */
export const repair = async (
  handle: Handle,
  chainId: ChainId,
  block: StoredBlock,
  record: DatedFact,
): Promise<void> => {
  const { number: blockNumber, hash: blockHash, timestamp } = await blockAfter(handle, chainId, record, block)
  await putFact(handle, chainId, { ...record, blockNumber, blockHash, blockTimestamp: timestamp })
  await markUnobserved(handle, chainId, [
    { subject: record.kind, id: record.id },
    record.kind === 'event' ? { subject: 'chain', id: 0n } : { subject: 'event', id: record.eventId },
  ])
}
