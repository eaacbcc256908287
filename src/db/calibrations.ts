import { and, desc, eq, lte, sql } from 'drizzle-orm'
import type { Database } from './pool.ts'
import { calibrations } from './schema-work.ts'

/** Sets that are kept: a month of daily closes to look back on. */
const KEPT = 30

/** The newest set of a model; null when there is none. */
export const newestSet = async (
  database: Database,
  model: number,
): Promise<{ readonly version: number; readonly pairs: unknown } | null> => {
  const { version, pairs } = calibrations
  const [row] = await database.run((handle) =>
    handle
      .select({ version, pairs })
      .from(calibrations)
      .where(eq(calibrations.model, model))
      .orderBy(desc(version))
      .limit(1),
  )
  return row ?? null
}

/** Appends a set and returns its version, or null when the newest one of its model is equal. Older ones of the model than its newest 30 go. */
export const appendSet = (database: Database, model: number, pairs: unknown): Promise<number | null> =>
  database.transaction(async (handle) => {
    // Writers take turns, or two of them would both miss the other's set; readers do not wait.
    await handle.execute(sql`LOCK TABLE ${calibrations} IN SHARE ROW EXCLUSIVE MODE`)
    const [newest] = await handle
      .select({ same: sql<boolean>`${calibrations.pairs} = ${JSON.stringify(pairs)}::jsonb` })
      .from(calibrations)
      .where(eq(calibrations.model, model))
      .orderBy(desc(calibrations.version))
      .limit(1)
    if (newest?.same === true) return null
    const [appended] = await handle
      .insert(calibrations)
      .values({ model, pairs })
      .returning({ version: calibrations.version })
    const oldest = handle
      .select({ version: calibrations.version })
      .from(calibrations)
      .where(eq(calibrations.model, model))
      .orderBy(desc(calibrations.version))
      .offset(KEPT)
      .limit(1)
    await handle.delete(calibrations).where(and(eq(calibrations.model, model), lte(calibrations.version, oldest)))
    return appended?.version ?? null
  })
