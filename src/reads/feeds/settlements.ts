import type { Address } from 'viem'
import { z } from 'zod'
import { ofWallet, settlementsScope } from '../../db/changes/scopes.ts'
import type { SettlementFilter, SettlementQueries, FeedSettlement as Stored } from '../../db/queries/settlements.ts'
import { invalidField } from '../../lib/errors.ts'
import { type ChainId, OfChain, PathChainId } from '../../protocol/chains.ts'
import { PageLimit } from '../../protocol/fields/request-fields.ts'
import { Account, decimal, Id, Integer, integer, Rate, UnixSeconds } from '../../protocol/fields/response-fields.ts'
import { type Changes, type Resource, resourceOf } from '../cache/resources.ts'
import { consistency } from '../freshness/consistency.ts'
import { revertedField } from '../freshness/reverted.ts'
import { choice, Flag, MAX_WALLETS, Wallets } from '../lists/query.ts'
import { Hash } from '../lists/records.ts'
import { chainsOf } from '../lists/resource.ts'
import { Claimable } from '../portfolio/records.ts'
import type { ReadSources } from '../read.ts'
import { asOfChain, asOfFields, LAST_EVENT_ID, POLL_AFTER_MS } from './meta.ts'

const BlockHash = z.string()

const WalletClaimable = Claimable.extend({ wallet: Account, eventId: Id })

export const Settlement = z
  .object({
    seq: Integer.meta({
      description: 'Sequence number of the item, which grows with every item over all chains',
    }),
    type: z.enum(['settled', 'reverted', 'finalized']).meta({
      description:
        '`settled`: the event was settled; `reverted`: a reorg removed a settlement that was reported before; `finalized`: the settlement is final, with `finality=finalized`',
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
    transactionHash: Hash.nullable().meta({
      description: 'The transaction that settled the event; null where no log reported it',
    }),
    claimables: z.array(WalletClaimable).optional().meta({
      description: 'What the wallets of the request can claim from the event now; with `wallet`, in pages',
    }),
  })
  .meta({ id: 'Settlement' })

export type Settlement = z.output<typeof Settlement>

export const SettlementsMeta = z
  .object({
    nextCursor: z.string().meta({ description: 'The value of `since` for the next request' }),
    hasMore: z.boolean(),
    pollAfterMs: Integer.meta({ description: 'When to poll again, in milliseconds' }),
    asOf: z.array(z.object(asOfFields)),
    claimablesComplete: z.boolean().optional().meta({
      description:
        'Whether `claimables` has everything; false when a wallet has more than a portfolio lists. With `wallet`',
    }),
    ...revertedField,
  })
  .meta({ id: 'SettlementsMeta' })

const isPosition = (text: string): boolean => /^\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text))

/** A position in the feed. */
const Cursor = z
  .string()
  .refine((text) => text === 'now' || isPosition(text), { error: 'expected `meta.nextCursor` of a response, or `now`' })
  .transform((text) => (text === 'now' ? ('now' as const) : Number(text)))

const idError = 'expected the id of an event of this stream'

const MAX_EVENT_IDS = 200
const idsError = `expected up to ${MAX_EVENT_IDS} event ids, separated by commas`

const fields = {
  chainId: PathChainId.optional().meta({ description: 'The chain; all chains when omitted' }),
  since: Cursor.optional().meta({
    description:
      'Return items after this position: `meta.nextCursor` of the previous response, or `now` for future items only. Starts at the first item when omitted',
    type: 'string',
    pattern: '^(now|\\d{1,16})$',
  }),
  lastEventId: z
    .string()
    .refine(isPosition, { error: idError })
    .transform(Number)
    .optional()
    .meta({
      description: `${LAST_EVENT_ID}. Only for streams`,
      type: 'string',
      pattern: '^\\d{1,16}$',
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
  finality: choice(['latest', 'finalized']).optional().meta({
    description:
      '`latest` (default): settlements as the index finds them, and their reversals; `finalized`: settlements once they are final, with numbers of their own',
  }),
}

export const SettlementsQuery = z.object({
  ...fields,
  wallet: Wallets.optional().meta({
    description: `Return only settlements of events that these wallets created, deposited into or bought protection from, at most ${MAX_WALLETS}, and all reversals, with \`claimables\`. Not for streams`,
  }),
  limit: PageLimit(200).default(50).meta({ description: 'Items per page; 50 by default' }),
  ...consistency,
})

/** The query of a stream, which has no pages. */
export const StreamQuery = z.object({ ...fields, ...consistency })

export type StreamQuery = z.output<typeof StreamQuery>

export type SettlementsQuery = z.output<typeof SettlementsQuery>

/** Makes the filter of a query. Throws `validation_error` for event ids without a chain. */
export const filterOf = (query: StreamQuery | SettlementsQuery): SettlementFilter => {
  const { chainId, eventIds, triggered, finality } = query
  const { wallet }: Partial<SettlementsQuery> = query
  if (eventIds !== undefined && chainId === undefined)
    throw invalidField('chainId', 'expected one chain: eventIds are of one chain')
  const chainIds = chainsOf(chainId === undefined ? undefined : [chainId])
  return { chainIds, eventIds, triggered, wallets: wallet, isFinal: finality === 'finalized' }
}

/** The resource of the feed on some chains, and of what wallets can claim there. */
export const feedOf = (chains: readonly ChainId[], wallets: readonly Address[] = []): Resource =>
  resourceOf(chains, settlementsScope, ...wallets.map(ofWallet))

/** Parses the position in `Last-Event-ID`. Throws `validation_error` for a value that is not the id of an item. */
export const resumeAt = (lastEventId: string): number => {
  if (isPosition(lastEventId)) return Number(lastEventId)
  throw invalidField('Last-Event-ID', idError)
}

/** The sources of pages of settlements. */
export type SettlementSources = Pick<ReadSources, 'chains' | 'queries'> & {
  readonly changes: Changes
  readonly settlements: SettlementQueries
}

/**
 * The position after which a request starts. `name` is the parameter or the header that has it. Throws `validation_error`
 * for one of the future, after which nothing would ever arrive.
 */
export const startOf = async (
  { changes, settlements }: SettlementSources,
  since: SettlementsQuery['since'],
  name = 'since',
): Promise<number> => {
  if (since === 'now') return changes.isCurrent([]) ? changes.position() : settlements.position()
  const start = since ?? 0
  // Another process may have given a position that this one does not know yet.
  if (start > changes.position() && (await settlements.isFuture(start)))
    throw invalidField(name, 'expected a position that this feed has given, got one of the future')
  return start
}

/** Renders a settlement for the feed. */
export const settlement = ({ txHash, finalizedSeq: _, isFinal = false, type, ...it }: Stored): Settlement => ({
  ...it,
  type: isFinal && type === 'settled' ? 'finalized' : type,
  eventId: integer(it.eventId),
  settledAt: integer(it.settledAt),
  settlementPrice: decimal(it.settlementPrice),
  blockNumber: integer(it.blockNumber),
  transactionHash: txHash,
})

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
  const asOfChains = await Promise.all(filter.chainIds.map((chainId) => asOfChain(sources, chainId)))
  const start = await startOf(sources, query.since)
  const found = await sources.settlements.after(start, filter, query.limit + 1)
  const data = found.slice(0, query.limit).map(settlement)
  const hasMore = found.length > query.limit
  const nextCursor = String(data.at(-1)?.seq ?? start)
  return { data, meta: { nextCursor, hasMore, pollAfterMs: hasMore ? 0 : POLL_AFTER_MS, asOf: asOfChains } }
}
