import { LRUCache } from 'lru-cache'
import type { Address } from 'viem'
import type { ChainId } from '../protocol/chains.ts'
import type { Kind } from '../protocol/kinds.ts'
import type { Inclusion } from '../protocol/rows.ts'
import {
  type Bind,
  bytes,
  conditionsOf,
  type Filters,
  isByObservation,
  needsObservations,
  shapeOf,
} from './listing-filters.ts'
import type { Database, Statement } from './pool.ts'
import { UNIT } from './rendering.ts'
import {
  asOneText,
  byObservationJoins,
  observedJoins,
  RECORD,
  rowSql,
  tables,
  textJoins,
  withColumnsWhereNeeded,
} from './row-query.ts'
import { parseTips, type Tip, tipsText } from './tips.ts'

/** A chain's part of a list. */
export type Walk = {
  readonly chainId: ChainId
  /** The row to go on after, and its expiry where the list is sorted by that; null at the start. */
  readonly after: { readonly id: bigint; readonly key: string } | null
  /** Rows created after this block are left out; null where the index ends is where the list ends. */
  readonly upTo: bigint | null
  /** Unix seconds by which an event is expired; null for the time of the newest indexed block. */
  readonly now: bigint | null
  /** The chain's last rollback when the walk began; null at the start. */
  readonly rollback: bigint | null
  /** The key of the texts that may be served (`renderKeyOf`). */
  readonly renderKey: bigint
}

type ListingQuery = {
  readonly kind: Kind
  readonly walks: readonly Walk[]
  readonly filters: Filters
  readonly sort: 'created' | 'expiry'
  readonly order: 'asc' | 'desc'
  readonly include: readonly Inclusion[]
  readonly limit: number
  /** Whether to count all rows that the filters let through. */
  readonly count: boolean
}

/** Where in a list a row is. `key` is its expiry where the list is sorted by that, else empty. */
export type Place = { readonly chainId: string; readonly id: string; readonly key: string }

export type ListingRows = {
  readonly tips: readonly Tip[]
  /** Rows as `row-query.ts` describes them; `placeOf` reads their heads. */
  readonly rows: readonly string[]
  readonly total: number | null
}

/** Pages of rows. Everything throws `service_unavailable` when the database is out of reach. */
export type Listings = {
  /** The next rows of the walks, merged, as of one moment. */
  page(query: ListingQuery): Promise<ListingRows>
  /** Rows by their ids, in that order; absent ones are left out. */
  byIds(
    query: Pick<ListingQuery, 'kind' | 'include'> & { readonly walk: Walk; readonly ids: readonly bigint[] },
  ): Promise<ListingRows>
}

/** Before and after every id and expiry. */
export const bounds = { asc: { id: '-1', key: '-1' }, desc: { id: '9223372036854775807', key: 'Infinity' } } as const

const list = (values: readonly unknown[]): string => `{${values.join()}}`

/** The text of an array of addresses. */
export const addresses = (values: readonly Address[]): string => list(values.map((value) => `"\\\\x${value.slice(2)}"`))

/** Rows of a page at most. */
export const MAX_ROWS = 200

/** Parameters of a chain's walk: its chain, bound, time, rollback and render key, and the row to go on after. */
const columns = ['integer', 'bigint', 'bigint', 'bigint', 'bigint', 'bigint', 'numeric'] as const

/**
 * The walks as rows of parameters, which are the first of their statement; the rows are the chains that are indexed. Not as arrays: for
 * those a general plan expects many rows, looks dear, and the server would plan every request anew.
 */
export const walkText = (count: number): string => {
  const rows = Array.from({ length: count }, (_, row) =>
    columns.map((type, at) => `$${row * columns.length + at + 1}::${type}`).join(),
  )
  return `walk AS (SELECT chain_id, least(c.block_number, w.up_to) AS up_to, coalesce(w.now, c.block_timestamp) AS now, w.rollback, w.render_key, w.after, w.after_key
    FROM (VALUES ${rows.map((row) => `(${row})`).join()}) AS w (chain_id, up_to, now, rollback, render_key, after, after_key) JOIN cursors c USING (chain_id))`
}

export const walkValues = (walks: readonly Walk[], start: { readonly id: string; readonly key: string }): unknown[] =>
  walks.flatMap(({ chainId, upTo, now, rollback, renderKey, after }) => [
    ...[chainId, upTo, now, rollback, renderKey].map((value) => value?.toString() ?? null),
    ...[after?.id.toString() ?? start.id, after?.key || start.key],
  ])

/** Rows of two chains are merged by the time of their blocks; a chain's own rows stay in the order of their ids whatever that says. */
const mergeKeys = {
  asc: 'max(f.block_timestamp) OVER (PARTITION BY f.chain_id ORDER BY f.id)',
  desc: 'min(f.block_timestamp) OVER (PARTITION BY f.chain_id ORDER BY f.id DESC)',
} as const

/** What has to be joined for conditions, and whose ids a page is in the order of: of the observations where those find the rows. */
const joinedFor = ({ kind, filters }: ListingQuery): { readonly joins: string; readonly key: string } => {
  if (!needsObservations(filters)) return { joins: '', key: 'f' }
  return isByObservation(kind, filters)
    ? { joins: byObservationJoins(kind), key: tables[kind].ownAlias }
    : { joins: observedJoins(kind), key: 'f' }
}

/** The parameters after the walks are the limit and, if that is asked, whose rows; then those of the conditions. */
const textOf = (query: ListingQuery, conditions: readonly string[], hasColumns: boolean): string => {
  const { kind, walks, filters, sort, order, include, count } = query
  const { facts, owner } = tables[kind]
  const [limit, owners] = [1, 2].map((at) => `$${walks.length * columns.length + at}`)
  const wheres = ['f.chain_id = walk.chain_id', 'f.block_number <= walk.up_to', ...conditions].join(' AND ')
  const { joins, key } = joinedFor(query)
  const isMerged = walks.length > 1 && sort === 'created'
  const byExpiry = sort === 'expiry'
  const ordered = byExpiry ? `f.expiry_date ${order}, f.id ${order}` : `f.id ${order}`
  const merged = byExpiry ? `f.expiry_date ${order}, f.chain_id, f.id ${order}` : `f.chain_id, f.id ${order}`
  const than = order === 'asc' ? '>' : '<'
  const after = byExpiry ? `(f.expiry_date, f.id) ${than} (walk.after_key, walk.after)` : `f.id ${than} walk.after`
  // That the ids are equal tells the server their order, and not where to begin.
  const beyond = key === 'f' || byExpiry ? after : `${after} AND ${key}.id ${than} walk.after`

  // Owner by owner and chain by chain, each in the order of its index; then as many of the merged as are asked for.
  const own = filters.owners ? `AND f.${owner} = owned.by` : ''
  const each = `SELECT f.* FROM ${facts} f ${joins} WHERE ${wheres} ${own} AND ${beyond} ORDER BY ${ordered}`
  // Without an owner there may be any number: a general plan has to be told that no page takes them all.
  const bounded = filters.owners ? each : `SELECT * FROM (${each} LIMIT ${MAX_ROWS + 1}) f ORDER BY ${ordered}`
  const owned = filters.owners?.length === 1 ? `(VALUES (${owners}::bytea))` : `unnest(${owners}::bytea[])`
  const last = isMerged ? `merged ${order}, ${merged}` : merged
  const page = `SELECT f.*, walk.render_key${isMerged ? `, ${mergeKeys[order]} AS merged` : ''} FROM walk
    ${filters.owners ? `CROSS JOIN ${owned} AS owned (by)` : ''} CROSS JOIN LATERAL (${bounded} LIMIT ${limit}) f ORDER BY ${last} LIMIT ${limit}`
  const head = ['f.chain_id', 'f.id', ...(byExpiry ? ['f.expiry_date'] : [])]
  const rows = `SELECT ${rowSql(kind, { head, include, columns: hasColumns })} FROM (${page}) f ${textJoins(kind, include)} ORDER BY ${last}`
  const total = `(SELECT count(*) FROM walk ${filters.owners ? `CROSS JOIN ${owned} AS owned (by)` : ''} JOIN ${facts} f USING (chain_id) ${joins}
    WHERE ${wheres} ${own})`
  return `WITH ${walkText(walks.length)} SELECT ${tipsText}, ${asOneText(rows)}${count ? `, ${total}` : ''}`
}

/** Texts by their shapes: putting one together takes longer than what the framework does for a request. */
const texts = new LRUCache<string, string>({ max: 1_000 })

const pageStatement = (query: ListingQuery, hasColumns: boolean): Statement => {
  const { kind, walks, filters, sort, order, include, limit, count } = query
  const owners = filters.owners && [...new Set(filters.owners)]
  const [one, another] = owners ?? []
  const ofOne = one !== undefined && another === undefined
  const values: unknown[] = [...walkValues(walks, bounds[order]), limit]
  if (owners !== undefined) values.push(ofOne ? bytes(one) : addresses(owners))
  const bind: Bind = (value, type) => `$${values.push(value)}::${type}`
  const conditions = conditionsOf(kind, filters, bind)
  const shape = [kind, sort, order, walks.length, ofOne, shapeOf(filters)].join(' ')
  const name = [shape, count, hasColumns, ...include].join(' ')
  const text = texts.get(name) ?? textOf({ ...query, filters: { ...filters, owners } }, conditions, hasColumns)
  texts.set(name, text)
  // Prepared under a name where that is one of few: a connection keeps what it has prepared.
  const isCommon = !count && include.length === 0 && (owners ? conditions.length === 0 : conditions.length < 2)
  return { text, values, ...(isCommon && { name: `${hasColumns ? 'columns' : 'page'} ${shape}` }) }
}

const byIdsStatement = (query: Parameters<Listings['byIds']>[0], hasColumns: boolean): Statement => {
  const { kind, walk, ids, include } = query
  const rows = `SELECT ${rowSql(kind, { head: ['f.chain_id', 'f.id'], include, columns: hasColumns })} FROM walk
    CROSS JOIN unnest($${columns.length + 1}::bigint[]) WITH ORDINALITY AS asked (id, nth) CROSS JOIN LATERAL (SELECT *, walk.render_key
    FROM ${tables[kind].facts} WHERE chain_id = walk.chain_id AND id = asked.id AND block_number <= walk.up_to LIMIT 1) f
    ${textJoins(kind, include)} ORDER BY asked.nth`
  const text = `WITH ${walkText(1)} SELECT ${tipsText}, ${asOneText(rows)}`
  const values = [...walkValues([walk], bounds.asc), list(ids)]
  return { text, values, ...(include.length === 0 && { name: `ids ${kind} ${hasColumns}` }) }
}

/** Where the row of a text is. */
export const placeOf = (row: string): Place => {
  const [chainId = '', id = '', key = ''] = row.slice(0, row.indexOf(UNIT)).split(',')
  return { chainId, id, key }
}

/**
 * Opens the lists of a database; nothing is asked yet.
 *
 * @example await listings.page({ kind: 'position', walks: [walk], filters: { owners: [wallet] }, sort: 'created', order: 'desc', … })
 */
export const createListings = (database: Pick<Database, 'rows'>): Listings => {
  const answer = async (statementOf: (hasColumns: boolean) => Statement): Promise<ListingRows> => {
    const [tips = null, rows = null, total = null] = await withColumnsWhereNeeded(async (hasColumns) => {
      const [row = []] = await database.rows(statementOf(hasColumns))
      return row
    })
    return {
      tips: parseTips(tips),
      rows: rows === null || rows === '' ? [] : rows.split(RECORD),
      total: total === null ? null : Number(total),
    }
  }
  return {
    page: (query) => answer((hasColumns) => pageStatement(query, hasColumns)),
    byIds: (query) => answer((hasColumns) => byIdsStatement(query, hasColumns)),
  }
}
