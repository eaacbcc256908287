import { getTableColumns, getTableName, type SQL, sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import { copyRows } from './copy-rows.ts'
import type { Copy, Handle } from './pool.ts'

/**
 * Rows as a table expression with one array parameter per column, and the names of its columns, which the keys of the
 * first row select. Drizzle writes an array of names as a list in parentheses.
 */
export const asRows = (table: PgTable, rows: readonly object[]) => {
  const [first = {}] = rows
  const columns = Object.entries(getTableColumns(table)).filter(([name]) => name in first)
  const arrays = columns.map(([name, column]) => {
    const values = (rows as readonly Row[]).map((row) => row[name])
    const elements = values.map((value) => (value === null ? 'NULL' : elementOf(column.mapToDriverValue(value))))
    return sql`${sql.param(`{${elements.join()}}`)}::${sql.raw(column.getSQLType())}[]`
  })
  const names = columns.map(([, column]) => sql.identifier(column.name))
  return { names, source: sql`unnest(${sql.join(arrays, sql`, `)})` }
}

/** Ids as an array. */
export const bigints = (ids: readonly bigint[]) => sql`${sql.param(ids.map(String))}::bigint[]`

/** Inserts rows (`asRows`). Neither the statement's text nor its number of parameters grows with the rows. */
export const insertMany = async <T extends PgTable>(
  handle: Handle,
  table: T,
  rows: readonly T['$inferInsert'][],
  onConflict: SQL = sql`ON CONFLICT DO NOTHING`,
): Promise<void> => {
  if (rows.length === 0) return
  const { names, source } = asRows(table, rows)
  await handle.execute(sql`INSERT INTO ${table} ${names} SELECT * FROM ${source} ${onConflict}`)
}

/** A value as an element of an array literal. The driver's own array encoding takes twice the time. */
const elementOf = (value: unknown): string => {
  if (Buffer.isBuffer(value)) return `"\\\\x${value.toString('hex')}"`
  if (typeof value === 'string') return `"${value.replace(/["\\]/g, '\\$&')}"`
  return String(value)
}

type Row = Readonly<Record<string, unknown>>

/**
 * Inserts new rows with COPY, in half the time of an INSERT. A column's value comes from `same` or from each row; the
 * keys of `same` and of the first row select the columns. A row that exists already is an error, which aborts the
 * transaction.
 */
export const copyMany = async (copy: Copy, table: PgTable, same: Row, rows: readonly Row[]): Promise<void> => {
  const [first] = rows
  if (first === undefined) return
  const columns = Object.entries<PgColumn>(getTableColumns(table)).filter(([name]) => name in same || name in first)
  const names = columns.map(([, { name }]) => `"${name}"`)
  await copy(`COPY "${getTableName(table)}" (${names}) FROM STDIN (FORMAT binary)`, copyRows(columns, same, rows))
}
