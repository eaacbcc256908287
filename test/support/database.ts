import { inject } from 'vitest'
import { cloneDatabase, type TestDatabase } from './clone-database.ts'

export type { TestDatabase }

/**
 * A clone of the migrated template for one test file, or of a database that no connection uses.
 *
 * @example
 * const database = await createTestDatabase()
 * afterAll(() => database.close())
 */
export const createTestDatabase = (from?: TestDatabase): Promise<TestDatabase> =>
  cloneDatabase(inject('postgresUrl'), from ? new URL(from.url).pathname.slice(1) : inject('templateDatabase'))
