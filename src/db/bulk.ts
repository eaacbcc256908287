import { getTableColumns, type SQL, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { Handle } from './pool.ts'

/**
 * Inserts rows with one array parameter a column: the statement's text does not grow with the rows, and no limit on parameters is near.
 * `onConflict` is the clause after them.
 */
export const insertMany = async <T extends PgTable>(
  handle: Handle,
  table: T,
  rows: readonly T['$inferInsert'][],
  onConflict: SQL = sql`ON CONFLICT DO NOTHING`,
): Promise<void> => {
  if (rows.length === 0) return
  const columns = Object.entries(getTableColumns(table)).filter(([, column]) => column.generatedIdentity === undefined)
  const names = columns.map(([, column]) => sql.identifier(column.name))
  const arrays = columns.map(([name, column]) => {
    const values = rows.map((row: Readonly<Record<string, unknown>>) => column.mapToDriverValue(row[name]))
    return sql`${sql.param(values)}::${sql.raw(column.getSQLType())}[]`
  })
  await handle.execute(
    sql`INSERT INTO ${table} (${sql.join(names, sql`, `)}) SELECT * FROM unnest(${sql.join(arrays, sql`, `)}) ${onConflict}`,
  )
}
