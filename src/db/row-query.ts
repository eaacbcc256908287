import { getTableColumns, getTableName } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import type { Address } from 'viem'
import type { Kind } from '../protocol/kinds.ts'
import type { Inclusion } from '../protocol/rows.ts'
import type { Token } from '../protocol/tokens.ts'
import { UNIT } from './rendering.ts'
import * as t from './schema.ts'
import { entityTables, type FactRow, type SeenRow } from './stored.ts'

/*
 * The SQL of a list's rows. A row leaves PostgreSQL as `head US text`, and with inclusions `head US text US stats US utilization US range`: the
 * stored text and what may be added to it. Where no text is stored under the reader's key it is `head US`, or with columns `head US US columns`:
 * the columns to render it from, as JSON of texts. Those make the statement a sixth dearer, so it is run with them only where a text is
 * missing. Rows are separated by record separators. JSON escapes both control characters.
 */

export const RECORD = '\u001e'

/** The tables of a kind, and the column that names the owner. */
export const tables = {
  event: { facts: 'events', observations: 'event_observations', owner: 'creator', ownAlias: 'e' },
  deposit: { facts: 'deposits', observations: 'deposit_observations', owner: 'lp', ownAlias: 's' },
  position: { facts: 'positions', observations: 'position_observations', owner: 'hedger', ownAlias: 's' },
} as const

/** One row looked up for each: without the limit, a plan made for any number of rows would read the whole table. */
const lookedUp = (table: string, alias: string, id: string): string =>
  `LEFT JOIN LATERAL (SELECT * FROM ${table} WHERE chain_id = f.chain_id AND id = f.${id} LIMIT 1) AS ${alias} ON true`

/** Joins an event's observation (`e`) to rows of members. */
const eventOf = (kind: Kind): string => (kind === 'event' ? '' : lookedUp('event_observations', 'e', 'event_id'))

/** What conditions and figures need joined to facts `f`: the row's own observation (`s`, or `e` of an event), and the event's (`e`). */
export const observedJoins = (kind: Kind): string =>
  `${lookedUp(tables[kind].observations, tables[kind].ownAlias, 'id')} ${eventOf(kind)}`

/** The same where the row's own observation finds it by an index: rows that are not observed yet are left out. */
export const byObservationJoins = (kind: Kind): string =>
  `JOIN ${tables[kind].observations} ${tables[kind].ownAlias} USING (chain_id, id) ${eventOf(kind)}`

/** What a row's text needs joined. */
export const textJoins = (kind: Kind, include: readonly Inclusion[]): string =>
  `${lookedUp(tables[kind].observations, tables[kind].ownAlias, 'id')} ${include.length > 0 ? eventOf(kind) : ''}`

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
  }
  return `json_build_object(${Object.entries(parts).map(([name, sql]) => `'${name}', ${sql}`)})`
}

/** Parts of a row besides its text: expressions of its head, the inclusions, and whether it has columns where it has no text. */
type RowParts = {
  readonly head: readonly string[]
  readonly include?: readonly Inclusion[]
  readonly columns: boolean
}

/** A row over `f` (which has the chain's `render_key`) and its `textJoins`. */
export const rowSql = (kind: Kind, { head, include = [], columns }: RowParts): string => {
  const { ownAlias } = tables[kind]
  const aliases = new Set(include.length > 0 ? [ownAlias, 'e'] : [ownAlias])
  const isRendered = [...aliases].map((it) => `${it}.render_key = f.render_key AND ${it}.row_text IS NOT NULL`)
  const text = [`${ownAlias}.row_text`, ...(include.length > 0 ? [`'${UNIT}'`, 'e.inclusions'] : [])]
  return `concat(${head.join(`, ',', `)}, '${UNIT}', CASE WHEN ${isRendered.join(' AND ')} THEN ${text.join(' || ')}
    ${columns ? `ELSE '${UNIT}' || ${columnsSql(kind)}::text` : ''} END)`
}

const lacksText = (rows: string | null): boolean =>
  rows !== null && (rows.endsWith(UNIT) || rows.includes(UNIT + RECORD))

/** Reads texts of rows (`asOneText`) without columns, and again with them where a row has no text: either way as of one moment. */
export const withColumnsWhereNeeded = async (
  read: (columns: boolean) => Promise<(string | null)[]>,
): Promise<(string | null)[]> => {
  const texts = await read(false)
  return texts.some(lacksText) ? read(true) : texts
}

/** The rows of a query as one text. */
export const asOneText = (query: string): string => `array_to_string(ARRAY(${query}), '${RECORD}')`

/** What a row without a text is rendered from; an observation is null before the first. */
export type RowColumns<K extends Kind> = {
  readonly fact: FactRow<K>
  readonly seen: SeenRow<K> | null
  readonly event: FactRow<'event'> | null
  readonly eventSeen: SeenRow<'event'> | null
  /** The event's token, where it is stored. */
  readonly token: Token | null
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

/** Reads the columns that a row without a text came with. */
export const parseColumns = <K extends Kind>(kind: K, json: string): RowColumns<K> => {
  const { fact, seen, event, eventSeen, token }: Readonly<Record<keyof RowColumns<K>, Columns>> = JSON.parse(json)
  const stored = decoded(t.tokens, token) as (typeof t.tokens.$inferSelect & { readonly address: Address }) | null
  return {
    fact: decoded(entityTables[kind].facts, fact) as FactRow<K>,
    seen: decoded(entityTables[kind].observations, seen) as SeenRow<K> | null,
    event: decoded(t.events, event) as FactRow<'event'> | null,
    eventSeen: decoded(t.eventObservations, eventSeen) as SeenRow<'event'> | null,
    token: stored && { token: stored.address, symbol: stored.symbol, decimals: stored.decimals },
  }
}
