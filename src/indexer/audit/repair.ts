import type { Chain } from '../../chain/chain.ts'
import { isRevert } from '../../chain/rpc/errors.ts'
import { viewCall } from '../../chain/rpc/requests.ts'
import { blockAfter } from '../../db/index/audit/runs.ts'
import { putFact } from '../../db/index/facts.ts'
import { keepPaymentTokens } from '../../db/index/observations.ts'
import { requestRefresh } from '../../db/index/work/refresh-queue.ts'
import type { DatedFact } from '../../db/index/write.ts'
import type { Handle } from '../../db/pool.ts'
import type { StoredBlock } from '../../db/stored.ts'
import { isUnavailable } from '../../lib/errors.ts'
import type { ChainId } from '../../protocol/chains.ts'
import type { Entity } from '../../protocol/entities.ts'
import { unanimous } from '../agreement.ts'
import { recordCall } from '../reading/existence.ts'
import { factOf } from '../reading/read-by-id.ts'
import { type Difference, differencesOfFact, factRow } from './compare.ts'

/**
 * Reads an entity again: its record, null when it does not exist, undefined when endpoints do not answer or disagree.
 */
export type Confirm = (entity: Entity) => Promise<DatedFact | null | undefined>

/** Asks every endpoint for an entity at the newest block, on which they must agree. */
export const createConfirm =
  (chain: Chain): Confirm =>
  async (entity) => {
    try {
      const head = await chain.head()
      const record = viewCall(chain.deployment.diamond, recordCall(entity), { blockHash: head.hash })
      const answers = (await chain.queryAllEndpoints({ record })).flatMap(({ outcomes: { record } }) =>
        record.ok || isRevert(record.error) ? [factOf(entity, record, head)] : [],
      )
      return unanimous(chain, answers, (first, other) => differencesOfFact(entity, factRow(first), other).length === 0)
    } catch (fault) {
      if (isUnavailable(fault)) return undefined
      throw fault
    }
  }

/** The verdict on a difference after a second comparison. */
export type Verdict =
  /** The second answer agrees with the index: the first answer was wrong. */
  | 'withdrawn'
  /** Both answers agree, so the fact is repaired. */
  | 'repairable'
  /** Both answers differ from the observation, so the entity is queued to be observed again, which replaces it. */
  | 'observed again'
  /** The answers disagree, or the chain lacks a row of the index: an operator has to decide. */
  | 'open'

/** Decides about a difference of a fact after a second answer. */
export const verdictOf = (
  { entity, row, record }: { readonly entity: Entity } & Pick<Difference, 'row' | 'record'>,
  second: DatedFact | null | undefined,
): Verdict => {
  if (second === undefined) return 'open'
  if (differencesOfFact(entity, row, second).length === 0) return 'withdrawn'
  return record !== null && second !== null && differencesOfFact(entity, factRow(record), second).length === 0
    ? 'repairable'
    : 'open'
}

/**
 * Repairs a fact from the chain's record at `block`, which the transaction must have locked. A missing row is dated by
 * the row after it, so that a rollback removes both or neither. Requests a refresh of the entity and of its event or
 * the protocol's count.
 */
export const repair = async (
  handle: Handle,
  chainId: ChainId,
  block: StoredBlock,
  record: DatedFact,
): Promise<void> => {
  const { number: blockNumber, hash: blockHash, timestamp } = await blockAfter(handle, chainId, record, block)
  await putFact(handle, chainId, { ...record, blockNumber, blockHash, blockTimestamp: timestamp })
  if (record.kind === 'event') await keepPaymentTokens(handle, chainId, [record.id])
  await requestRefresh(handle, chainId, [
    { subject: record.kind, id: record.id },
    record.kind === 'event' ? { subject: 'chain', id: 0n } : { subject: 'event', id: record.eventId },
  ])
}
