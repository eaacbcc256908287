import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate as apply } from 'drizzle-orm/node-postgres/migrator'
import type { Client } from 'pg'
import { OperatorError } from '../lib/errors.ts'
import type { Logger } from '../lib/observe/log.ts'
import { openPatient } from './patient-client.ts'
import { adviceOf, faultText, hasState, isOutOfReach } from './refusals.ts'
import { migrationsFolder, migrationsOf, readApplied, versionFault } from './versions.ts'

/** The advisory lock of migrations. Arbitrary, but the same in every version of this service. */
const LOCK = 4_210_001

/** How long a second process waits for the migration of another one, in milliseconds. */
const LOCK_WITHIN_MS = 60_000

/** How long a migration waits for a table, in milliseconds: short, because later statements queue behind it. */
const TABLE_WITHIN_MS = 5_000

/** The SQLSTATE of a lock that was not granted in time. */
const LOCK_NOT_AVAILABLE = '55P03'

/** Runs `work` with a lock timeout. Throws an OperatorError with `text` when a lock is not granted in time. */
const withLockTimeout = async <T>(client: Client, ms: number, text: string, work: () => Promise<T>): Promise<T> => {
  await client.query(`SET lock_timeout = ${ms}`)
  try {
    return await work()
  } catch (cause) {
    throw hasState(cause, LOCK_NOT_AVAILABLE) ? new OperatorError(text, { cause }) : cause
  }
}

/** The schemas that processes read: the tables, and the record of migrations, which every process checks at its start. */
const SCHEMAS = ['public', 'drizzle']

/**
 * What the API writes with self-service for webhooks. Deliveries are deleted with their endpoint, by the foreign key and
 * with the rights of the tables' owner.
 */
const SELF_SERVICE_RIGHTS = { webhook_endpoints: 'INSERT, UPDATE, DELETE', deliveries: 'INSERT, UPDATE' }

/**
 * Allows a role to read all tables, and to write those of self-service only if it is on. Throws an OperatorError when the
 * role does not exist, or is the one that migrates and needs all rights.
 */
const grantRights = async (client: Client, role: string, hasSelfService: boolean): Promise<void> => {
  const { rows } = await client.query<{ owns: boolean }>(
    'SELECT rolname = current_user AS owns FROM pg_roles WHERE rolname = $1',
    [role],
  )
  const [found] = rows
  if (found === undefined) {
    const remedy = `create it with CREATE ROLE ${role} LOGIN PASSWORD '…', and run this again`
    throw new OperatorError(`the role ${role} of DATABASE_READ_ROLE does not exist: ${remedy}`)
  }
  if (found.owns)
    throw new OperatorError(`DATABASE_READ_ROLE is ${role}, the role of DATABASE_URL: name another role, or unset it`)
  const to = client.escapeIdentifier(role)
  for (const schema of SCHEMAS)
    await client.query(
      `GRANT USAGE ON SCHEMA ${schema} TO ${to}; GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${to}`,
    )
  for (const [table, rights] of Object.entries(SELF_SERVICE_RIGHTS))
    await client.query(
      hasSelfService ? `GRANT ${rights} ON ${table} TO ${to}` : `REVOKE ${rights} ON ${table} FROM ${to}`,
    )
}

/**
 * Migrates a database to the schema of this version, in one transaction (decision 15). An advisory lock serializes
 * processes. Throws an OperatorError with advice when the database is out of reach or does not support this version,
 * when another process migrates it for too long, or when a table is in use for too long.
 */
export const migrate = async (options: {
  readonly databaseUrl: string
  readonly log?: Logger
  /** A role of the database that may read all tables from then on. */
  readonly readRole?: string | undefined
  /** Whether that role may also write what self-service for webhooks writes; false by default. */
  readonly selfService?: boolean
  /** The migrations' folder; by default that of this build. */
  readonly folder?: string
  readonly lockWithinMs?: number
  readonly tableWithinMs?: number
}): Promise<void> => {
  const { databaseUrl, log, folder = migrationsFolder } = options
  const { lockWithinMs = LOCK_WITHIN_MS, tableWithinMs = TABLE_WITHIN_MS } = options
  const client = await openPatient(databaseUrl).catch((cause: unknown) => {
    throw new OperatorError(`no database to migrate (${faultText(cause)}): ${adviceOf(cause)}`, { cause })
  })
  const handle = drizzle(client)
  try {
    const locked = `another process has been migrating this database for ${lockWithinMs / 1_000} s: wait for it or stop it, then run this again`
    await withLockTimeout(client, lockWithinMs, locked, () => client.query('SELECT pg_advisory_lock($1)', [LOCK]))
    const busy = `a table was in use for ${tableWithinMs / 1_000} s, so nothing was migrated: run this again under less load`
    await withLockTimeout(client, tableWithinMs, busy, () => apply(handle, { migrationsFolder: folder }))
    const known = migrationsOf(folder)
    const applied = await readApplied(handle)
    const fault = versionFault(known, applied)
    if (fault !== null) throw new OperatorError(fault)
    if (options.readRole !== undefined) await grantRights(client, options.readRole, options.selfService === true)
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
