import { LRUCache } from 'lru-cache'
import type { Address } from 'viem'
import type { ChainId } from '../../protocol/chains.ts'
import type { Kind } from '../../protocol/entities.ts'
import type { Inclusion } from '../../protocol/rows.ts'
import type { Database, Statement } from '../pool.ts'
import {
  type Bind,
  bytes,
  conditionsOf,
  type FilterDeployment,
  type Filters,
  isByObservation,
  needsObservations,
  shapeOf,
  wantedTokens,
} from './filters.ts'
import { byObservationJoins, type ListRow, observedJoins, type RowReader, rowReader, tables } from './rows.ts'
import { parseTips, type Tip, tipsText } from './tips.ts'

/** A page of a list on one chain. */
export type ListQuery = {
  readonly chainId: ChainId
  /** The row after which the page starts, and its expiry if the list is sorted by expiry; null on the first page. */
  readonly after: { readonly id: bigint; readonly key: string } | null
  /** Rows created after this block are left out; null for the newest indexed block. */
  readonly upTo: bigint | null
  /** The time in Unix seconds at which expiry is judged; null for the time of the newest indexed block. */
  readonly now: bigint | null
  /** The chain's last rollback when the first page was read; null on the first page. */
  readonly rollback: bigint | null
}

type ListingQuery = {
  readonly kind: Kind
  readonly queries: readonly ListQuery[]
  readonly filters: Filters
  /** The deployments of the queries' chains. */
  readonly deployments: readonly FilterDeployment[]
  readonly sort: 'created' | 'expiry'
  readonly order: 'asc' | 'desc'
  readonly include: readonly Inclusion[]
  readonly limit: number
  /** Whether to count all rows that match the filters. */
  readonly count: boolean
}

type IdsQuery = Pick<ListingQuery, 'kind' | 'include'> & {
  readonly query: ListQuery
  readonly ids: readonly bigint[]
}

export type ListingRows = {
  readonly tips: readonly Tip[]
  readonly rows: readonly ListRow[]
  readonly total: number | null
}

/** Lower and upper bounds of all ids and expiries. */
export const bounds = { asc: { id: '-1', key: '-1' }, desc: { id: '9223372036854775807', key: 'Infinity' } } as const

const list = (values: readonly unknown[]): string => `{${values.join()}}`

/** The text of an array of addresses. */
export const addresses = (values: readonly Address[]): string => list(values.map((value) => `"\\\\x${value.slice(2)}"`))

/** The most rows of a page. */
export const MAX_ROWS = 200

/** The types of a list query's parameters: chain, bound, time, rollback, and the id and expiry of the row before. */
const columns = ['integer', 'bigint', 'bigint', 'bigint', 'bigint', 'numeric'] as const

/**
 * SQL of the list queries as rows `query`, whose parameters are the first of the statement; chains that are not indexed
 * are left out. Not arrays: for those a generic plan expects many rows and looks expensive, so the server would plan
 * every request again.
 */
export const listQueryText = (count: number): string => {
  const rows = Array.from({ length: count }, (_, row) =>
    columns.map((type, at) => `$${row * columns.length + at + 1}::${type}`).join(),
  )
  return `query AS (SELECT chain_id, least(c.block_number, w.up_to) AS up_to, w.up_to AS bound, coalesce(w.now, c.block_timestamp) AS now, w.rollback, w.after, w.after_key,
      c.block_number AS tip_number, c.block_hash AS tip_hash, c.block_timestamp AS tip_timestamp
    FROM (VALUES ${rows.map((row) => `(${row})`).join()}) AS w (chain_id, up_to, now, rollback, after, after_key) JOIN cursors c USING (chain_id))`
}

export const listQueryValues = (queries: readonly ListQuery[], start: { readonly id: string; readonly key: string }) =>
  queries.flatMap(({ chainId, upTo, now, rollback, after }) => [
    ...[chainId, upTo, now, rollback].map((value) => value?.toString() ?? null),
    ...[after?.id.toString() ?? start.id, after?.key || start.key],
  ])

/**
 * Rows of several chains are merged by the time of their blocks; rows of one chain stay in the order of their ids,
 * whatever their times.
 */
const mergeKeys = {
  asc: 'max(f.block_timestamp) OVER (PARTITION BY f.chain_id ORDER BY f.id)',
  desc: 'min(f.block_timestamp) OVER (PARTITION BY f.chain_id ORDER BY f.id DESC)',
} as const

/**
 * The joins that the conditions need, and the table whose ids order the page: the observations if an index over them
 * finds the rows.
 */
const joinedFor = ({ kind, filters }: ListingQuery): { readonly joins: string; readonly key: string } => {
  if (!needsObservations(filters)) return { joins: '', key: 'f' }
  return isByObservation[kind](filters)
    ? { joins: byObservationJoins(kind), key: tables[kind].ownAlias }
    : { joins: observedJoins(kind), key: 'f' }
}

/** Whether this is a later page of a list. */
const isLaterPage = ({ queries }: Pick<ListingQuery, 'queries'>): boolean =>
  queries.some(({ rollback }) => rollback !== null)

/**
 * A statement whose first row has the tips and the total, and whose other rows have the columns of the reader. Its
 * branches run one after the other, since both read `query`.
 */
const withTips = (withs: string, tips: string, total: string, rows: string, { expressions }: RowReader): string =>
  `WITH ${withs} SELECT ${tips}, ${total}, ${expressions.map(() => 'NULL').join()} UNION ALL (${rows})`

/**
 * The parameters after those of the queries are the limit, the owners if there is such a filter, and those of the
 * conditions.
 */
const textOf = (
  query: ListingQuery,
  { conditions, wanted }: { readonly conditions: readonly string[]; readonly wanted: string | null },
  reader: RowReader,
): string => {
  const { kind, queries, filters, sort, order, count } = query
  const { facts, owner } = tables[kind]
  const [limit, owners] = [1, 2].map((at) => `$${queries.length * columns.length + at}`)
  const wheres = ['f.chain_id = query.chain_id', 'f.block_number <= query.up_to', ...conditions].join(' AND ')
  const { joins, key } = joinedFor(query)
  const isMerged = queries.length > 1 && sort === 'created'
  const byExpiry = sort === 'expiry'
  const ordered = byExpiry ? `f.expiry_date ${order}, f.id ${order}` : `f.id ${order}`
  const merged = byExpiry ? `f.expiry_date ${order}, f.chain_id, f.id ${order}` : `f.chain_id, f.id ${order}`
  const than = order === 'asc' ? '>' : '<'
  const after = byExpiry ? `(f.expiry_date, f.id) ${than} (query.after_key, query.after)` : `f.id ${than} query.after`
  // The equality of the ids gives the server their order, but not the start of its scan of the observations.
  const beyond = key === 'f' || byExpiry ? after : `${after} AND ${key}.id ${than} query.after`

  // Columns are named, because passing all of them on takes the server longer.
  const fields = [...new Set([...reader.facts, ...(isMerged ? ['block_timestamp'] : [])])].map((it) => `f.${it}`).join()

  // Reads each owner, token and chain in the order of its index, then merges them and takes `limit` rows.
  const own = filters.owners ? `AND f.${owner} = owned.by` : ''
  const each = `SELECT ${fields} FROM ${facts} f ${joins} WHERE ${wheres} ${own} AND ${beyond} ORDER BY ${ordered}`
  // Without an owner there may be any number of rows. The constant limit shows a generic plan that no page needs them
  // all.
  const bounded = filters.owners ? each : `SELECT * FROM (${each} LIMIT ${MAX_ROWS + 1}) f ORDER BY ${ordered}`
  const owned = filters.owners?.length === 1 ? `(VALUES (${owners}::bytea))` : `unnest(${owners}::bytea[])`
  const parts = [
    ...(filters.owners ? [`CROSS JOIN ${owned} AS owned (by)`] : []),
    ...(wanted === null ? [] : ['JOIN wanted ON wanted.of_chain = query.chain_id']),
  ].join(' ')
  const last = isMerged ? `merged ${order}, ${merged}` : merged
  const page = `SELECT f.*${isMerged ? `, ${mergeKeys[order]} AS merged` : ''} FROM query
    ${parts} CROSS JOIN LATERAL (${bounded} LIMIT ${limit}) f ORDER BY ${last} LIMIT ${limit}`
  const rows = `SELECT NULL, NULL, ${reader.expressions.join()} FROM (${page}) f ${reader.joins} ORDER BY ${last}`
  const total = `(SELECT count(*) FROM query ${parts} JOIN ${facts} f USING (chain_id) ${joins}
    WHERE ${wheres} ${own})`
  const tips = tipsText({ reorged: isLaterPage(query), refreshing: needsObservations(filters) })
  const withs = [listQueryText(queries.length), ...(wanted === null ? [] : [wanted])].join(', ')
  return withTips(withs, tips, count ? total : 'NULL', rows, reader)
}

/** Statements by their shapes: building one takes longer than the framework's work for a request. */
const texts = new LRUCache<string, string>({ max: 1_000 })

const pageStatement = (query: ListingQuery, reader: RowReader): Statement => {
  const { kind, queries, filters, deployments, sort, order, limit, count } = query
  const owners = filters.owners && [...new Set(filters.owners)]
  const [one, another] = owners ?? []
  const isOneOwner = one !== undefined && another === undefined
  const values: unknown[] = [...listQueryValues(queries, bounds[order]), limit]
  if (owners !== undefined) values.push(isOneOwner ? bytes(one) : addresses(owners))
  const bind: Bind = (value, type) => `$${values.push(value)}::${type}`
  const conditions = conditionsOf(kind, filters, deployments, bind)
  const wanted = filters.symbol === undefined ? null : wantedTokens(filters.symbol, deployments, bind)
  const shape = [reader.name, sort, order, queries.length, isLaterPage(query), isOneOwner, shapeOf(filters)].join(' ')
  const name = [shape, count].join(' ')
  const text = texts.get(name) ?? textOf({ ...query, filters: { ...filters, owners } }, { conditions, wanted }, reader)
  texts.set(name, text)
  // Only common shapes are prepared under a name, because a connection keeps every prepared statement.
  const isCommon = !count && (owners ? conditions.length === 0 : conditions.length < 2)
  return { text, values, ...(isCommon && { name: `page ${shape}` }) }
}

const byIdsStatement = ({ kind, query, ids }: IdsQuery, reader: RowReader): Statement => {
  const rows = `SELECT NULL, NULL, ${reader.expressions.join()} FROM query
    CROSS JOIN unnest($${columns.length + 1}::bigint[]) WITH ORDINALITY AS asked (id, nth) CROSS JOIN LATERAL (SELECT *
    FROM ${tables[kind].facts} WHERE chain_id = query.chain_id AND id = asked.id AND block_number <= query.up_to LIMIT 1) f
    ${reader.joins} ORDER BY asked.nth`
  const text = withTips(listQueryText(1), tipsText({ reorged: false, refreshing: false }), 'NULL', rows, reader)
  const values = [...listQueryValues([query], bounds.asc), list(ids)]
  return { text, values, name: `ids ${reader.name}` }
}

const oneStatement = (kind: Kind, chainId: ChainId, id: bigint, reader: RowReader): Statement => ({
  text: `SELECT ${reader.expressions.join()} FROM (SELECT * FROM ${tables[kind].facts} WHERE chain_id = $1 AND id = $2) f ${reader.joins}`,
  values: [chainId, id.toString()],
  name: `row ${reader.name}`,
})

/**
 * Creates the list queries of a database. All throw `service_unavailable` when it is out of reach.
 *
 * @example
 * const filters = { owners: [wallet] }
 * await listings.page({ kind: 'position', queries: [query], filters, sort: 'created', order: 'desc', … })
 */
export const createListings = (database: Pick<Database, 'rows'>) => {
  const answer = async <Q extends Pick<ListingQuery, 'kind' | 'include'>>(
    query: Q,
    statementOf: (query: Q, reader: RowReader) => Statement,
  ): Promise<ListingRows> => {
    const reader = rowReader(query.kind, query.include)
    const [first, ...rows] = await database.rows(statementOf(query, reader))
    const [tips, total] = first ?? []
    return {
      tips: parseTips(tips),
      rows: rows.map((cells) => reader.parse(cells, 2)),
      total: total == null ? null : Number(total),
    }
  }
  return {
    /** The next rows of the queries, merged, in one snapshot. */
    page: (query: ListingQuery) => answer(query, pageStatement),
    /** Rows by their ids, in that order; absent ones are left out. */
    byIds: (query: IdsQuery) => answer(query, byIdsStatement),
    /** A row by its id, without inclusions; null for an absent one. Costs a third of `byIds`. */
    async one(kind: Kind, chainId: ChainId, id: bigint): Promise<ListRow | null> {
      const reader = rowReader(kind, [])
      const [cells] = await database.rows(oneStatement(kind, chainId, id, reader))
      return cells === undefined ? null : reader.parse(cells, 0)
    },
  }
}
