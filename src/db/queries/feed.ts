import { type SQL, sql } from 'drizzle-orm'
import type { Hex } from 'viem'
import type { ChainId } from '../../protocol/chains.ts'
import { greatestNumber } from '../changes/changes.ts'
import { aspects } from '../changes/scopes.ts'
import type { Database } from '../pool.ts'
import { feed, feedEpochs, feedFloors, type resetReasons } from '../schema/feed.ts'
import { changeCounter } from '../schema/index-state.ts'

/** A position in the feed: the history of the database that gave it, and the number of a change. */
export type FeedCursor = { readonly epoch: string; readonly seq: number }

export const subjectTypes = feed.type.enumValues

type SubjectType = (typeof subjectTypes)[number]

export type Aspect = keyof typeof aspects

export const aspectNames = Object.keys(aspects) as Aspect[]

/** Which subjects a page of the feed has. Without keys, all of the types. */
export type FeedFilter = {
  readonly chainIds: readonly ChainId[]
  readonly types: readonly SubjectType[]
  /** Addresses in lower case, or event ids. */
  readonly keys?: readonly string[]
}

/** The aspects of a subject whose newest change has a number. A subject has an item for each of these numbers. */
export type FeedItem = {
  readonly seq: number
  readonly chainId: ChainId
  readonly type: SubjectType
  readonly key: string
  readonly changed: readonly Aspect[]
  readonly blockNumber: bigint
  readonly blockHash: Hex
}

/** A chain of which everything may have changed since the cursor. */
export type FeedReset = {
  /** The number from which on the feed of the chain is complete. */
  readonly seq: number
  readonly chainId: ChainId
  readonly reason: (typeof resetReasons)[number] | 'other_history'
}

export type FeedPage = {
  readonly items: readonly FeedItem[]
  readonly resets: readonly FeedReset[]
  readonly next: FeedCursor
  readonly hasMore: boolean
}

type Row = Readonly<Record<Aspect | 'at' | 'chain_id', number>> & {
  readonly type: SubjectType
  readonly key: string
  readonly block_number: string
  readonly block_hash: string
}

type Read = {
  readonly epoch: string
  readonly last: string
  readonly start: string
  readonly known: boolean
  readonly floors: readonly { chain_id: ChainId; seq: number; reason: FeedReset['reason'] }[] | null
  readonly items: readonly Row[] | null
}

const strings = (values: readonly (string | number)[], type: string): SQL =>
  sql`${sql.param(values.map(String))}::${sql.raw(type)}[]`

const numberColumns = [...aspectNames, 'seq']
const aspectColumns = sql.raw(aspectNames.join(', '))

/** The queries of the feed. All throw `service_unavailable` when the database is out of reach. */
export type FeedQueries = ReturnType<typeof createFeedQueries>

export const createFeedQueries = (database: Pick<Database, 'run'>) => ({
  /**
   * Reads what changed after a cursor, in the order of the newest change of each aspect, `limit` items at most; null is
   * the beginning, `now` the end. No item has a number above `upTo`. A cursor of a history that this database does not
   * continue, or of the future, resets every chain.
   */
  async page(since: FeedCursor | 'now' | null, filter: FeedFilter, limit: number, upTo: number): Promise<FeedPage> {
    const { chainIds, types, keys } = filter
    const { epoch = '', seq = 0 } = since === 'now' || since === null ? {} : since
    const isOwn = since === 'now' || since === null
    // Each column of numbers has its index. Named subjects are few, so their rows are read once, by their keys.
    const source = keys === undefined ? sql`${feed}` : sql`named`
    const numbered = numberColumns.map((name) => {
      const number = sql.raw(name)
      return sql`(SELECT chain_id, type, key, ${aspectColumns}, ${number} AS at, block_number, encode(block_hash, 'hex') AS block_hash
        FROM ${source} WHERE chain_id = chain.chain_id AND type = of.type
          AND ${number} > 0 AND ${number} > greatest(read.start, chain.seq) AND ${number} <= read.last
        ORDER BY ${number} LIMIT ${limit + 1})`
    })
    const named = sql`SELECT found.* FROM read CROSS JOIN unnest(${strings(chainIds, 'integer')}) AS of_chain (id)
      CROSS JOIN unnest(${strings(types, 'text')}) AS of (type) CROSS JOIN unnest(${strings(keys ?? [], 'text')}) AS given (key)
      CROSS JOIN LATERAL (SELECT * FROM ${feed} AS feed WHERE feed.chain_id = of_chain.id AND feed.type = of.type
        AND feed.key = given.key LIMIT 1) AS found WHERE found.seq > read.start`
    const { rows } = await database.run((handle) =>
      handle.execute<Read>(sql`WITH state AS MATERIALIZED (
        SELECT counter.epoch, least(counter.last, ${upTo}::bigint) AS last, ${isOwn}::boolean
          OR (counter.epoch = ${epoch} AND ${seq}::bigint <= ${greatestNumber(sql`counter.last`)})
          OR EXISTS (SELECT FROM ${feedEpochs} AS ended WHERE ended.epoch = ${epoch} AND ended.last >= ${seq}::bigint) AS known
        FROM ${changeCounter} AS counter
      ), read AS MATERIALIZED (
        SELECT *, CASE WHEN known AND ${since !== 'now'}::boolean THEN ${seq}::bigint ELSE last END AS start FROM state
      ), chain AS MATERIALIZED (
        SELECT floor.chain_id, floor.seq, floor.reason FROM ${feedFloors} AS floor
        WHERE floor.seq IS NOT NULL AND floor.chain_id = ANY(${strings(chainIds, 'integer')})
      ), named AS MATERIALIZED (${named}), item AS MATERIALIZED (
        SELECT found.* FROM read CROSS JOIN chain CROSS JOIN unnest(${strings(types, 'text')}) AS of (type) CROSS JOIN LATERAL (
          ${sql.join(numbered, sql` UNION `)} ORDER BY at LIMIT ${limit + 1}
        ) AS found ORDER BY found.at LIMIT ${limit + 1}
      ) SELECT epoch, last, start, known, (SELECT json_agg(chain) FROM chain) AS floors,
        (SELECT json_agg(item ORDER BY item.at) FROM item) AS items FROM read`),
    )
    const [read] = rows
    if (read === undefined) return { items: [], resets: [], next: { epoch: '', seq: 0 }, hasMore: false }
    const start = Number(read.start)
    const found = read.items ?? []
    const hasMore = found.length > limit
    const page = found.slice(0, limit)
    const end = hasMore ? (page.at(-1)?.at ?? start) : Math.max(start, Number(read.last))
    return {
      items: page.map(itemOf),
      resets: read.known
        ? (read.floors ?? []).flatMap(({ chain_id: chainId, seq, reason }) =>
            seq > start && seq <= end ? [{ seq, chainId, reason }] : [],
          )
        : chainIds.map((chainId) => ({ seq: end, chainId, reason: 'other_history' })),
      // A position after the end is of changes that this copy of the database does not have yet.
      next: { epoch: start > Number(read.last) ? epoch : read.epoch, seq: end },
      hasMore,
    }
  },
})

const itemOf = (row: Row): FeedItem => ({
  seq: row.at,
  chainId: row.chain_id,
  type: row.type,
  key: row.key,
  changed: aspectNames.filter((aspect) => row[aspect] === row.at),
  blockNumber: BigInt(row.block_number),
  blockHash: `0x${row.block_hash}`,
})
