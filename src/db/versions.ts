import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { max, type SQL, sql } from 'drizzle-orm'
import { z } from 'zod'
import { isUnavailable, OperatorError } from '../lib/errors.ts'
import { sleep } from '../lib/lifecycle.ts'
import type { Logger } from '../lib/observe/log.ts'
import { packaged } from '../lib/root.ts'
import type { Database, Handle } from './pool.ts'
import { schemaFloors } from './schema/index-state.ts'

/** The folder of this build's migrations. */
export const migrationsFolder = fileURLToPath(packaged('migrations'))

const Journal = z.object({ entries: z.array(z.object({ tag: z.string(), when: z.int() })) })

/** A migration: the name of its file, and the time by which a database records it. */
export type Migration = z.output<typeof Journal>['entries'][number]

/** The migrations of a folder in order: those that a build knows. */
export const migrationsOf = (folder: string): readonly Migration[] =>
  Journal.parse(JSON.parse(readFileSync(join(folder, 'meta/_journal.json'), 'utf8'))).entries

/** The times of the migrations that were applied to a database, and the oldest build that it supports. */
export type Applied = { readonly times: readonly number[]; readonly oldest: number }

const numberOf = (tag: string | undefined): string => tag?.slice(0, 4) ?? '0000'

/** Why a build cannot run on a database, with advice; null when it can. */
export const versionFault = (known: readonly Migration[], { times, oldest }: Applied): string | null => {
  const missing = known.filter(({ when }) => !times.includes(when))
  if (missing.length > 0) {
    const names = missing.map(({ tag }) => tag).join(', ')
    return `the database is older than this version and lacks ${names}: run this version's migrate command, then start this again`
  }
  const newest = numberOf(known.at(-1)?.tag)
  if (Number(newest) >= oldest) return null
  return `the database is newer than this version and no longer serves it (this version knows migrations up to ${newest}, the database requires ${String(oldest).padStart(4, '0')}): start the newer version, or restore a backup from before it`
}

const values = async (handle: Handle, query: SQL): Promise<(string | null)[]> =>
  (await handle.execute<{ value: string | null }>(query)).rows.map(({ value }) => value)

/** Reads the migrations and the floor of a database. A new database has neither table. */
export const readApplied = async (handle: Handle): Promise<Applied> => {
  const [migrations, floors] = await values(
    handle,
    sql`SELECT to_regclass(name)::text AS value
      FROM unnest(ARRAY['drizzle.__drizzle_migrations', 'schema_floors']) WITH ORDINALITY AS it (name, place) ORDER BY place`,
  )
  if (migrations == null) return { times: [], oldest: 0 }
  const times = await values(handle, sql`SELECT created_at::text AS value FROM drizzle.__drizzle_migrations`)
  const [floor] = floors == null ? [] : await handle.select({ oldest: max(schemaFloors.oldest) }).from(schemaFloors)
  return { times: times.map(Number), oldest: floor?.oldest ?? 0 }
}

/** Throws an OperatorError when a database is behind a pooler that changes the session of a connection. */
export const requireSessions = async (database: Database, variable = 'DATABASE_URL'): Promise<void> => {
  if (!(await database.sharesSessions())) return
  const lost = 'prepared statements, notifications and leases need a session of the server'
  throw new OperatorError(
    `${variable} points to a pooler in transaction mode, but ${lost}: set the pooler to session mode, or the URL to PostgreSQL`,
  )
}

/** Why this build cannot run on a database with these migrations; null when it can. */
export const ownFault = (applied: Applied): string | null => versionFault(migrationsOf(migrationsFolder), applied)

/** Throws an OperatorError when this build cannot run on a database, `service_unavailable` when it is out of reach. */
export const requireVersion = async (database: Database): Promise<void> => {
  await requireSessions(database)
  const fault = ownFault(await database.snapshot(readApplied))
  if (fault !== null) throw new OperatorError(fault)
}

/** How often a database that is out of reach is checked again, in milliseconds. */
const RETRY_EVERY_MS = 2_000

const retryUntilReached = async (database: Database, signal: AbortSignal, everyMs: number): Promise<void> => {
  for (;;) {
    await sleep(everyMs, signal)
    if (signal.aborted) return
    try {
      return await requireVersion(database)
    } catch (fault) {
      if (signal.aborted) return
      if (!isUnavailable(fault)) throw fault
    }
  }
}

/**
 * As `requireVersion`, but a start does not wait for a database that is out of reach: the check is repeated in the
 * background until the database answers. An unsupported version then is an unhandled rejection, which ends the process
 * in order.
 */
export const requireVersionOnceReached = async (options: {
  readonly database: Database
  readonly log: Logger
  readonly signal: AbortSignal
  readonly retryEveryMs?: number
}): Promise<void> => {
  const { database, log, signal, retryEveryMs = RETRY_EVERY_MS } = options
  try {
    await requireVersion(database)
  } catch (fault) {
    if (!isUnavailable(fault)) throw fault
    log.warn('the database is out of reach: its version is checked when it answers')
    void retryUntilReached(database, signal, retryEveryMs)
  }
}
