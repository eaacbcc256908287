import { getTableColumns, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { Address, Hex } from 'viem'
import { z } from 'zod'
import type { ChainId } from '../../protocol/chains.ts'
import { type LedgerTypeName, ledgerTypeOf, ledgerTypes } from '../../protocol/ledger.ts'
import { ledgerCompleteFrom } from '../index/work/log-gaps.ts'
import type { Database, Handle, Statement } from '../pool.ts'
import { ledger, ledgerReversals } from '../schema/ledger.ts'
import { tokens } from '../schema/records.ts'
import { addresses, type ListQuery, listQueryText, listQueryValues, MAX_ROWS } from './listings.ts'
import { parseTips, type Tip, tipsText } from './tips.ts'

/** A row of the ledger with the token of its event. Integers are decimal texts. */
export type ActivityEntry = {
  readonly chainId: ChainId
  readonly blockNumber: string
  readonly blockHash: Hex
  readonly blockTimestamp: string
  readonly logIndex: number
  readonly txHash: Hex
  readonly type: LedgerTypeName
  readonly eventId: string | null
  readonly depositId: string | null
  readonly positionId: string | null
  readonly wallet: Address | null
  readonly amount: string | null
  readonly fee: string | null
  readonly topics: Hex
  readonly data: Hex
  /** The token of its event; null without one, and before the first observation of the event. */
  readonly token: Address | null
  readonly symbol: string | null
  readonly decimals: number | null
  /** The fee for creating an event, if the row is of a creation and the ledger has the log that set the fee. */
  readonly creationFee: string | null
}

type ActivityFilters = {
  readonly wallets?: readonly Address[] | undefined
  readonly eventId?: bigint | undefined
  readonly depositId?: bigint | undefined
  readonly positionId?: bigint | undefined
  readonly types?: readonly LedgerTypeName[] | undefined
}

/** The blocks of a chain whose activity is wanted, both inclusive. */
export type BlockWindow = { readonly chainId: ChainId; readonly low: bigint; readonly high: bigint }

type ActivityQuery = {
  /** The position on each chain: `after.id` is a block, `after.key` a log index. */
  readonly queries: readonly ListQuery[]
  readonly windows: readonly BlockWindow[]
  readonly filters: ActivityFilters
  readonly order: 'asc' | 'desc'
  readonly limit: number
}

type ActivityRows = {
  readonly tips: readonly Tip[]
  readonly rows: readonly ActivityEntry[]
  /** The chains whose ledger lacks logs, with the first block from which on it has all. */
  readonly completeFrom: readonly { readonly chainId: ChainId; readonly blockNumber: bigint }[]
}

const Lacking = z.object({ chainId: z.int(), blockNumber: z.string().transform(BigInt) })

/** The largest block number and log index. */
export const MAX_BLOCK = 2n ** 63n - 1n
export const MAX_LOG_INDEX = 2 ** 31 - 1

const starts = {
  asc: { id: '-1', key: '-1' },
  desc: { id: String(MAX_BLOCK), key: String(MAX_LOG_INDEX) },
} as const

const hexOf = (value: string): Hex => ledger.data.mapFromDriverValue(value) as Hex
const addressOf = (value: string): Address => ledger.wallet.mapFromDriverValue(value) as Address

/** The fields of a row: its expression over the joined rows, and how its text is parsed. */
const fields = {
  chainId: { sql: 'f.chain_id', parse: Number },
  blockNumber: { sql: 'f.block_number', parse: String },
  blockHash: { sql: 'f.block_hash', parse: hexOf },
  blockTimestamp: { sql: 'f.block_timestamp', parse: String },
  logIndex: { sql: 'f.log_index', parse: Number },
  txHash: { sql: 'f.tx_hash', parse: hexOf },
  type: { sql: 'f.type', parse: (value) => ledgerTypeOf(Number(value)) },
  eventId: { sql: 'f.event_id', parse: String },
  depositId: { sql: 'f.deposit_id', parse: String },
  positionId: { sql: 'f.position_id', parse: String },
  wallet: { sql: 'f.wallet', parse: addressOf },
  amount: { sql: 'f.amount', parse: String },
  fee: { sql: 'f.fee', parse: String },
  topics: { sql: 'f.topics', parse: hexOf },
  data: { sql: 'f.data', parse: hexOf },
  token: { sql: 'o.payment_token', parse: addressOf },
  symbol: { sql: 't.symbol', parse: (value) => tokens.symbol.mapFromDriverValue(value) },
  decimals: { sql: 't.decimals', parse: Number },
  creationFee: {
    // The first word of the newest log before the creation that set the fees.
    sql: `CASE WHEN f.type = ${ledgerTypes['event.created'].code} THEN (SELECT substr(data, 1, 32) FROM ledger
      WHERE chain_id = f.chain_id AND type = ${ledgerTypes['fees.set'].code} AND (block_number, log_index) < (f.block_number, f.log_index)
      ORDER BY block_number DESC, log_index DESC LIMIT 1) END`,
    parse: (value) => BigInt(hexOf(value)).toString(),
  },
} as const satisfies {
  readonly [F in keyof ActivityEntry]: { readonly sql: string; readonly parse: (value: string) => unknown }
}

const fieldEntries = Object.entries(fields)

const entryOf = (cells: readonly (string | null)[], from: number): ActivityEntry =>
  Object.fromEntries(
    fieldEntries.map(([name, { parse }], at) => {
      const cell = cells[from + at]
      return [name, cell == null ? null : parse(cell)]
    }),
  ) as ActivityEntry

/** The first block from which on the ledger of a chain has all logs, where it lacks some. */
const completeFrom = `(SELECT json_agg(json_build_object('chainId', chain_id, 'blockNumber', low::text)) FROM (
    SELECT chain_id, ${ledgerCompleteFrom} AS low FROM query JOIN cursors c USING (chain_id)) AS ledgers WHERE low IS NOT NULL)`

/** Joins to rows `f` the token of their event. */
const tokenJoins = `LEFT JOIN LATERAL (SELECT payment_token FROM events WHERE chain_id = f.chain_id AND id = f.event_id LIMIT 1) o ON true
  LEFT JOIN tokens t ON t.chain_id = f.chain_id AND t.address = o.payment_token`

const newsColumns = Object.values(getTableColumns(ledgerReversals))
  .map(({ name }) => `"${name}"`)
  .join()

type Bind = (value: string, type: string) => string

const idConditions = ({ eventId, depositId, positionId }: ActivityFilters, bind: Bind): string[] =>
  Object.entries({ event_id: eventId, deposit_id: depositId, position_id: positionId }).flatMap(([column, id]) =>
    id === undefined ? [] : [`l.${column} = ${bind(String(id), 'bigint')}`],
  )

/** Which rows a chain has, and what each of them is read for: its wallet or else its type, in the order of an index. */
const selectionOf = ({ wallets, types, ...ids }: ActivityFilters, bind: Bind) => {
  const ofIds = idConditions(ids, bind)
  const codes = types && bind(`{${types.map((type) => ledgerTypes[type].code).join()}}`, 'smallint[]')
  if (wallets !== undefined) {
    const owned = `CROSS JOIN unnest(${bind(addresses([...new Set(wallets)]), 'bytea[]')}) AS owned (by)`
    const ofTypes = codes === undefined ? [] : [`l.type = ANY(${codes})`]
    return { each: owned, conditions: ['l.wallet = owned.by', ...ofIds, ...ofTypes] }
  }
  if (codes === undefined) return { each: '', conditions: ofIds }
  if (ofIds.length > 0) return { each: '', conditions: [...ofIds, `l.type = ANY(${codes})`] }
  return { each: `CROSS JOIN unnest(${codes}) AS kept (type)`, conditions: ['l.type = kept.type'] }
}

/** A statement whose first row has the tips, and whose other rows have the fields. */
const statementOf = ({ queries, windows, filters, order, limit }: ActivityQuery): Statement => {
  const values: unknown[] = [...listQueryValues(queries, starts[order])]
  const bind: Bind = (value, type) => `$${values.push(value)}::${type}`
  const wanted = windows.map(
    ({ chainId, low, high }) =>
      `(${bind(`${chainId}`, 'integer')}, ${bind(`${low}`, 'bigint')}, ${bind(`${high}`, 'bigint')})`,
  )
  const most = bind(`${limit}`, 'bigint')
  const { each, conditions } = selectionOf(filters, bind)
  const wheres = [
    'l.chain_id = query.chain_id',
    'l.block_number <= query.up_to',
    'l.block_number BETWEEN wanted.low AND wanted.high',
    `(l.block_number, l.log_index) ${order === 'asc' ? '>' : '<'} (query.after, query.after_key::integer)`,
    ...conditions,
  ].join(' AND ')
  const ordered = `block_number ${order}, log_index ${order}`
  const merged = `f.block_timestamp ${order}, f.chain_id, f.block_number ${order}, f.log_index ${order}`
  // The constant limit shows a generic plan that no page needs all rows.
  const rows = `SELECT * FROM (SELECT l.* FROM ledger l WHERE ${wheres} ORDER BY ${ordered} LIMIT ${MAX_ROWS + 1}) l
    ORDER BY ${ordered} LIMIT ${most}`
  const page = `SELECT f.* FROM query JOIN wanted ON wanted.of_chain = query.chain_id ${each}
    CROSS JOIN LATERAL (${rows}) f ORDER BY ${merged} LIMIT ${most}`
  const isLater = queries.some(({ rollback }) => rollback !== null)
  const text = `WITH ${listQueryText(queries.length)}, wanted (of_chain, low, high) AS (VALUES ${wanted.join()})
    SELECT ${tipsText({ reorged: isLater, refreshing: false })}, ${completeFrom}::text, ${fieldEntries.map(() => 'NULL').join()}
    UNION ALL (SELECT NULL, NULL, ${fieldEntries.map(([, { sql }]) => sql).join()} FROM (${page}) f
      ${tokenJoins} ORDER BY ${merged})`
  const names = Object.entries(filters).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  // Only common shapes are prepared under a name, because a connection keeps every prepared statement.
  return {
    text,
    values,
    ...(names.length < 2 && { name: ['activity', order, queries.length, isLater, ...names].join(' ') }),
  }
}

/** The first block of a chain with activity at or after a time; one above the newest row where there is none. */
const blockAt = (chainId: ChainId, time: bigint): Statement => ({
  name: 'activity block',
  // Blocks below `low` are earlier and those from `high` on are not, because the times of blocks never decrease.
  text: `WITH RECURSIVE search (low, high) AS (
      SELECT 0::bigint, (SELECT coalesce(max(block_number), 0) + 1 FROM ledger WHERE chain_id = $1)
      UNION ALL SELECT CASE WHEN is_earlier THEN block_number + 1 ELSE low END, CASE WHEN is_earlier THEN high ELSE middle END
      FROM (SELECT *, (low + high) / 2 AS middle FROM search WHERE low < high) s LEFT JOIN LATERAL (
        SELECT block_number, block_timestamp < $2 AS is_earlier FROM ledger
        WHERE chain_id = $1 AND block_number >= s.middle AND block_number < s.high ORDER BY block_number LIMIT 1) found ON true
    ) SELECT high FROM search WHERE low >= high`,
  values: [chainId, String(time)],
})

/** The first block of a chain with activity at or after a time in Unix seconds; above all where there is none. */
export const firstBlockFrom = async (
  database: Pick<Database, 'rows'>,
  chainId: ChainId,
  time: bigint,
): Promise<bigint> => {
  const [cells] = await database.rows(blockAt(chainId, time))
  return BigInt(cells?.[0] ?? 0)
}

/** A row of the ledger that was news of its wallet, or that a reorg removed, with the number of the change. */
export type ActivityNews = ActivityEntry & { readonly seq: number; readonly isReverted: boolean }

const newsFields = sql.raw(fieldEntries.map(([, { sql }]) => `(${sql})::text`).join())

/** Reads what became or ceased to be activity of wallets after a number, in order, `limit` at most. */
export const activityAfter = async (
  handle: Handle,
  seq: number,
  { chainIds, wallets }: { readonly chainIds: readonly ChainId[]; readonly wallets: readonly Address[] | null },
  limit: number,
): Promise<ActivityNews[]> => {
  const owned = wallets === null ? sql`true` : sql`wallet = ANY(${addresses(wallets)}::bytea[])`
  const part = (
    table: PgTable,
  ) => sql`(SELECT ${sql.raw(newsColumns)}, ${table === ledgerReversals}::boolean AS is_reverted FROM ${table}
    WHERE seq > ${seq}::bigint AND chain_id = ANY(${`{${chainIds.join()}}`}::integer[]) AND ${owned} ORDER BY seq LIMIT ${limit})`
  const { rows } = await handle.execute<{ seq: string; is_reverted: boolean; cells: (string | null)[] }>(sql`
    SELECT f.seq, f.is_reverted, ARRAY[${newsFields}] AS cells FROM (${part(ledger)} UNION ALL ${part(ledgerReversals)} ORDER BY seq LIMIT ${limit}) f
    ${sql.raw(tokenJoins)} ORDER BY f.seq`)
  return rows.map(({ seq, is_reverted, cells }) => ({
    ...entryOf(cells, 0),
    seq: Number(seq),
    isReverted: is_reverted,
  }))
}

/** Creates the queries of the ledger. All throw `service_unavailable` when the database is out of reach. */
export const createActivity = (database: Pick<Database, 'rows'>) => ({
  /** The next rows of the ledger, of several chains by the times of their blocks. */
  async page(query: ActivityQuery): Promise<ActivityRows> {
    const [first, ...rows] = await database.rows(statementOf(query))
    const [tips, lacking] = first ?? []
    return {
      tips: parseTips(tips),
      rows: rows.map((cells) => entryOf(cells, 2)),
      completeFrom: z.array(Lacking).parse(JSON.parse(lacking ?? '[]')),
    }
  },
  blockAt: (chainId: ChainId, time: bigint) => firstBlockFrom(database, chainId, time),
})
