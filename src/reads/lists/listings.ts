import { z } from 'zod'
import { type Filters, needsObservations } from '../../db/queries/filters.ts'
import type { ListingRows, ListQuery } from '../../db/queries/listings.ts'
import { invalidField, unavailable } from '../../lib/errors.ts'
import type { ChainId } from '../../protocol/chains.ts'
import type { Kind } from '../../protocol/entities.ts'
import { type ChainCursor, decodeCursor, encodeCursor } from '../cursor.ts'
import { consistency, notIndexedYet } from '../freshness/consistency.ts'
import { blockFields, indexFreshness, isStale, type Provenance, refreshingOf } from '../freshness/freshness.ts'
import { lagOfTip } from '../lag/lag.ts'
import { chainOf } from '../read.ts'
import { DepositsQuery, EventsQuery, type ListingQuery, PositionsQuery } from './query.ts'
import { DepositRow, EventRow, type ListingMeta, PositionRow, type Row } from './records.ts'
import { chainsOf } from './resource.ts'
import { rowsOf } from './rows.ts'
import type { ListSources } from './sources.ts'

/** A paginated list of whole records; `data` is the schema of its payload. */
const listing = (path: string, summary: string, tag: string, kind: Kind, query: z.ZodObject, row: z.ZodObject) => {
  return { path, summary, tag, kind, query, data: z.array(row) }
}

type Listing = Readonly<ReturnType<typeof listing>>

/** Every list of whole records. */
export const listings: readonly Listing[] = [
  listing('/hedge/events', 'List events', 'Events', 'event', EventsQuery, EventRow),
  listing('/hedge/positions', 'List positions', 'Positions', 'position', PositionsQuery, PositionRow),
  listing('/hedge/deposits', 'List LP deposits', 'Deposits', 'deposit', DepositsQuery, DepositRow),
]

const DEFAULT_LIMIT = 50

/** A page: its rows and its metadata. */
export type Page = Provenance & { readonly rows: readonly Row[]; readonly meta: ListingMeta }

const toLower = (letter: string): string => letter.toLowerCase()

/** The filters of a query. Texts that are compared without case are in lower case: a cursor is of either spelling. */
const filtersOf = (query: ListingQuery): Filters => {
  const { eventId, expiryFrom, expiryTo, claimable, claimed, withdrawn } = query
  const { paymentToken, strikeAbove, poolOpen, capacityFrom = 0n, state } = query
  const [underlying, symbol] = [query.underlying, query.symbol].map((text) => text?.replace(/[A-Z]/g, toLower))
  const whole = (value: number | undefined): bigint | undefined => (value === undefined ? undefined : BigInt(value))
  return {
    owners: query.wallet ?? query.creator,
    eventId: whole(eventId),
    claimable,
    claimed,
    withdrawn,
    underlying,
    paymentToken,
    symbol,
    strikeAbove,
    poolOpen,
    state,
    expiryFrom: whole(expiryFrom),
    expiryTo: whole(expiryTo),
    // Every event has a capacity of at least 0.
    ...(capacityFrom > 0n && { capacityFrom }),
  }
}

/** The name of a list: everything that selects and orders its rows. */
const nameOf = (path: string, chains: readonly ChainId[], query: ListingQuery, filters: Filters): string => {
  const { sort = 'created', order = 'desc', finality = 'latest' } = query
  const set = Object.entries(filters).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]))
  return [path, chains, sort, order, finality, ...set].join(' ')
}

const nextQuery = ({ chainId, after, bound, rollback }: ChainCursor): ListQuery => ({
  chainId,
  after,
  rollback,
  upTo: bound.number,
  now: bound.timestamp,
})

const firstQuery = async (sources: ListSources, chainId: ChainId, finality: ListingQuery['finality']) => {
  const final = await sources.finality.finalBlock(chainId, finality ?? 'latest')
  const query: ListQuery = {
    chainId,
    after: null,
    upTo: final?.number ?? null,
    now: final?.timestamp ?? null,
    rollback: null,
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
  byExpiry: boolean,
): ChainCursor[] =>
  queries.map(({ query: { chainId }, final }) => {
    const tip = tips.find((it) => it.chainId === chainId)
    if (tip === undefined) throw unavailable(`chain ${chainId} is not indexed yet`)
    const previous = previousCursors.find((it) => it.chainId === chainId)
    const last = rows.findLast((row) => row.chainId === chainId)
    const after =
      last === undefined
        ? (previous?.after ?? null)
        : { id: BigInt(last.id), key: byExpiry ? (last.expiryDate ?? '') : '' }
    if (previous !== undefined) return { ...previous, after }
    const bound = final !== null && final.number < tip.block.number ? final : tip.block
    return { chainId, after, bound, rollback: tip.rollback }
  })

/** Makes the rows of a page, and reports the blocks that they are as of. */
const pageOf = async (
  sources: ListSources,
  listing: Listing,
  query: ListingQuery,
  answer: { readonly found: ListingRows; readonly rows: ListingRows['rows']; readonly cursors: readonly ChainCursor[] },
): Promise<Omit<Page, 'meta'> & Pick<ListingMeta, 'asOf'>> => {
  const { found, cursors } = answer
  const { rows, isIndexed } = await rowsOf(sources, { kind: listing.kind, include: query.include ?? [] }, answer.rows)
  const asOf = cursors.map(({ chainId, bound }) => {
    const tip = found.tips.find((it) => it.chainId === chainId)
    const lagSeconds = tip === undefined ? null : lagOfTip(tip)
    return { chainId, ...blockFields(bound), lagSeconds, reorgedSince: tip?.reorged ?? false }
  })
  const lags = asOf.map(({ lagSeconds }) => lagSeconds)
  const stale = lags.some((lag) => isStale(lag, sources.maxLagSeconds))
  const bounds = cursors.map(({ bound }) => bound)
  return {
    rows: rows.filter((row) => row !== null),
    asOf,
    isIndexed,
    refreshing: needsObservations(filtersOf(query)) ? refreshingOf(found.tips) : [],
    freshness: indexFreshness(bounds, lags, stale),
  }
}

const byIds = async (
  sources: ListSources,
  listing: Listing,
  query: ListingQuery & { readonly ids: readonly number[] },
): Promise<Page> => {
  const { ids, chainId: chains = [], include = [], finality, ...others } = query
  const [chainId, another] = chains
  if (chainId === undefined || another !== undefined)
    throw invalidField('chainId', 'expected one chain: ids are of one chain')
  const [notAllowed] = Object.entries(others).flatMap(([name, value]) =>
    value === undefined || name in consistency ? [] : [name],
  )
  if (notAllowed !== undefined) throw invalidField(notAllowed, 'cannot be combined with ids')
  const first = await firstQuery(sources, chainId, finality)
  const found = await sources.lists.listings.byIds({
    kind: listing.kind,
    include,
    query: first.query,
    ids: ids.map(BigInt),
  })
  const cursors = cursorsAfter([first], [], found, [], false)
  const { asOf, ...page } = await pageOf(sources, listing, query, { found, rows: found.rows, cursors })
  const foundIds = new Set(found.rows.map(({ id }) => id))
  const missing = ids.filter((id) => !foundIds.has(String(id)))
  return { ...page, meta: { limit: ids.length, hasMore: false, nextCursor: null, asOf, missing } }
}

/** Reads a page, whatever block it is as of. */
const anyPage = async (sources: ListSources, listing: Listing, query: ListingQuery): Promise<Page> => {
  const { ids, cursor, limit = DEFAULT_LIMIT, sort = 'created', order = 'desc', include = [], count = false } = query
  if (ids !== undefined) return byIds(sources, listing, { ...query, ids })

  const chains = chainsOf(query.chainId)
  const filters = filtersOf(query)
  const name = nameOf(listing.path, chains, query, filters)
  const previousCursors = cursor === undefined ? [] : decodeCursor(name, chains, cursor)
  const queries: ChainQuery[] =
    cursor === undefined
      ? await Promise.all(chains.map((id) => firstQuery(sources, id, query.finality)))
      : previousCursors.map((position) => ({ query: nextQuery(position), final: null }))
  const found = await sources.lists.listings.page({
    kind: listing.kind,
    queries: queries.map(({ query }) => query),
    filters,
    sort,
    order,
    include,
    count,
    deployments: chains.map((chainId) => chainOf(sources.chains, chainId).deployment),
    // One row more than the page shows whether another page follows.
    limit: limit + 1,
  })
  const hasMore = found.rows.length > limit
  const rows = found.rows.slice(0, limit)
  const cursors = cursorsAfter(queries, previousCursors, found, rows, sort === 'expiry')
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
  query: ListingQuery,
  atLeast: bigint | null,
): Promise<Page> => {
  const page = await anyPage(sources, listing, query)
  const { block } = page.freshness
  if (atLeast === null || (block !== undefined && block.number >= atLeast)) return page
  if (query.cursor !== undefined)
    throw invalidField(
      'cursor',
      `expected a cursor whose first page is as of block ${atLeast} or later: start again without a cursor`,
    )
  const [chainId] = chainsOf(query.chainId)
  throw chainId === undefined ? new RangeError('the list has no chain') : notIndexedYet(chainId, atLeast, block)
}
