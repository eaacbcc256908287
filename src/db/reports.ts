import { createReports } from '../lib/reports.ts'

/** One piece of work that the database does: a statement, or a transaction of several. */
export type Asked = {
  /** The pool's name. */
  readonly pool: string
  readonly kind: 'query' | 'transaction'
  /** Of a prepared statement. */
  readonly name: string | undefined
}

/** Told of all that is asked of the database. */
export const databaseReports = createReports<Asked, unknown>('fx-protection:database')
