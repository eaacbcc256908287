import { LRUCache } from 'lru-cache'
import type { Address } from 'viem'
import type { ChainId } from '../protocol/chains.ts'
import { type Bind, conditionsOf, type Filters, shapeOf } from './listing-filters.ts'
import type { Database, Statement } from './pool.ts'
import type { Kind } from './progress.ts'
import { asOneText, type Inclusion, joinedTo, RECORD, rowText, tables, UNIT } from './row-text.ts'
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
}

export type ListingQuery = {
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

/** A row as it leaves, but for its blanks; see `row-text.ts`. `key` is its expiry where the list is sorted by that, else empty. */
export type RowText = { readonly chainId: string; readonly id: string; readonly key: string; readonly text: string }

export type ListingRows = {
  readonly tips: readonly Tip[]
  readonly rows: readonly RowText[]
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
const bounds = { asc: { id: '-1', key: '-1' }, desc: { id: '9223372036854775807', key: 'Infinity' } } as const

/** An array's text. */
export const list = (values: readonly unknown[]): string => `{${values.map((value) => value ?? 'NULL').join()}}`

/** The text of an array of addresses, each once. */
export const addresses = (values: readonly Address[]): string =>
  list([...new Set(values)].map((value) => `"\\\\x${value.slice(2)}"`))

/** Parameters 1 to 4: the walks. Its rows are the chains that are indexed. */
export const walkText = `walk AS (SELECT chain_id, least(c.block_number, w.up_to) AS up_to, coalesce(w.now, c.block_timestamp) AS now, w.rollback
  FROM unnest($1::integer[], $2::bigint[], $3::bigint[], $4::bigint[]) AS w (chain_id, up_to, now, rollback) JOIN cursors c USING (chain_id))`

export const walkValues = (walks: readonly Walk[]): string[] => [
  list(walks.map(({ chainId }) => chainId)),
  list(walks.map(({ upTo }) => upTo)),
  list(walks.map(({ now }) => now)),
  list(walks.map(({ rollback }) => rollback)),
]

/** Rows of two chains are merged by the time of their blocks; a chain's own rows stay in the order of their ids whatever that says. */
const mergeKeys = {
  asc: 'max(f.block_timestamp) OVER (PARTITION BY f.chain_id ORDER BY f.id)',
  desc: 'min(f.block_timestamp) OVER (PARTITION BY f.chain_id ORDER BY f.id DESC)',
} as const

/** Few positions can be claimed: they are found by the index over them, and not by looking at each. */
const joinedFor = ({ kind, filters }: ListingQuery): string => {
  const joins = joinedTo(kind)
  if (kind !== 'position' || filters.claimable !== true) return joins
  return joins.replace(/LEFT JOIN LATERAL .*? AS s ON true/, 'JOIN position_observations s USING (chain_id, id)')
}

/** Before the conditions are those of the walk; whose rows, if that is asked, is parameter 8. */
const textOf = (query: ListingQuery, conditions: readonly string[]): string => {
  const { kind, walks, filters, sort, order, include, count } = query
  const { facts, owner } = tables[kind]
  const wheres = ['f.chain_id = walk.chain_id', 'f.block_number <= walk.up_to', ...conditions].join(' AND ')
  const joins = conditions.some((condition) => /\b[se]\./.test(condition)) ? joinedFor(query) : ''
  const isMerged = walks.length > 1 && sort === 'created'
  const [keys, after] =
    sort === 'expiry' ? (['f.expiry_date, f.id', 'w.after_key, w.after'] as const) : (['f.id', 'w.after'] as const)
  const ordered = sort === 'expiry' ? `f.expiry_date ${order}, f.id ${order}` : `f.id ${order}`
  const merged = sort === 'expiry' ? `f.expiry_date ${order}, f.chain_id, f.id ${order}` : `f.chain_id, f.id ${order}`

  // Owner by owner and chain by chain, each in the order of its index; then as many of the merged as are asked for.
  const each = `SELECT f.* FROM ${facts} f ${joins} WHERE ${wheres} ${filters.owners ? `AND f.${owner} = owned.by` : ''}
    AND (${keys}) ${order === 'asc' ? '>' : '<'} (${after}) ORDER BY ${ordered} LIMIT $7`
  const last = isMerged ? `merged ${order}, ${merged}` : merged
  const page = `SELECT f.*${isMerged ? `, ${mergeKeys[order]} AS merged` : ''} FROM walk
    JOIN unnest($1::integer[], $5::bigint[], $6::numeric[]) AS w (chain_id, after, after_key) USING (chain_id)
    ${filters.owners ? 'CROSS JOIN unnest($8::bytea[]) AS owned (by)' : ''} CROSS JOIN LATERAL (${each}) f ORDER BY ${last} LIMIT $7`
  const head = ['f.chain_id', 'f.id', ...(sort === 'expiry' ? ['f.expiry_date'] : [])]
  const rows = `SELECT ${rowText(kind, head, include)} FROM (${page}) f ${joinedTo(kind, include)} ORDER BY ${last}`
  const total = `(SELECT count(*) FROM walk JOIN ${facts} f USING (chain_id) ${joins}
    WHERE ${wheres} ${filters.owners ? `AND f.${owner} = ANY ($8::bytea[])` : ''})`
  return `WITH ${walkText} SELECT ${tipsText}, ${asOneText(rows)}${count ? `, ${total}` : ''}`
}

/** Texts by their shapes: putting one together takes longer than what the framework does for a request. */
const texts = new LRUCache<string, string>({ max: 1_000 })

const pageStatement = (query: ListingQuery): Statement => {
  const { kind, walks, filters, sort, order, include, limit, count } = query
  const start = bounds[order]
  const values: unknown[] = [
    ...walkValues(walks),
    list(walks.map(({ after }) => after?.id ?? start.id)),
    list(walks.map(({ after }) => after?.key || start.key)),
    limit,
    ...(filters.owners ? [addresses(filters.owners)] : []),
  ]
  const bind: Bind = (value, type) => `$${values.push(value)}::${type}`
  const conditions = conditionsOf(kind, filters, bind)
  const shape = [kind, sort, order, walks.length, shapeOf(filters)].join(' ')
  const name = [shape, count, ...include].join(' ')
  const text = texts.get(name) ?? textOf(query, conditions)
  texts.set(name, text)
  // Prepared under a name where that is one of few: a connection keeps what it has prepared.
  const isCommon = !count && include.length === 0 && (filters.owners ? conditions.length === 0 : conditions.length < 2)
  return { text, values, ...(isCommon && { name: `page ${shape}` }) }
}

const byIdsStatement = (query: Parameters<Listings['byIds']>[0]): Statement => {
  const { kind, walk, ids, include } = query
  const rows = `SELECT ${rowText(kind, ['f.chain_id', 'f.id'], include)} FROM walk
    CROSS JOIN unnest($5::bigint[]) WITH ORDINALITY AS asked (id, nth) CROSS JOIN LATERAL (SELECT * FROM ${tables[kind].facts}
    WHERE chain_id = walk.chain_id AND id = asked.id AND block_number <= walk.up_to LIMIT 1) f
    ${joinedTo(kind, include)} ORDER BY asked.nth`
  const text = `WITH ${walkText} SELECT ${tipsText}, ${asOneText(rows)}`
  return { text, values: [...walkValues([walk]), list(ids)], ...(include.length === 0 && { name: `ids ${kind}` }) }
}

const parseRow = (line: string): RowText => {
  const at = line.indexOf(UNIT)
  const [chainId = '', id = '', key = ''] = line.slice(0, at).split(',')
  return { chainId, id, key, text: line.slice(at + 1) }
}

/**
 * Opens the lists of a database; nothing is asked yet.
 *
 * @example await listings.page({ kind: 'position', walks: [walk], filters: { owners: [wallet] }, sort: 'created', order: 'desc', … })
 */
export const createListings = (database: Database): Listings => {
  const answer = async (statement: Statement): Promise<ListingRows> => {
    const [[tips = null, rows = null, total = null] = []] = await database.rows(statement)
    return {
      tips: parseTips(tips),
      rows: rows === null || rows === '' ? [] : rows.split(RECORD).map(parseRow),
      total: total === null ? null : Number(total),
    }
  }
  return {
    page: (query) => answer(pageStatement(query)),
    byIds: (query) => answer(byIdsStatement(query)),
  }
}
