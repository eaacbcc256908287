import { createConcurrencyLimit } from '../lib/concurrency-limit.ts'
import { unavailable } from '../lib/errors.ts'
import type { Database } from './pool.ts'

/** More than tasks of one process ever wait. */
const MAX_WAITING = 10_000

/**
 * The same database with at most `atOnce` of its connections. Further work waits here, in order and without a time-out,
 * and not at the pool, where it would be given up after `connectTimeoutMs` and keep the connections from other callers.
 * Work must not begin other work and wait for it.
 */
export const limitConnections = (database: Database, atOnce: number, waiting = MAX_WAITING): Database => {
  const refuse = () => unavailable('too much work waits for the database')
  const limited = createConcurrencyLimit({ atOnce, waiting, refuse })
  return {
    ...database,
    run: (query) => limited(() => database.run(query)),
    rows: (statement) => limited(() => database.rows(statement)),
    transaction: (work) => limited(() => database.transaction(work)),
    snapshot: (work) => limited(() => database.snapshot(work)),
    connections() {
      const { waiting: atPool, ...connections } = database.connections()
      return { ...connections, waiting: atPool + limited.waiting() }
    },
  }
}
