import { getTableColumns, type SQL, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { Handle } from './pool.ts'

/**
 * Inserts rows with one array parameter a column: the statement's text does not grow with the rows, and no limit on parameters is near.
 * The columns are those that the first row names. `onConflict` is the clause after them.
 */
export const insertMany = async <T extends PgTable>(
  handle: Handle,
  table: T,
  rows: readonly T['$inferInsert'][],
  onConflict: SQL = sql`ON CONFLICT DO NOTHING`,
): Promise<void> => {
  const [first] = rows
  if (first === undefined) return
  const columns = Object.entries(getTableColumns(table)).filter(([name]) => name in first)
  const names = columns.map(([, column]) => sql.identifier(column.name))
  const arrays = columns.map(([name, column]) => {
    const elements = rows
      .map((row: Readonly<Record<string, unknown>>) => row[name])
      .map((value) => (value === null ? 'NULL' : elementOf(column.mapToDriverValue(value))))
    return sql`${sql.param(`{${elements.join()}}`)}::${sql.raw(column.getSQLType())}[]`
  })
  await handle.execute(
    sql`INSERT INTO ${table} (${sql.join(names, sql`, `)}) SELECT * FROM unnest(${sql.join(arrays, sql`, `)}) ${onConflict}`,
  )
}

/** A value as an element of an array's text. The driver's own way with arrays takes twice the time. */
const elementOf = (value: unknown): string => {
  if (Buffer.isBuffer(value)) return `"\\\\x${value.toString('hex')}"`
  if (typeof value === 'string') return `"${value.replace(/["\\]/g, '\\$&')}"`
  return String(value)
}
