import { pino } from 'pino'
import { createDatabase, type Database } from '../../src/db/pool.ts'
import type { Logger } from '../../src/lib/observe/log.ts'

/**
 * A database as the processes open theirs, but with long timeouts, because a machine that runs many tests at once may
 * pause.
 *
 * @example const database = openDatabase(store.url)
 */
export const openDatabase = (
  url: string,
  { maxConnections = 4, log = pino({ level: 'silent' }) }: { maxConnections?: number; log?: Logger } = {},
): Database =>
  createDatabase({
    ...{ url, log, maxConnections },
    ...{ statementTimeoutMs: 20_000, connectTimeoutMs: 20_000, idleInTransactionMs: 20_000 },
  })
