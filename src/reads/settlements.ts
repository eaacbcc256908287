import { z } from 'zod'
import { settlementsScope } from '../db/scopes.ts'
import type { SettlementFilter, Settlement as Stored } from '../db/settlements.ts'
import { invalid } from '../lib/errors.ts'
import { type ChainId, chainIds, PathChainId } from '../protocol/chains.ts'
import { decimal, Id, Integer, integer, OfChain, Rate, UnixSeconds } from '../protocol/values.ts'
import { PageLimit } from '../protocol/wire.ts'
import { lagOfReached, type Resource, resourceOf } from './changes.ts'
import { consistency } from './consistency.ts'
import { indexedBlock } from './lag.ts'
import type { Sources } from './read.ts'

const BlockHash = z.string().meta({ example: `0x${'5f'.repeat(32)}` })

export const Settlement = z
  .object({
    seq: Integer.meta({ description: 'Grows with every item, over all chains', example: 1_800_000_300_000_000 }),
    type: z.enum(['settled', 'reverted']).meta({
      description: '`reverted`: the settlement that was told left the chain, and does not count any more',
      example: 'settled',
    }),
    chainId: OfChain,
    eventId: Id,
    settledAt: UnixSeconds,
    triggered: z.boolean(),
    settlementPrice: Rate.meta({ example: '12500000' }),
    blockNumber: Integer.meta({ description: 'The block at which it was seen', example: 31_415_926 }),
    blockHash: BlockHash,
  })
  .meta({ id: 'Settlement' })

export type Settlement = z.output<typeof Settlement>

const AsOf = z.object({
  chainId: OfChain,
  blockNumber: Integer.meta({ example: 31_415_926 }),
  blockHash: BlockHash,
  blockTimestamp: UnixSeconds,
  lagSeconds: Integer.meta({ description: 'How far the index was behind the chain', example: 1 }),
})

export const SettlementsMeta = z
  .object({
    nextCursor: z.string().meta({ description: 'What to ask with as `since` next', example: '1800000300000000' }),
    hasMore: z.boolean(),
    pollAfterMs: Integer.meta({ description: 'When to ask again, in milliseconds', example: 1_000 }),
    asOf: z.array(AsOf),
  })
  .meta({ id: 'SettlementsMeta' })

const CURSOR = /^\d{1,16}$/

const sinceError = 'expected `meta.nextCursor` of an answer, or `now`'

/** A place in the feed. */
const Cursor = z
  .string()
  .refine((text) => text === 'now' || (CURSOR.test(text) && Number(text) <= Number.MAX_SAFE_INTEGER), {
    error: sinceError,
  })
  .transform((text) => (text === 'now' ? ('now' as const) : Number(text)))

const MOST_IDS = 200

const idsError = `expected up to ${MOST_IDS} event ids, separated by commas`

/** How often the index can have something new at all, in milliseconds. */
const POLL_AFTER_MS = 1_000

export const SettlementsQuery = z.object({
  chainId: PathChainId.optional().meta({ description: 'All chains when omitted' }),
  since: Cursor.optional().meta({
    description: '`meta.nextCursor` of the answer before, or `now` for what comes; from the beginning when omitted',
    type: 'string',
    pattern: '^(now|\\d{1,16})$',
    example: 'now',
  }),
  eventIds: z
    .string()
    .refine((text) => /^\d{1,15}(,\d{1,15})*$/.test(text) && text.split(',').length <= MOST_IDS, { error: idsError })
    .transform((text) => text.split(',').map(BigInt))
    .optional()
    .meta({
      description: 'Of these events alone; with `chainId`',
      type: 'string',
      pattern: '^\\d+(,\\d+)*$',
      example: '1,2',
    }),
  triggered: z
    .string()
    .refine((text) => text === 'true' || text === 'false', { error: 'expected true or false' })
    .transform((text) => text === 'true')
    .optional()
    .meta({ type: 'boolean', example: true }),
  limit: PageLimit(200).default(50),
  ...consistency,
})

export type SettlementsQuery = z.output<typeof SettlementsQuery>

/** What a query asks for. Throws `validation_error` for event ids of no chain in particular. */
export const filterOf = ({ chainId, eventIds, triggered }: SettlementsQuery): SettlementFilter => {
  if (eventIds !== undefined && chainId === undefined) {
    const message = 'expected one chain, which the event ids are of'
    throw invalid(`chainId: ${message}`, [{ path: 'chainId', message }])
  }
  return { chainIds: chainId === undefined ? chainIds : [chainId], eventIds, triggered }
}

/** What answers of the feed depend on. */
export const feedOf = (chains: readonly ChainId[]): Resource => resourceOf(chains, settlementsScope)

/** The place that `Last-Event-ID` tells. Throws `validation_error` for what no stream of ours gave. */
export const resumeAt = (lastEventId: string): number => {
  if (CURSOR.test(lastEventId)) return Number(lastEventId)
  throw invalid('Last-Event-ID: expected the id of an event of this stream', [
    { path: 'Last-Event-ID', message: 'expected the id of an event of this stream' },
  ])
}

/** Where a reader who asked from `since` on begins. */
export const startOf = async ({ changes, settlements }: Sources, since: SettlementsQuery['since']): Promise<number> => {
  if (since !== 'now') return since ?? 0
  return changes.isCurrent([]) ? changes.position() : settlements.position()
}

/** A settlement as the feed shows it. */
export const settlement = (it: Stored): Settlement => ({
  seq: it.seq,
  type: it.type,
  chainId: chainIds.find((id) => id === it.chainId) ?? chainIds[0],
  eventId: integer(it.eventId),
  settledAt: integer(it.settledAt),
  triggered: it.triggered,
  settlementPrice: decimal(it.settlementPrice),
  blockNumber: integer(it.blockNumber),
  blockHash: it.blockHash,
})

const asOf = async (sources: Sources, chainId: ChainId): Promise<z.output<typeof AsOf>> => {
  const known = sources.changes.isCurrent([chainId]) ? sources.changes.reached(chainId) : undefined
  const { block, lagSeconds } =
    known === undefined
      ? await indexedBlock(sources, chainId)
      : { block: known.block, lagSeconds: lagOfReached(known) ?? 0 }
  return {
    chainId,
    blockNumber: integer(block.number),
    blockHash: block.hash,
    blockTimestamp: integer(block.timestamp),
    lagSeconds,
  }
}

/**
 * A page of the feed. An empty one gives its own cursor back, so that who asks again asks for the same. Throws `service_unavailable` when the
 * database is out of reach or a chain is not indexed yet.
 */
export const settlementsPage = async (
  sources: Sources,
  query: SettlementsQuery,
): Promise<{ readonly data: Settlement[]; readonly meta: z.output<typeof SettlementsMeta> }> => {
  const filter = filterOf(query)
  // First: what is read after it is at least as new as it says.
  const at = await Promise.all(filter.chainIds.map((chainId) => asOf(sources, chainId)))
  const start = await startOf(sources, query.since)
  const found = await sources.settlements.after(start, filter, query.limit + 1)
  const data = found.slice(0, query.limit).map(settlement)
  const hasMore = found.length > query.limit
  const nextCursor = String(data.at(-1)?.seq ?? start)
  return { data, meta: { nextCursor, hasMore, pollAfterMs: hasMore ? 0 : POLL_AFTER_MS, asOf: at } }
}
