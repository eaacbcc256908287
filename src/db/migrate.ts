import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate as apply } from 'drizzle-orm/node-postgres/migrator'
import { Client, DatabaseError } from 'pg'
import { OperatorError } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { adviceOf, faultText, isOutOfReach } from './refusals.ts'
import { migrationsFolder, migrationsOf, readApplied, versionFault } from './versions.ts'

/** Any number, as long as every version of this service takes the same. */
const LOCK = 4_210_001

/** How long one that comes second waits for the first, in milliseconds. */
const TURN_WITHIN_MS = 60_000

/**
 * How long a migration waits for a table that others use, in milliseconds. While it waits, whoever comes to the table later waits behind it: it
 * is better to give up.
 */
const TABLE_WITHIN_MS = 5_000

/** The server's code for a lock that was not had in time. */
const LOCK_NOT_AVAILABLE = '55P03'

const isTimeout = (fault: unknown): boolean =>
  fault instanceof Error &&
  ((fault instanceof DatabaseError && fault.code === LOCK_NOT_AVAILABLE) || isTimeout(fault.cause))

/** Throws an OperatorError with `text` for a lock that was not had in time. */
const within = async <T>(client: Client, ms: number, text: string, work: () => Promise<T>): Promise<T> => {
  await client.query(`SET lock_timeout = ${ms}`)
  try {
    return await work()
  } catch (cause) {
    throw isTimeout(cause) ? new OperatorError(text, { cause }) : cause
  }
}

/**
 * Brings a database to the schema of this version. Safe to run from several processes at once: they take turns. A database of a newer version
 * that still serves this one stays as it is. Throws an OperatorError that says what to do when the database is out of reach, does not
 * serve this version, is migrated by somebody else for too long, or has a table in use for too long; nothing is migrated in part.
 */
export const migrate = async (options: {
  readonly databaseUrl: string
  readonly log?: Logger
  /** This build's unless given. */
  readonly folder?: string
  readonly turnWithinMs?: number
  readonly tableWithinMs?: number
}): Promise<void> => {
  const { databaseUrl, log, folder = migrationsFolder } = options
  const { turnWithinMs = TURN_WITHIN_MS, tableWithinMs = TABLE_WITHIN_MS } = options
  const client = new Client({ connectionString: databaseUrl, connectionTimeoutMillis: 5_000 })
  await client.connect().catch((cause: unknown) => {
    throw new OperatorError(`no database to migrate (${faultText(cause)}): ${adviceOf(cause)}`, { cause })
  })
  const handle = drizzle(client)
  try {
    const turn = `another process has been migrating this database for ${turnWithinMs / 1_000} s: let it end, or end it, and run this again`
    await within(client, turnWithinMs, turn, () => client.query('SELECT pg_advisory_lock($1)', [LOCK]))
    const busy = `a table was in use for ${tableWithinMs / 1_000} s, so nothing was migrated: run this again when less is going on`
    await within(client, tableWithinMs, busy, () => apply(handle, { migrationsFolder: folder }))
    const known = migrationsOf(folder)
    const applied = await readApplied(handle)
    const fault = versionFault(known, applied)
    if (fault !== null) throw new OperatorError(fault)
    log?.info(
      { migration: known.at(-1)?.tag, newer: applied.times.length - known.length },
      'the database serves this version',
    )
  } catch (cause) {
    if (!isOutOfReach(cause)) throw cause
    throw new OperatorError(`nothing was migrated (${faultText(cause)}): ${adviceOf(cause)}`, { cause })
  } finally {
    await client.end()
  }
}
