import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { max, type SQL, sql } from 'drizzle-orm'
import { z } from 'zod'
import { isUnavailable, OperatorError } from '../lib/errors.ts'
import { sleep } from '../lib/lifecycle.ts'
import type { Logger } from '../lib/log.ts'
import { packaged } from '../lib/root.ts'
import type { Database, Handle } from './pool.ts'
import { schemaFloors } from './schema.ts'

/** Where this build's migrations are. */
export const migrationsFolder = fileURLToPath(packaged('migrations'))

const Journal = z.object({ entries: z.array(z.object({ tag: z.string(), when: z.int() })) })

/** A migration by the name of its file, and the time that a database keeps of it. */
export type Migration = z.output<typeof Journal>['entries'][number]

/** The migrations of a folder, in order: those that a build knows. */
export const migrationsOf = (folder: string): readonly Migration[] =>
  Journal.parse(JSON.parse(readFileSync(join(folder, 'meta/_journal.json'), 'utf8'))).entries

/** What a database says of itself: the times of the migrations it has had, and its floor. */
export type Applied = { readonly times: readonly number[]; readonly oldest: number }

const numberOf = (tag: string | undefined): string => tag?.slice(0, 4) ?? '0000'

/** What keeps a build from running on a database, with what to do next; null when nothing does. */
export const versionFault = (known: readonly Migration[], { times, oldest }: Applied): string | null => {
  const lacking = known.filter(({ when }) => !times.includes(when))
  if (lacking.length > 0) {
    const names = lacking.map(({ tag }) => tag).join(', ')
    return `the database is older than this version, it lacks ${names}: run this version's migrate command, then start this again`
  }
  const newest = numberOf(known.at(-1)?.tag)
  if (Number(newest) >= oldest) return null
  return `the database is newer than this version and no longer serves it (this knows migrations up to ${newest}, the database asks for ${String(oldest).padStart(4, '0')}): start the newer version, or restore a backup from before it`
}

const Rows = z.object({ rows: z.array(z.object({ value: z.string().nullable() })) })

const values = async (handle: Handle, query: SQL): Promise<(string | null)[]> =>
  Rows.parse(await handle.execute(query)).rows.map(({ value }) => value)

/** Reads that. A database that nobody has migrated has neither table, an old one has no floor. */
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

/**
 * Throws an OperatorError that says what to do when this build cannot run on a database, `service_unavailable` when it is out of reach.
 */
export const requireVersion = async (database: Database): Promise<void> => {
  const fault = versionFault(migrationsOf(migrationsFolder), await database.snapshot(readApplied))
  if (fault !== null) throw new OperatorError(fault)
}

/** How often a database that is out of reach is asked again, in milliseconds. */
const AGAIN_MS = 2_000

const askAgain = async (database: Database, signal: AbortSignal): Promise<void> => {
  for (;;) {
    await sleep(AGAIN_MS, signal)
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
 * The same at a start, which does not wait for a database that is out of reach: that is asked again until it answers. What it is refused for
 * then is nobody's to catch, and so ends the process in order.
 */
export const requireVersionOnceReached = async (options: {
  readonly database: Database
  readonly log: Logger
  readonly signal: AbortSignal
}): Promise<void> => {
  const { database, log, signal } = options
  try {
    await requireVersion(database)
  } catch (fault) {
    if (!isUnavailable(fault)) throw fault
    log.warn('whether the database serves this version is asked when it is back')
    void askAgain(database, signal)
  }
}
