import { z } from 'zod'
import { invalidField, type ServiceError } from '../../lib/errors.ts'
import { type ChainId, OfChain } from '../../protocol/chains.ts'
import { Integer, UnixSeconds } from '../../protocol/fields/response-fields.ts'
import type { Changes } from '../cache/resources.ts'
import { blockFields, indexedBlock } from '../freshness/freshness.ts'
import { lagOfReached } from '../lag/lag.ts'
import { Hash } from '../lists/records.ts'
import type { ReadSources } from '../read.ts'

/** How often the index has new blocks at most, in milliseconds. */
export const POLL_AFTER_MS = 1_000

/** The description of the parameter `lastEventId`. */
export const LAST_EVENT_ID =
  'Resume after the event with this id, instead of `since`. For clients that cannot send the header `Last-Event-ID`, which wins'

/** The error of a page with that parameter. */
export const noLastEventId = (): ServiceError =>
  invalidField('lastEventId', 'expected no value: only streams have this parameter, pages continue with `since`')

/** The block that a page of a feed is as of, on one chain. */
export const asOfFields = {
  chainId: OfChain,
  blockNumber: Integer,
  blockHash: Hash,
  blockTimestamp: UnixSeconds,
  lagSeconds: Integer.meta({ description: 'How far the index is behind the chain, in seconds' }),
}

const AsOf = z.object(asOfFields)

/**
 * Reads the block of a chain that a page is as of. Throws `service_unavailable` when the database is out of reach or the
 * chain is not indexed yet.
 */
export const asOfChain = async (
  sources: Pick<ReadSources, 'chains' | 'queries'> & { readonly changes: Changes },
  chainId: ChainId,
): Promise<z.output<typeof AsOf>> => {
  const progress = sources.changes.isCurrent([chainId]) ? sources.changes.reached(chainId) : undefined
  const { block, lagSeconds } =
    progress === undefined
      ? await indexedBlock(sources, chainId)
      : { block: progress.block, lagSeconds: lagOfReached(progress) ?? 0 }
  return { chainId, ...blockFields(block), lagSeconds }
}
