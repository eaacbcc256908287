import { fileURLToPath } from 'node:url'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate as apply } from 'drizzle-orm/node-postgres/migrator'
import { Client } from 'pg'
import { OperatorError } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { packaged } from '../lib/root.ts'

/** Any number, as long as every version of this service takes the same. */
const LOCK = 4_210_001

const migrationsFolder = fileURLToPath(packaged('migrations'))

/**
 * Brings a database to the schema of this version. Safe to run from several processes at once: they take turns. Throws when the
 * database is out of reach or a migration fails.
 */
export const migrate = async (options: { readonly databaseUrl: string; readonly log?: Logger }): Promise<void> => {
  const client = new Client({ connectionString: options.databaseUrl, connectionTimeoutMillis: 5_000 })
  await client.connect().catch((cause: Error) => {
    throw new OperatorError(`no database to migrate (${cause.message}): is PostgreSQL up, and DATABASE_URL right?`, {
      cause,
    })
  })
  try {
    await client.query('SELECT pg_advisory_lock($1)', [LOCK])
    await apply(drizzle(client), { migrationsFolder })
    options.log?.info('the database has the schema of this version')
  } finally {
    await client.end()
  }
}
