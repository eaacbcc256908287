import { z } from 'zod'
import { type Filters, needsObservations } from '../../db/queries/filters.ts'
import type { ListingRows } from '../../db/queries/listings.ts'
import { invalidField } from '../../lib/errors.ts'
import type { ChainId } from '../../protocol/chains.ts'
import type { Kind } from '../../protocol/entities.ts'
import { showsValues } from '../../protocol/rows.ts'
import { type ChainCursor, decodeCursor, encodeCursor } from '../cursor.ts'
import { consistency } from '../freshness/consistency.ts'
import { type Provenance, refreshingOf } from '../freshness/freshness.ts'
import { momentText, requireAlone, requireOneChain } from '../history/at.ts'
import { blockAt } from '../history/block-at.ts'
import { rowsAt } from '../history/rows.ts'
import { chainOf } from '../read.ts'
import { asOfTips, cursorsAfter, firstQuery, queriesOf, requireBlock } from './pages.ts'
import { DEFAULT_LIMIT, DepositsQuery, EventsQuery, type ListingQuery, PositionsQuery } from './query.ts'
import { DepositRow, EventRow, type ListingMeta, PositionRow, type Row } from './records.ts'
import { chainsOf } from './resource.ts'
import { rowsOf } from './rows.ts'
import type { ListSources } from './sources.ts'

/** A paginated list of whole records; `row` and `data` are the schemas of its rows and of its payload. */
const listing = (path: string, summary: string, tag: string, kind: Kind, query: z.ZodObject, row: z.ZodObject) => {
  return { path, summary, tag, kind, query, row, data: z.array(row) }
}

type Listing = Readonly<ReturnType<typeof listing>>

/** Every list of whole records. */
export const listings: readonly Listing[] = [
  listing('/hedge/events', 'List events', 'Events', 'event', EventsQuery, EventRow),
  listing('/hedge/positions', 'List positions', 'Positions', 'position', PositionsQuery, PositionRow),
  listing('/hedge/deposits', 'List LP deposits', 'Deposits', 'deposit', DepositsQuery, DepositRow),
]

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
  const at = query.at && `at ${momentText(query.at)}`
  return [path, chains, sort, order, at ?? finality, ...set].join(' ')
}

/** Requires that a query of the past has no parameters that are about the present. */
const requirePast = (query: ListingQuery): void => {
  requireAlone(query, ['claimable', 'claimed', 'withdrawn', 'poolOpen', 'capacityFrom', 'state'])
  requireAlone(query, ['finality', 'minBlock', 'afterTx'])
  if (showsValues(query.include))
    throw invalidField('include', 'a value cannot be combined with at, which asks for the past')
}

/** Makes the rows of a page, and reports the blocks that they are as of. */
const pageOf = async (
  sources: ListSources,
  listing: Listing,
  query: ListingQuery,
  answer: { readonly found: ListingRows; readonly rows: ListingRows['rows']; readonly cursors: readonly ChainCursor[] },
): Promise<Omit<Page, 'meta'> & Pick<ListingMeta, 'asOf'>> => {
  const { found, cursors } = answer
  const asked = { kind: listing.kind, include: query.include ?? [] }
  const isPast = query.at !== undefined
  const blocks = isPast ? new Map(cursors.map(({ chainId, bound }) => [chainId, bound])) : null
  const past = blocks && (await rowsAt(sources, asked, answer.rows, blocks))
  const { rows, isIndexed } = await rowsOf(sources, asked, past ?? answer.rows, { blocks })
  return {
    rows: rows.filter((row) => row !== null),
    ...asOfTips(found.tips, cursors, { maxLagSeconds: sources.maxLagSeconds, isPast }),
    isIndexed,
    refreshing: needsObservations(filtersOf(query)) ? refreshingOf(found.tips) : [],
  }
}

const byIds = async (
  sources: ListSources,
  listing: Listing,
  query: ListingQuery & { readonly ids: readonly number[] },
): Promise<Page> => {
  const { ids, chainId: chains = [], include = [], finality, at, ...others } = query
  const [chainId, another] = chains
  if (chainId === undefined || another !== undefined)
    throw invalidField('chainId', 'expected one chain: ids are of one chain')
  const [notAllowed] = Object.entries(others).flatMap(([name, value]) =>
    value === undefined || name === 'format' || name in consistency ? [] : [name],
  )
  if (notAllowed !== undefined) throw invalidField(notAllowed, 'cannot be combined with ids')
  const first = await firstQuery(sources, chainId, { finality, at: at && (await blockAt(sources, chainId, at)) })
  const found = await sources.lists.listings.byIds({
    kind: listing.kind,
    include,
    query: first.query,
    ids: ids.map(BigInt),
  })
  const cursors = cursorsAfter([first], [], found.tips, () => null)
  const { asOf, ...page } = await pageOf(sources, listing, query, { found, rows: found.rows, cursors })
  const foundIds = new Set(found.rows.map(({ id }) => id))
  const missing = ids.filter((id) => !foundIds.has(String(id)))
  return { ...page, meta: { limit: ids.length, hasMore: false, nextCursor: null, asOf, missing } }
}

/** Reads a page, whatever block it is as of. */
const anyPage = async (sources: ListSources, listing: Listing, query: ListingQuery): Promise<Page> => {
  const { ids, cursor, limit = DEFAULT_LIMIT, sort = 'created', order = 'desc', include = [], count = false } = query
  const { at } = query
  const chains = chainsOf(query.chainId)
  if (at !== undefined) {
    requirePast(query)
    requireOneChain('at', at, chains)
  }
  if (ids !== undefined) return byIds(sources, listing, { ...query, ids })

  const filters = filtersOf(query)
  const name = nameOf(listing.path, chains, query, filters)
  const previousCursors = cursor === undefined ? [] : decodeCursor(name, chains, cursor)
  const queries = await queriesOf(sources, chains, {
    previousCursors,
    finality: query.finality,
    blockOf: async (chainId) => at && blockAt(sources, chainId, at),
  })
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
  const cursors = cursorsAfter(queries, previousCursors, found.tips, (chainId) => {
    const last = rows.findLast((row) => row.chainId === chainId)
    return last === undefined ? null : { id: BigInt(last.id), key: sort === 'expiry' ? (last.expiryDate ?? '') : '' }
  })
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
  requireBlock(page.freshness, { atLeast, cursor: query.cursor, chainIds: chainsOf(query.chainId) })
  return page
}
