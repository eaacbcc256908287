import type { environments } from '../config/environments.ts'
import type { ConfigOf } from '../config/load.ts'
import { secretsOf } from '../config/parts.ts'
import type { Database } from '../db/pool.ts'
import { requireVersion } from '../db/versions.ts'
import { createClosers } from '../lib/lifecycle.ts'
import { createLogger } from '../lib/observe/log.ts'
import { COMMAND_TIMES, openDatabase } from './parts.ts'

/** Runs a command of the operator on a database of this version, and closes it. */
export const withDatabase = async (
  config: Pick<ConfigOf<typeof environments.migrate>, 'LOG_LEVEL' | 'DATABASE_URL'>,
  process: string,
  command: (database: Database) => Promise<void>,
): Promise<void> => {
  const log = createLogger({ level: config.LOG_LEVEL, process, secrets: secretsOf(config) })
  const closers = createClosers()
  try {
    const database = openDatabase({ url: config.DATABASE_URL, maxConnections: 1, ...COMMAND_TIMES, log }, closers)
    await requireVersion(database)
    await command(database)
  } finally {
    await closers.close()
  }
}
