import { z } from 'zod'
import { type Filters, needsObservations } from '../db/listing-filters.ts'
import { type ListingRows, placeOf, type Walk } from '../db/listings.ts'
import { invalid, unavailable } from '../lib/errors.ts'
import type { ChainId } from '../protocol/chains.ts'
import type { Kind } from '../protocol/kinds.ts'
import { behind, consistency } from './consistency.ts'
import type { Freshness } from './freshness.ts'
import { isStale, lagSecondsOf, refreshingOf } from './index-lag.ts'
import { rowsOf } from './list-rows.ts'
import { decodeStages, encodeStages, type Stage } from './listing-cursor.ts'
import { DepositsQuery, EventsQuery, type ListingQuery, PositionsQuery } from './listing-query.ts'
import { DepositRow, EventRow, type ListingMeta, PositionRow } from './listing-records.ts'
import { chainsOf } from './listing-resource.ts'
import type { Sources } from './read.ts'

/** A list of whole records, in pages. */
export type Listing = {
  readonly path: `/${string}`
  readonly tag: string
  readonly summary: string
  readonly kind: Kind
  readonly query: z.ZodObject
  /** The payload. */
  readonly data: z.ZodArray
}

/** Every list of whole records. */
export const listings: readonly Listing[] = [
  {
    path: '/hedge/events',
    tag: 'Events',
    summary: 'Events by their terms and state',
    kind: 'event',
    query: EventsQuery,
    data: z.array(EventRow),
  },
  {
    path: '/hedge/positions',
    tag: 'Positions',
    summary: 'Positions of wallets and events',
    kind: 'position',
    query: PositionsQuery,
    data: z.array(PositionRow),
  },
  {
    path: '/hedge/deposits',
    tag: 'Deposits',
    summary: 'LP deposits of wallets and events',
    kind: 'deposit',
    query: DepositsQuery,
    data: z.array(DepositRow),
  },
]

const DEFAULT_LIMIT = 50

/** A page: its rows as JSON, what is said of them, and where they come from. */
export type Page = {
  readonly rows: readonly string[]
  readonly meta: ListingMeta
  readonly freshness: Freshness
  /** False when the chain was asked for a part of it. */
  readonly isIndexed: boolean
  /** Chains whose rows the filters may have judged wrongly, because a rollback deleted their observations. */
  readonly refreshing: readonly ChainId[]
}

type Parsed = Partial<ListingQuery>

const filtersOf = (query: Parsed): Filters => {
  const { eventId, expiryFrom, expiryTo, claimable, claimed, withdrawn } = query
  const { underlying, paymentToken, strikeAbove, poolOpen, state } = query
  const whole = (value: number | undefined): bigint | undefined => (value === undefined ? undefined : BigInt(value))
  return {
    ...{ owners: query.wallet ?? query.creator, eventId: whole(eventId), claimable, claimed, withdrawn, underlying },
    ...{ paymentToken, strikeAbove, poolOpen, state, expiryFrom: whole(expiryFrom), expiryTo: whole(expiryTo) },
  }
}

/** Everything that tells which rows are in a list, and their order. */
const nameOf = (path: string, chains: readonly ChainId[], query: Parsed, filters: Filters): string => {
  const { sort = 'created', order = 'desc', finality = 'latest' } = query
  const set = Object.entries(filters).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]))
  return [path, chains, sort, order, finality, ...set].join(' ')
}

const refuse = (path: string, message: string): Error => invalid(`${path}: ${message}`, [{ path, message }])

const walkOf = ({ lists }: Sources, { chainId, after, bound, rollback }: Stage): Walk => ({
  ...{ chainId, after, rollback, upTo: bound.number, now: bound.timestamp, renderKey: lists.renderer(chainId).key },
})

const firstWalk = async (sources: Sources, chainId: ChainId, finality: Parsed['finality']) => {
  const final = await sources.lists.finalBlock(chainId, finality ?? 'latest')
  const walk: Walk = {
    chainId,
    after: null,
    upTo: final?.number ?? null,
    now: final?.timestamp ?? null,
    rollback: null,
    renderKey: sources.lists.renderer(chainId).key,
  }
  return { walk, final }
}

type Begun = Awaited<ReturnType<typeof firstWalk>>

/** Where each chain's walk is after a page. Throws `service_unavailable` for a chain that is not indexed yet. */
const stagesOf = (
  begun: readonly Begun[],
  known: readonly Stage[],
  { tips }: ListingRows,
  rows: ListingRows['rows'],
): Stage[] =>
  begun.map(({ walk: { chainId }, final }) => {
    const tip = tips.find((it) => it.chainId === chainId)
    if (tip === undefined) throw unavailable(`chain ${chainId} is not indexed yet`)
    const before = known.find((it) => it.chainId === chainId)
    const text = rows.findLast((row) => row.startsWith(`${chainId},`))
    const last = text === undefined ? undefined : placeOf(text)
    const after = last === undefined ? (before?.after ?? null) : { id: BigInt(last.id), key: last.key }
    if (before !== undefined) return { ...before, after }
    const bound = final !== null && final.number < tip.block.number ? final : tip.block
    return { chainId, after, bound, rollback: tip.rollback }
  })

/** The rows and what they are as of. */
const pageOf = async (
  sources: Sources,
  listing: Listing,
  query: Parsed,
  answer: { readonly found: ListingRows; readonly rows: ListingRows['rows']; readonly stages: readonly Stage[] },
): Promise<Omit<Page, 'meta'> & Pick<ListingMeta, 'asOf'>> => {
  const { found, stages } = answer
  const { rows, isIndexed } = await rowsOf(sources, { kind: listing.kind, include: query.include ?? [] }, answer.rows)
  const asOf = stages.map(({ chainId, bound }) => {
    const tip = found.tips.find((it) => it.chainId === chainId)
    return {
      chainId,
      blockNumber: Number(bound.number),
      blockHash: bound.hash,
      blockTimestamp: Number(bound.timestamp),
      lagSeconds: tip === undefined ? null : lagSecondsOf(tip),
      reorgedSince: tip?.reorged ?? false,
    }
  })
  const lags = asOf.map(({ lagSeconds }) => lagSeconds)
  const [only, other] = stages
  const block = only !== undefined && other === undefined ? { block: only.bound } : {}
  return {
    rows: rows.filter((row) => row !== null),
    asOf,
    isIndexed,
    refreshing: needsObservations(filtersOf(query)) ? refreshingOf(found.tips) : [],
    freshness: {
      source: 'database',
      stale: lags.some((lag) => isStale(lag, sources.maxLagSeconds)),
      ...block,
      // Of the chain where it is furthest behind; the worker may not have seen one of them yet.
      ...(!lags.includes(null) && { lagSeconds: Math.max(...lags.map(Number)) }),
    },
  }
}

const byIds = async (
  sources: Sources,
  listing: Listing,
  query: Parsed & { readonly ids: readonly number[] },
): Promise<Page> => {
  const { ids, chainId: chains = [], include = [], finality, ...others } = query
  const [chainId, another] = chains
  if (chainId === undefined || another !== undefined) throw refuse('chainId', 'expected one chain with ids')
  const [strange] = Object.entries(others).flatMap(([name, value]) =>
    value === undefined || name in consistency ? [] : [name],
  )
  if (strange !== undefined) throw refuse(strange, 'does not go with ids')
  const begun = await firstWalk(sources, chainId, finality)
  const found = await sources.lists.listings.byIds({
    ...{ kind: listing.kind, include, walk: begun.walk, ids: ids.map(BigInt) },
  })
  const stages = stagesOf([begun], [], found, [])
  const { asOf, ...page } = await pageOf(sources, listing, query, { found, rows: found.rows, stages })
  const there = new Set(found.rows.map((row) => placeOf(row).id))
  const missing = ids.filter((id) => !there.has(String(id)))
  return { ...page, meta: { limit: ids.length, hasMore: false, nextCursor: null, asOf, missing } }
}

/** A page without regard to how old it is. */
const anyPage = async (sources: Sources, listing: Listing, query: Parsed): Promise<Page> => {
  const { ids, cursor, limit = DEFAULT_LIMIT, sort = 'created', order = 'desc', include = [], count = false } = query
  if (ids !== undefined) return byIds(sources, listing, { ...query, ids })

  const chains = chainsOf(query.chainId)
  const filters = filtersOf(query)
  const name = nameOf(listing.path, chains, query, filters)
  const known = cursor === undefined ? [] : decodeStages(name, cursor)
  const begun: Begun[] =
    cursor === undefined
      ? await Promise.all(chains.map((id) => firstWalk(sources, id, query.finality)))
      : known.map((stage) => ({ walk: walkOf(sources, stage), final: null }))
  const found = await sources.lists.listings.page({
    ...{ kind: listing.kind, walks: begun.map(({ walk }) => walk), filters, sort, order, include, count },
    // One row more than a page tells whether another page follows.
    limit: limit + 1,
  })
  const hasMore = found.rows.length > limit
  const rows = found.rows.slice(0, limit)
  const stages = stagesOf(begun, known, found, rows)
  const { asOf, ...page } = await pageOf(sources, listing, query, { found, rows, stages })
  const nextCursor = hasMore ? encodeStages(name, stages) : null
  return { ...page, meta: { limit, hasMore, nextCursor, asOf, ...(found.total !== null && { total: found.total }) } }
}

/**
 * A page of a list, of a block not before `atLeast`, which is of its one chain. Throws `validation_error` for a cursor of another list or
 * of a walk that began before that block, `service_unavailable` when the database is out of reach, or a chain not indexed (so far) yet.
 */
export const pageFor = async (
  sources: Sources,
  listing: Listing,
  query: Parsed,
  atLeast: bigint | null,
): Promise<Page> => {
  const page = await anyPage(sources, listing, query)
  const { block } = page.freshness
  if (atLeast === null || (block !== undefined && block.number >= atLeast)) return page
  if (query.cursor !== undefined)
    throw refuse('cursor', `expected one of a walk that began at block ${atLeast} or later`)
  const [chainId] = chainsOf(query.chainId)
  throw chainId === undefined ? new RangeError('a list is of a chain') : behind(chainId, atLeast, block)
}
