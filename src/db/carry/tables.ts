import { pipeline } from 'node:stream/promises'
import { getTableColumns, getTableName } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { Client } from 'pg'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import type { Handle } from '../pool.ts'

/** Two databases: a connection to the previous one, and to the rebuilt one, with a transaction on each. */
export type Databases = {
  readonly from: Client
  readonly to: Client
  /** The queries of the two transactions. */
  readonly previous: Handle
  readonly rebuilt: Handle
}

/** Copies rows of a table of the previous database that fulfil a condition. Returns how many. */
export const copyTable = async (
  { from, to }: Databases,
  table: PgTable,
  { into = getTableName(table), where = 'true' }: { readonly into?: string; readonly where?: string } = {},
): Promise<number> => {
  const columns = Object.values(getTableColumns(table)).map(({ name }) => `"${name}"`)
  const rows = from.query(copyTo(`COPY (SELECT ${columns} FROM "${getTableName(table)}" WHERE ${where}) TO STDOUT`))
  const written = to.query(copyFrom(`COPY "${into}" (${columns}) FROM STDIN`))
  await pipeline(rows, written)
  return written.rowCount
}
