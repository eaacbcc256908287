import { and, desc, eq, lte, sql } from 'drizzle-orm'
import type { Database, Handle } from './pool.ts'
import { calibrations } from './schema/work.ts'

/** Sets that are kept per model: a month of daily closes. */
const KEPT = 30

/** The sets of a model, newest first. */
const setsOf = (handle: Handle, model: number) => {
  const { version, pairs } = calibrations
  return handle
    .select({ version, pairs })
    .from(calibrations)
    .where(eq(calibrations.model, model))
    .orderBy(desc(version))
}

/** The newest set of a model; null when there is none. */
export const newestSet = async (database: Database, model: number) => {
  const [row] = await database.run((handle) => setsOf(handle, model).limit(1))
  return row ?? null
}

/** Appends a set and returns its version; null when the newest set is equal. Deletes all but the newest `kept` sets. */
export const appendSet = (database: Database, model: number, pairs: unknown, kept = KEPT): Promise<number | null> =>
  database.transaction(async (handle) => {
    // Serializes writers: two at once would not see each other's set. Readers do not wait for this lock.
    await handle.execute(sql`LOCK TABLE ${calibrations} IN SHARE ROW EXCLUSIVE MODE`)
    const newest = setsOf(handle, model).limit(1).as('newest')
    const same = sql<boolean>`${newest.pairs} = ${JSON.stringify(pairs)}::jsonb`
    const [stored] = await handle.select({ same }).from(newest)
    if (stored?.same === true) return null
    const [appended] = await handle
      .insert(calibrations)
      .values({ model, pairs })
      .returning({ version: calibrations.version })
    const older = setsOf(handle, model).offset(kept).limit(1).as('older')
    const oldest = handle.select({ version: older.version }).from(older)
    await handle.delete(calibrations).where(and(eq(calibrations.model, model), lte(calibrations.version, oldest)))
    return appended?.version ?? null
  })
