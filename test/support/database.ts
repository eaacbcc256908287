import { inject } from 'vitest'
import { cloneDatabase, type TestDatabase } from './clone-database.ts'

export type { TestDatabase }

/**
 * A clone of the migrated template for one test file.
 *
 * @example
 * const database = await createTestDatabase()
 * afterAll(() => database.close())
 */
export const createTestDatabase = (): Promise<TestDatabase> =>
  cloneDatabase(inject('postgresUrl'), inject('templateDatabase'))
