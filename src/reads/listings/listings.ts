import { z } from 'zod'
import { type Filters, needsObservations } from '../../db/queries/filters.ts'
import { type ListingRows, type ListQuery, placeOf } from '../../db/queries/listings.ts'
import { invalid, unavailable } from '../../lib/errors.ts'
import type { ChainId } from '../../protocol/chains.ts'
import type { Kind } from '../../protocol/entities.ts'
import { consistency, notIndexedYet } from '../freshness/consistency.ts'
import type { Freshness } from '../freshness/freshness.ts'
import { isStale, refreshingOf } from '../freshness/indexed-block.ts'
import { lagOfTip } from '../lag/lag.ts'
import { type ChainCursor, decodeCursor, encodeCursor } from './cursor.ts'
import { DepositsQuery, EventsQuery, type ListingQuery, PositionsQuery } from './query.ts'
import { DepositRow, EventRow, type ListingMeta, PositionRow } from './records.ts'
import { chainsOf } from './resource.ts'
import { rowsOf } from './rows.ts'
import type { ListSources } from './sources.ts'

/** A paginated list of whole records. */
export type Listing = {
  readonly path: `/${string}`
  readonly tag: string
  readonly summary: string
  readonly kind: Kind
  readonly query: z.ZodObject
  /** The schema of the payload. */
  readonly data: z.ZodArray
}

/** Every list of whole records. */
export const listings: readonly Listing[] = [
  {
    path: '/hedge/events',
    tag: 'Events',
    summary: 'List events',
    kind: 'event',
    query: EventsQuery,
    data: z.array(EventRow),
  },
  {
    path: '/hedge/positions',
    tag: 'Positions',
    summary: 'List positions',
    kind: 'position',
    query: PositionsQuery,
    data: z.array(PositionRow),
  },
  {
    path: '/hedge/deposits',
    tag: 'Deposits',
    summary: 'List LP deposits',
    kind: 'deposit',
    query: DepositsQuery,
    data: z.array(DepositRow),
  },
]

const DEFAULT_LIMIT = 50

/** A page: its rows as JSON, its metadata, and its source. */
export type Page = {
  readonly rows: readonly string[]
  readonly meta: ListingMeta
  readonly freshness: Freshness
  /** False when some rows were read from the chain. */
  readonly isIndexed: boolean
  /** The chains whose rows the filters may select wrongly, because a rollback deleted observations. */
  readonly refreshing: readonly ChainId[]
}

type ParsedQuery = Partial<ListingQuery>

const filtersOf = (query: ParsedQuery): Filters => {
  const { eventId, expiryFrom, expiryTo, claimable, claimed, withdrawn } = query
  const { underlying, paymentToken, strikeAbove, poolOpen, state } = query
  const whole = (value: number | undefined): bigint | undefined => (value === undefined ? undefined : BigInt(value))
  return {
    ...{ owners: query.wallet ?? query.creator, eventId: whole(eventId), claimable, claimed, withdrawn, underlying },
    ...{ paymentToken, strikeAbove, poolOpen, state, expiryFrom: whole(expiryFrom), expiryTo: whole(expiryTo) },
  }
}

/** The name of a list: everything that selects and orders its rows. */
const nameOf = (path: string, chains: readonly ChainId[], query: ParsedQuery, filters: Filters): string => {
  const { sort = 'created', order = 'desc', finality = 'latest' } = query
  const set = Object.entries(filters).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]))
  return [path, chains, sort, order, finality, ...set].join(' ')
}

const invalidParameter = (path: string, message: string): Error => invalid(`${path}: ${message}`, [{ path, message }])

const nextQuery = ({ lists }: ListSources, { chainId, after, bound, rollback }: ChainCursor): ListQuery => ({
  ...{ chainId, after, rollback, upTo: bound.number, now: bound.timestamp, renderKey: lists.renderer(chainId).key },
})

const firstQuery = async (sources: ListSources, chainId: ChainId, finality: ParsedQuery['finality']) => {
  const final = await sources.finality.finalBlock(chainId, finality ?? 'latest')
  const query: ListQuery = {
    chainId,
    after: null,
    upTo: final?.number ?? null,
    now: final?.timestamp ?? null,
    rollback: null,
    renderKey: sources.lists.renderer(chainId).key,
  }
  return { query, final }
}

type ChainQuery = Awaited<ReturnType<typeof firstQuery>>

/** The position in each chain after a page. Throws `service_unavailable` for a chain that is not indexed yet. */
const cursorsAfter = (
  queries: readonly ChainQuery[],
  previousCursors: readonly ChainCursor[],
  { tips }: ListingRows,
  rows: ListingRows['rows'],
): ChainCursor[] =>
  queries.map(({ query: { chainId }, final }) => {
    const tip = tips.find((it) => it.chainId === chainId)
    if (tip === undefined) throw unavailable(`chain ${chainId} is not indexed yet`)
    const previous = previousCursors.find((it) => it.chainId === chainId)
    const text = rows.findLast((row) => row.startsWith(`${chainId},`))
    const last = text === undefined ? undefined : placeOf(text)
    const after = last === undefined ? (previous?.after ?? null) : { id: BigInt(last.id), key: last.key }
    if (previous !== undefined) return { ...previous, after }
    const bound = final !== null && final.number < tip.block.number ? final : tip.block
    return { chainId, after, bound, rollback: tip.rollback }
  })

/** Renders the rows of a page, and reports the blocks that they are as of. */
const pageOf = async (
  sources: ListSources,
  listing: Listing,
  query: ParsedQuery,
  answer: { readonly found: ListingRows; readonly rows: ListingRows['rows']; readonly cursors: readonly ChainCursor[] },
): Promise<Omit<Page, 'meta'> & Pick<ListingMeta, 'asOf'>> => {
  const { found, cursors } = answer
  const { rows, isIndexed } = await rowsOf(sources, { kind: listing.kind, include: query.include ?? [] }, answer.rows)
  const asOf = cursors.map(({ chainId, bound }) => {
    const tip = found.tips.find((it) => it.chainId === chainId)
    return {
      chainId,
      blockNumber: Number(bound.number),
      blockHash: bound.hash,
      blockTimestamp: Number(bound.timestamp),
      lagSeconds: tip === undefined ? null : lagOfTip(tip),
      reorgedSince: tip?.reorged ?? false,
    }
  })
  const lags = asOf.map(({ lagSeconds }) => lagSeconds)
  const [only, other] = cursors
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
      // The greatest lag of all chains; unknown when the worker has not seen one of them yet.
      ...(!lags.includes(null) && { lagSeconds: Math.max(...lags.map(Number)) }),
    },
  }
}

const byIds = async (
  sources: ListSources,
  listing: Listing,
  query: ParsedQuery & { readonly ids: readonly number[] },
): Promise<Page> => {
  const { ids, chainId: chains = [], include = [], finality, ...others } = query
  const [chainId, another] = chains
  if (chainId === undefined || another !== undefined)
    throw invalidParameter('chainId', 'expected one chain: ids are of one chain')
  const [notAllowed] = Object.entries(others).flatMap(([name, value]) =>
    value === undefined || name in consistency ? [] : [name],
  )
  if (notAllowed !== undefined) throw invalidParameter(notAllowed, 'cannot be combined with ids')
  const first = await firstQuery(sources, chainId, finality)
  const found = await sources.lists.listings.byIds({
    ...{ kind: listing.kind, include, query: first.query, ids: ids.map(BigInt) },
  })
  const cursors = cursorsAfter([first], [], found, [])
  const { asOf, ...page } = await pageOf(sources, listing, query, { found, rows: found.rows, cursors })
  const foundIds = new Set(found.rows.map((row) => placeOf(row).id))
  const missing = ids.filter((id) => !foundIds.has(String(id)))
  return { ...page, meta: { limit: ids.length, hasMore: false, nextCursor: null, asOf, missing } }
}

/** Reads a page, whatever block it is as of. */
const anyPage = async (sources: ListSources, listing: Listing, query: ParsedQuery): Promise<Page> => {
  const { ids, cursor, limit = DEFAULT_LIMIT, sort = 'created', order = 'desc', include = [], count = false } = query
  if (ids !== undefined) return byIds(sources, listing, { ...query, ids })

  const chains = chainsOf(query.chainId)
  const filters = filtersOf(query)
  const name = nameOf(listing.path, chains, query, filters)
  const previousCursors = cursor === undefined ? [] : decodeCursor(name, chains, cursor)
  const queries: ChainQuery[] =
    cursor === undefined
      ? await Promise.all(chains.map((id) => firstQuery(sources, id, query.finality)))
      : previousCursors.map((position) => ({ query: nextQuery(sources, position), final: null }))
  const found = await sources.lists.listings.page({
    ...{ kind: listing.kind, queries: queries.map(({ query }) => query), filters, sort, order, include, count },
    // One row more than the page shows whether another page follows.
    limit: limit + 1,
  })
  const hasMore = found.rows.length > limit
  const rows = found.rows.slice(0, limit)
  const cursors = cursorsAfter(queries, previousCursors, found, rows)
  const { asOf, ...page } = await pageOf(sources, listing, query, { found, rows, cursors })
  const nextCursor = hasMore ? encodeCursor(name, cursors) : null
  return { ...page, meta: { limit, hasMore, nextCursor, asOf, ...(found.total !== null && { total: found.total }) } }
}

/**
 * Reads a page of a list that is as of block `atLeast` of its one chain or a later block. Throws `validation_error` for
 * a cursor of another list, and for one whose first page is as of an earlier block. Throws `service_unavailable` when
 * the database is out of reach, and when a chain is not indexed yet or not up to `atLeast`.
 */
export const pageFor = async (
  sources: ListSources,
  listing: Listing,
  query: ParsedQuery,
  atLeast: bigint | null,
): Promise<Page> => {
  const page = await anyPage(sources, listing, query)
  const { block } = page.freshness
  if (atLeast === null || (block !== undefined && block.number >= atLeast)) return page
  if (query.cursor !== undefined)
    throw invalidParameter(
      'cursor',
      `expected a cursor whose first page is as of block ${atLeast} or later: start again without a cursor`,
    )
  const [chainId] = chainsOf(query.chainId)
  throw chainId === undefined ? new RangeError('the list has no chain') : notIndexedYet(chainId, atLeast, block)
}
