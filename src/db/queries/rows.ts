import { getTableColumns, getTableName } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import type { Address } from 'viem'
import type { FeeRate } from '../../protocol/claim-fees.ts'
import { entities, type Kind, perKind } from '../../protocol/entities.ts'
import type { FeeRates } from '../../protocol/logs.ts'
import type { Settlement } from '../../protocol/records.ts'
import { type Inclusion, inclusions, showsValues } from '../../protocol/rows.ts'
import type { Token } from '../../protocol/tokens.ts'
import type { Database, Statement } from '../pool.ts'
import { UNIT } from '../rendering.ts'
import * as t from '../schema.ts'
import { entityTables, type FactRow, type ObservationRow } from '../stored.ts'

/*
 * SQL of list rows. PostgreSQL returns a row as `head US text`, and with inclusions as `head US text US stats US
 * utilization US range`: the stored text and the texts that can be added to it. With the event's summary or the value,
 * `US event US settlement` follows: the event's own stored text, and what `parseSettlement` parses. With the payout, `US
 * rate` follows: the rate of its fee, or `-` where it is unknown. If no text is stored under the reader's key, the row
 * is `head US`, or with columns `head US US columns`: the columns from which to render it, as JSON. Columns make the
 * statement a sixth slower, so it runs with them only if a text is missing. Record separators separate rows. JSON
 * escapes both control characters.
 */

export const RECORD = '\u001e'

/** The names of each kind's tables and of its owner's column, and the alias of the row's own observation. */
export const tables = perKind((kind) => {
  const { facts, observations, owner } = entityTables[kind]
  return {
    facts: getTableName(facts),
    observations: getTableName(observations),
    owner: owner.name,
    ownAlias: kind === 'event' ? 'e' : 's',
  }
})

/** A look-up of one row per row. Without the limit, a generic plan would read the whole table. */
const lookedUp = (table: string, alias: string, id: string, columns = '*'): string =>
  `LEFT JOIN LATERAL (SELECT ${columns} FROM ${table} WHERE chain_id = f.chain_id AND id = f.${id} LIMIT 1) AS ${alias} ON true`

/** Joins the event's observation (`e`) to deposits or positions. */
const eventOf = (kind: Kind): string => (kind === 'event' ? '' : lookedUp('event_observations', 'e', 'event_id'))

/** Joins to facts `f` their own observation (`s`, or `e` of an event) and that of the event (`e`). */
export const observedJoins = (kind: Kind): string =>
  `${lookedUp(tables[kind].observations, tables[kind].ownAlias, 'id')} ${eventOf(kind)}`

/** The same joins for rows that are found by an index over their observations. Those without one are left out. */
export const byObservationJoins = (kind: Kind): string =>
  `JOIN ${tables[kind].observations} ${tables[kind].ownAlias} USING (chain_id, id) ${eventOf(kind)}`

/** Stands for a rate that follows from the logs while the protocol's view contradicts them. */
const CONTRADICTED = '-1'

/**
 * A fee rate that the event of a deposit or position `f` keeps from its creation, as `parseRate` parses it. It is null
 * when it is unknown: the rates are not complete up to its creation, no log set them before, or its creation log and so
 * the order of both is unknown.
 */
export const feeRateOf = (rate: keyof FeeRates): string =>
  `(SELECT CASE WHEN c.fees_contradiction IS NOT NULL THEN ${CONTRADICTED} ELSE (SELECT ${t.feeRates[rate].name} FROM fee_rates WHERE chain_id = o.chain_id AND (block_number, log_index) < (o.block_number, o.log_index)
      ORDER BY block_number DESC, log_index DESC LIMIT 1) END
    FROM events o JOIN cursors c USING (chain_id) WHERE chain_id = f.chain_id AND o.id = f.event_id
      AND o.block_number <= c.fees_number AND o.log_index IS NOT NULL)`

/** Whether rows show records of their event that are stored as texts of their own. */
export const hasRecords = (include: readonly Inclusion[]): boolean => inclusions.some((name) => include.includes(name))

/** Whether rows show what is made from the stored text of their event. */
export const hasSummary = (include: readonly Inclusion[]): boolean => include.includes('event') || showsValues(include)

/** Whether rows show anything of their event. */
const showsEvent = (include: readonly Inclusion[]): boolean => hasRecords(include) || hasSummary(include)

/** The joins that a row's text needs. A look-up of all columns would make a page a tenth slower. */
export const textJoins = (kind: Kind, include: readonly Inclusion[]): string => {
  const { observations, ownAlias } = tables[kind]
  const columns = kind === 'event' ? 'render_key, row_text, inclusions' : 'render_key, row_text'
  return `${lookedUp(observations, ownAlias, 'id', columns)} ${showsEvent(include) ? eventOf(kind) : ''}`
}

/** Stands for an unknown rate in a row. */
const UNKNOWN = '-'

/** Parses the rate of a row with the payout, or why it is not known. */
export const parseRate = (text: string | null | undefined): FeeRate => {
  if (!text || text === UNKNOWN) return 'rates_unknown'
  return text === CONTRADICTED ? 'rates_contradicted' : BigInt(text)
}

const payoutFeeRate = feeRateOf(entities.position.claims.payout.feeRate)

const columnsOf = (table: PgTable, id: string, key = 'id'): string =>
  `(SELECT json_object_agg(key, value) FROM ${getTableName(table)} x, json_each_text(row_to_json(x)) WHERE x.chain_id = f.chain_id AND x.${key} = ${id})`

const columnsSql = (kind: Kind): string => {
  const eventId = kind === 'event' ? 'f.id' : 'f.event_id'
  const token = `(SELECT payment_token FROM event_observations WHERE chain_id = f.chain_id AND id = ${eventId})`
  const parts = {
    fact: columnsOf(entityTables[kind].facts, 'f.id'),
    seen: columnsOf(entityTables[kind].observations, 'f.id'),
    event: columnsOf(t.events, eventId),
    eventSeen: columnsOf(t.eventObservations, eventId),
    token: columnsOf(t.tokens, token, 'address'),
    feeRate: kind === 'position' ? `${payoutFeeRate}::text` : 'NULL',
  }
  return `json_build_object(${Object.entries(parts).map(([name, sql]) => `'${name}', ${sql}`)})`
}

/** The parts of a row: expressions of its head, inclusions, and whether a row without a text has columns. */
type RowParts = {
  readonly head: readonly string[]
  readonly include?: readonly Inclusion[]
  readonly columns: boolean
}

/** The settlement of an event `e` as one text. None of the columns can be null. */
const SETTLEMENT = `concat_ws(',', e.settled_at, e.triggered, e.settlement_price, e.block_timestamp)`

/** Parses that text. */
export const parseSettlement = (text: string): Settlement => {
  const [settledAt = '', triggered, settlementPrice = '', time = ''] = text.split(',')
  return {
    settledAt: BigInt(settledAt),
    triggered: triggered === 't',
    settlementPrice: BigInt(settlementPrice),
    time: BigInt(time),
  }
}

/** A row over `f` (which has the chain's `render_key`) and its `textJoins`. */
export const rowSql = (kind: Kind, { head, include = [], columns }: RowParts): string => {
  const { ownAlias } = tables[kind]
  const aliases = new Set(showsEvent(include) ? [ownAlias, 'e'] : [ownAlias])
  const isRendered = [...aliases].map((it) => `${it}.render_key = f.render_key AND ${it}.row_text IS NOT NULL`)
  const text = [
    `${ownAlias}.row_text`,
    ...(hasRecords(include) ? ['e.inclusions'] : []),
    ...(hasSummary(include) ? ['e.row_text', SETTLEMENT] : []),
    ...(include.includes('payout') ? [`coalesce(${payoutFeeRate}::text, '${UNKNOWN}')`] : []),
  ]
  return `concat(${head.join(`, ',', `)}, '${UNIT}', CASE WHEN ${isRendered.join(' AND ')} THEN ${text.join(` || '${UNIT}' || `)}
    ${columns ? `ELSE '${UNIT}' || ${columnsSql(kind)}::text` : ''} END)`
}

const lacksText = (rows: string | null): boolean =>
  rows !== null && (rows.endsWith(UNIT) || rows.includes(UNIT + RECORD))

/** Reads list rows by a statement without columns, and all again with columns if one has no text. */
export const readTexts = async (database: Pick<Database, 'rows'>, statementOf: (columns: boolean) => Statement) => {
  const rows = await database.rows(statementOf(false))
  return rows.some((texts) => texts.some(lacksText)) ? database.rows(statementOf(true)) : rows
}

/** The rows of a query as one text. */
export const asOneText = (query: string): string => `array_to_string(ARRAY(${query}), '${RECORD}')`

/** The columns from which a row without a text is rendered. An observation is null before the first one. */
export type RowColumns<K extends Kind> = {
  readonly fact: FactRow<K>
  readonly seen: ObservationRow<K> | null
  readonly event: FactRow<'event'> | null
  readonly eventSeen: ObservationRow<'event'> | null
  /** The event's token, if it is stored. */
  readonly token: Token | null
  /** The rate of the fee on a position's payout. */
  readonly feeRate: FeeRate
}

type Columns = Readonly<Record<string, string | null>> | null

const decoded = (table: PgTable, columns: Columns): object | null =>
  columns &&
  Object.fromEntries(
    Object.entries<PgColumn>(getTableColumns(table)).map(([field, column]) => {
      const value = columns[column.name] ?? null
      if (value === null) return [field, null]
      return [field, column.dataType === 'boolean' ? value === 'true' : column.mapFromDriverValue(value)]
    }),
  )

/** Parses the columns of a row without a text. */
export const parseColumns = <K extends Kind>(kind: K, json: string): RowColumns<K> => {
  type Parsed = Readonly<Record<Exclude<keyof RowColumns<K>, 'feeRate'>, Columns>> & { readonly feeRate: string | null }
  const { fact, seen, event, eventSeen, token, feeRate }: Parsed = JSON.parse(json)
  const stored = decoded(t.tokens, token) as (typeof t.tokens.$inferSelect & { readonly address: Address }) | null
  return {
    fact: decoded(entityTables[kind].facts, fact) as FactRow<K>,
    seen: decoded(entityTables[kind].observations, seen) as ObservationRow<K> | null,
    event: decoded(t.events, event) as FactRow<'event'> | null,
    eventSeen: decoded(t.eventObservations, eventSeen) as ObservationRow<'event'> | null,
    token: stored && { token: stored.address, symbol: stored.symbol, decimals: stored.decimals },
    feeRate: parseRate(feeRate),
  }
}
