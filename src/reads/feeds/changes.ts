import { getAddress } from 'viem'
import { z } from 'zod'
import {
  aspectNames,
  type FeedCursor,
  type FeedFilter,
  type FeedItem,
  type FeedPage,
  type FeedQueries,
  type FeedReset,
  subjectTypes,
} from '../../db/queries/feed.ts'
import { invalidField, nullIfUnavailable } from '../../lib/errors.ts'
import { BodyChainId, OfChain, PathChainId } from '../../protocol/chains.ts'
import { Address20, AT_LEAST_ONE, atMost, hints, PageLimit } from '../../protocol/fields/request-fields.ts'
import { Account, Id, Integer, integer } from '../../protocol/fields/response-fields.ts'
import type { Changes } from '../cache/resources.ts'
import { choices } from '../lists/query.ts'
import { Hash } from '../lists/records.ts'
import { chainsOf } from '../lists/resource.ts'
import type { ReadSources } from '../read.ts'
import { asOfChain, asOfFields, LAST_EVENT_ID, POLL_AFTER_MS } from './meta.ts'

/** Most wallets or events in one request. */
const MAX_SUBJECTS = 1_000

const MAX_CHANGES = 1_000
const DEFAULT_CHANGES = 100

export const Change = z
  .object({
    seq: Integer.meta({ description: 'Number of the change, which grows with every change over all chains' }),
    chainId: OfChain,
    type: z.enum(subjectTypes).meta({
      description:
        'What changed; `protocol`: fees, the pause, oracles and other state that belongs to no event or wallet',
    }),
    wallet: Account.optional().meta({ description: 'The wallet; of type `wallet`' }),
    eventId: Id.optional().meta({ description: 'The event; of type `event`' }),
    changed: z.array(z.enum(aspectNames)).meta({
      description:
        'What changed. Of a wallet: `events` that it created, its `deposits`, its `positions`, what it can claim, its `activity`. Of an event: its own state, its `deposits`, its `positions`, its `activity`. Of the protocol: `activity` that names neither a wallet nor an event, otherwise empty',
    }),
    blockNumber: Integer.meta({ description: 'The block of the index at the newest change' }),
    blockHash: Hash,
  })
  .meta({ id: 'Change' })

export type Change = z.output<typeof Change>

const resetReasons = {
  backfill: 'the index caught up with the chain, or the feed began',
  rebuilt: 'the index of the chain was built again',
  many_changes: 'one transaction changed more than the feed lists at once',
  repaired: 'wrong rows were repaired',
  unannounced: 'an older version of the service wrote the index',
  operator: 'an operator began the feed again',
  other_history: 'the database was restored or replaced after it gave the cursor',
} as const satisfies Readonly<Record<FeedReset['reason'], string>>

const Reset = z
  .object({
    chainId: OfChain,
    reason: z.enum(Object.keys(resetReasons) as FeedReset['reason'][]).meta({
      description: Object.entries(resetReasons)
        .map(([reason, text]) => `\`${reason}\`: ${text}`)
        .join('; '),
    }),
  })
  .meta({ id: 'ChangesReset' })

export const ChangesMeta = z
  .object({
    nextCursor: z.string().meta({ description: 'The value of `since` for the next request. It never expires' }),
    hasMore: z.boolean(),
    pollAfterMs: Integer.meta({ description: 'When to poll again, in milliseconds' }),
    reset: z.boolean().meta({ description: 'Whether `resets` names a chain' }),
    resets: z.array(Reset).meta({
      description: 'Chains of which everything may have changed: fetch what you keep of them again, then continue',
    }),
    asOf: z.array(z.object(asOfFields)).meta({ description: 'The newest block of each chain that is indexed' }),
  })
  .meta({ id: 'ChangesMeta' })

const CURSOR = /^([0-9a-f]{0,12})\.(\d{1,16})$/
const cursorError = 'expected `meta.nextCursor` of a response, or `now`; omit it to begin at the start'

const idError = 'expected the id of an event of this stream'

const parseCursor = (text: string): FeedCursor | undefined => {
  const [, epoch, digits] = CURSOR.exec(text) ?? []
  const seq = Number(digits)
  return epoch !== undefined && Number.isSafeInteger(seq) ? { epoch, seq } : undefined
}

/** A cursor as text, decoded; `now` for the current end of the feed. */
const Cursor = z
  .string({ error: cursorError })
  .refine((text) => text === 'now' || parseCursor(text) !== undefined, { error: cursorError })
  .transform((text) => parseCursor(text) ?? 'now')

/** Parses the cursor in `Last-Event-ID`. Throws `validation_error` for a value that is not the id of an event. */
export const cursorOf = (lastEventId: string): FeedCursor => {
  const cursor = parseCursor(lastEventId)
  if (cursor === undefined) throw invalidField('Last-Event-ID', idError)
  return cursor
}

/** The text of a cursor. */
export const cursorText = ({ epoch, seq }: FeedCursor): string => `${epoch}.${seq}`

const since = Cursor.optional().meta({
  description:
    'Return what changed after this position: `meta.nextCursor` of the previous response, or `now` for later changes only. Starts with a reset of every chain when omitted',
  type: 'string',
  pattern: `^(now|[0-9a-f]{0,12}\\.\\d{1,16})$`,
})

const inBody = (name: string): string => `POST /v1/changes takes \`${name}\` in its body`
const elsewhere = {
  wallet: inBody('wallets'),
  wallets: inBody('wallets'),
  eventId: inBody('eventIds'),
  eventIds: inBody('eventIds'),
}

export const ChangesQuery = z
  .object({
    chainId: PathChainId.optional().meta({ description: 'The chain; all chains when omitted' }),
    since,
    lastEventId: z
      .string()
      .refine((text) => parseCursor(text) !== undefined, { error: idError })
      .transform(parseCursor)
      .optional()
      .meta({
        description: `${LAST_EVENT_ID}. Only for streams`,
        type: 'string',
        pattern: '^[0-9a-f]{0,12}\\.\\d{1,16}$',
      }),
    types: choices(subjectTypes).optional().meta({
      description: 'Return only changes of these types, comma-separated; all types when omitted',
    }),
    limit: PageLimit(MAX_CHANGES)
      .default(DEFAULT_CHANGES)
      .meta({ description: `Changes per page; ${DEFAULT_CHANGES} by default` }),
  })
  .register(hints, elsewhere)

/** The query of a stream, which has no pages. */
export const ChangesStreamQuery = ChangesQuery.omit({ limit: true }).register(hints, elsewhere)

export const ChangesBody = z.strictObject({
  chainId: BodyChainId.optional().meta({ description: 'The chain; all chains when omitted' }),
  since,
  wallets: atMost(z.array(Address20).min(1, AT_LEAST_ONE), MAX_SUBJECTS)
    .optional()
    .meta({
      description: `Return only changes of these wallets, 1 to ${MAX_SUBJECTS}`,
    }),
  eventIds: atMost(z.array(z.int().nonnegative()).min(1, AT_LEAST_ONE), MAX_SUBJECTS)
    .optional()
    .meta({
      description: `Return only changes of these events, 1 to ${MAX_SUBJECTS}. Requires \`chainId\``,
    }),
  limit: z
    .int()
    .min(1)
    .max(MAX_CHANGES)
    .default(DEFAULT_CHANGES)
    .meta({
      description: `Changes per page; ${DEFAULT_CHANGES} by default`,
    }),
})

/** The filter of a query. */
export const filterOf = ({ chainId, types }: z.output<typeof ChangesStreamQuery>): FeedFilter => ({
  chainIds: chainsOf(chainId === undefined ? undefined : [chainId]),
  types: types === undefined ? subjectTypes : [...new Set(types)],
})

/** The filter of a body. Throws `validation_error` unless it names wallets or events, and one chain for events. */
export const subjectsOf = ({ chainId, wallets, eventIds }: z.output<typeof ChangesBody>): FeedFilter => {
  const chainIds = chainsOf(chainId === undefined ? undefined : [chainId])
  if (wallets !== undefined && eventIds !== undefined)
    throw invalidField('eventIds', 'expected wallets or eventIds, not both')
  if (wallets !== undefined) return { chainIds, types: ['wallet'], keys: wallets.map((wallet) => wallet.toLowerCase()) }
  if (eventIds === undefined) throw invalidField('wallets', 'expected wallets or eventIds')
  if (chainId === undefined) throw invalidField('chainId', 'expected one chain: eventIds are of one chain')
  return { chainIds, types: ['event'], keys: eventIds.map(String) }
}

/** The sources of pages of changes. */
export type ChangesSources = Pick<ReadSources, 'chains' | 'queries'> & {
  readonly changes: Changes
  readonly feed: FeedQueries
}

/**
 * The newest change that every answer of this process includes. Answers may come from its cache, so a change must not be
 * reported before the cache knows it.
 */
const knownTo = (changes: Changes): number => (changes.isCurrent([]) ? changes.position() : Number.MAX_SAFE_INTEGER)

/** Renders a change. */
export const change = ({ type, key, changed, blockNumber, ...item }: FeedItem): z.output<typeof Change> => ({
  ...item,
  type,
  changed: [...changed],
  ...(type === 'wallet' && { wallet: getAddress(key) }),
  ...(type === 'event' && { eventId: Number(key) }),
  blockNumber: integer(blockNumber),
})

/** Reads a page of the feed. `since` null is its beginning. */
export const feedPage = (
  { changes, feed }: Pick<ChangesSources, 'changes' | 'feed'>,
  from: FeedCursor | 'now' | null,
  filter: FeedFilter,
  limit: number,
): Promise<FeedPage> => feed.page(from, filter, limit, knownTo(changes))

/**
 * Renders a page of the feed. Chains that are not indexed yet have no changes. Throws `service_unavailable` when the
 * database is out of reach.
 */
export const changesPage = async (
  sources: ChangesSources,
  from: FeedCursor | 'now' | undefined,
  filter: FeedFilter,
  limit: number,
): Promise<{ readonly data: z.output<typeof Change>[]; readonly meta: z.output<typeof ChangesMeta> }> => {
  // Read first, so that the changes are at least as new as these blocks.
  const asOf = (
    await Promise.all(filter.chainIds.map((chainId) => asOfChain(sources, chainId).catch(nullIfUnavailable)))
  ).flatMap((block) => block ?? [])
  const { items, resets, next, hasMore } = await feedPage(sources, from ?? null, filter, limit)
  return {
    data: items.map(change),
    meta: {
      nextCursor: cursorText(next),
      hasMore,
      pollAfterMs: hasMore ? 0 : POLL_AFTER_MS,
      reset: resets.length > 0,
      resets: resets.map(({ chainId, reason }) => ({ chainId, reason })),
      asOf,
    },
  }
}
