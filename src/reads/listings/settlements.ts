import { z } from 'zod'
import { settlementsScope } from '../../db/changes/scopes.ts'
import type { Settlement as Stored } from '../../db/index/settlements.ts'
import type { SettlementFilter, SettlementQueries } from '../../db/queries/settlements.ts'
import { invalidField } from '../../lib/errors.ts'
import { type ChainId, OfChain, PathChainId } from '../../protocol/chains.ts'
import { PageLimit } from '../../protocol/request-fields.ts'
import { decimal, Id, Integer, integer, Rate, UnixSeconds } from '../../protocol/response-fields.ts'
import { type Changes, type Resource, resourceOf } from '../cache/resources.ts'
import { consistency } from '../freshness/consistency.ts'
import { blockFields, indexedBlock } from '../freshness/freshness.ts'
import { revertedField } from '../freshness/reverted.ts'
import { lagOfReached } from '../lag/lag.ts'
import type { ReadSources } from '../read.ts'
import { Flag } from './query.ts'
import { chainsOf } from './resource.ts'

const BlockHash = z.string()

export const Settlement = z
  .object({
    seq: Integer.meta({
      description: 'Sequence number of the item, which grows with every item over all chains',
    }),
    type: z.enum(['settled', 'reverted']).meta({
      description:
        '`settled`: the event was settled; `reverted`: a reorg removed a settlement that was reported before',
    }),
    chainId: OfChain,
    eventId: Id,
    settledAt: UnixSeconds,
    triggered: z.boolean(),
    settlementPrice: Rate,
    blockNumber: Integer.meta({
      description: 'The block at which the index found the settlement',
    }),
    blockHash: BlockHash,
  })
  .meta({ id: 'Settlement' })

export type Settlement = z.output<typeof Settlement>

const AsOf = z.object({
  chainId: OfChain,
  blockNumber: Integer,
  blockHash: BlockHash,
  blockTimestamp: UnixSeconds,
  lagSeconds: Integer.meta({ description: 'How far the index is behind the chain, in seconds' }),
})

export const SettlementsMeta = z
  .object({
    nextCursor: z.string().meta({ description: 'The value of `since` for the next request' }),
    hasMore: z.boolean(),
    pollAfterMs: Integer.meta({ description: 'When to poll again, in milliseconds' }),
    asOf: z.array(AsOf),
    ...revertedField,
  })
  .meta({ id: 'SettlementsMeta' })

const CURSOR = /^\d{1,16}$/

/** A position in the feed. */
const Cursor = z
  .string()
  .refine((text) => text === 'now' || (CURSOR.test(text) && Number(text) <= Number.MAX_SAFE_INTEGER), {
    error: 'expected `meta.nextCursor` of a response, or `now`',
  })
  .transform((text) => (text === 'now' ? ('now' as const) : Number(text)))

const MAX_EVENT_IDS = 200
const idsError = `expected up to ${MAX_EVENT_IDS} event ids, separated by commas`

/** How often the index has new blocks at most, in milliseconds. */
const POLL_AFTER_MS = 1_000

const fields = {
  chainId: PathChainId.optional().meta({ description: 'The chain; all chains when omitted' }),
  since: Cursor.optional().meta({
    description:
      'Return items after this position: `meta.nextCursor` of the previous response, or `now` for future items only. Starts at the first item when omitted',
    type: 'string',
    pattern: '^(now|\\d{1,16})$',
  }),
  eventIds: z
    .string()
    .refine((text) => /^\d{1,15}(,\d{1,15})*$/.test(text) && text.split(',').length <= MAX_EVENT_IDS, {
      error: idsError,
    })
    .transform((text) => text.split(',').map(BigInt))
    .optional()
    .meta({
      description: 'Return only items of these events. Requires `chainId`',
      type: 'string',
      pattern: '^\\d+(,\\d+)*$',
    }),
  triggered: Flag.optional().meta({ description: 'Return only triggered or only not triggered settlements' }),
}

export const SettlementsQuery = z.object({
  ...fields,
  limit: PageLimit(200).default(50).meta({ description: 'Items per page; 50 by default' }),
  ...consistency,
})

/** The query of a stream, which has no pages. */
export const StreamQuery = z.object({ ...fields, ...consistency })

export type StreamQuery = z.output<typeof StreamQuery>

export type SettlementsQuery = z.output<typeof SettlementsQuery>

/** Makes the filter of a query. Throws `validation_error` for event ids without a chain. */
export const filterOf = ({ chainId, eventIds, triggered }: StreamQuery): SettlementFilter => {
  if (eventIds !== undefined && chainId === undefined)
    throw invalidField('chainId', 'expected one chain: eventIds are of one chain')
  return { chainIds: chainsOf(chainId === undefined ? undefined : [chainId]), eventIds, triggered }
}

/** The resource of the feed on some chains. */
export const feedOf = (chains: readonly ChainId[]): Resource => resourceOf(chains, settlementsScope)

/** Parses the position in `Last-Event-ID`. Throws `validation_error` for a value that is not the id of an item. */
export const resumeAt = (lastEventId: string): number => {
  if (CURSOR.test(lastEventId)) return Number(lastEventId)
  throw invalidField('Last-Event-ID', 'expected the id of an event of this stream')
}

/** The sources of pages of settlements. */
export type SettlementSources = Pick<ReadSources, 'chains' | 'queries'> & {
  readonly changes: Changes
  readonly settlements: SettlementQueries
}

/** The position after which a request with `since` starts. */
export const startOf = async ({ changes, settlements }: SettlementSources, since: SettlementsQuery['since']) => {
  if (since !== 'now') return since ?? 0
  return changes.isCurrent([]) ? changes.position() : settlements.position()
}

/** Renders a settlement for the feed. */
export const settlement = (it: Stored): Settlement => ({
  ...it,
  eventId: integer(it.eventId),
  settledAt: integer(it.settledAt),
  settlementPrice: decimal(it.settlementPrice),
  blockNumber: integer(it.blockNumber),
})

const asOf = async (sources: SettlementSources, chainId: ChainId): Promise<z.output<typeof AsOf>> => {
  const progress = sources.changes.isCurrent([chainId]) ? sources.changes.reached(chainId) : undefined
  const { block, lagSeconds } =
    progress === undefined
      ? await indexedBlock(sources, chainId)
      : { block: progress.block, lagSeconds: lagOfReached(progress) ?? 0 }
  return { chainId, ...blockFields(block), lagSeconds }
}

/**
 * Reads a page of the feed. The cursor of an empty page is the position of the request. Throws `service_unavailable`
 * when the database is out of reach or a chain is not indexed yet.
 */
export const settlementsPage = async (
  sources: SettlementSources,
  query: SettlementsQuery,
): Promise<{ readonly data: Settlement[]; readonly meta: z.output<typeof SettlementsMeta> }> => {
  const filter = filterOf(query)
  // Read first, so that the items are at least as new as these blocks.
  const asOfChains = await Promise.all(filter.chainIds.map((chainId) => asOf(sources, chainId)))
  const start = await startOf(sources, query.since)
  const found = await sources.settlements.after(start, filter, query.limit + 1)
  const data = found.slice(0, query.limit).map(settlement)
  const hasMore = found.length > query.limit
  const nextCursor = String(data.at(-1)?.seq ?? start)
  return { data, meta: { nextCursor, hasMore, pollAfterMs: hasMore ? 0 : POLL_AFTER_MS, asOf: asOfChains } }
}
