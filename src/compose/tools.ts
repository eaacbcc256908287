import { environments } from '../config/environments.ts'
import { load } from '../config/load.ts'
import { secretsOf } from '../config/parts.ts'
import { migrate } from '../db/migrate.ts'
import { adviceOf, faultText } from '../db/refusals.ts'
import { requireVersion } from '../db/versions.ts'
import { audit, formatAudit } from '../indexer/audit.ts'
import { isUnavailable, OperatorError } from '../lib/errors.ts'
import { createClosers } from '../lib/lifecycle.ts'
import { createLogger } from '../lib/log.ts'
import { createMeter } from '../lib/meter.ts'
import { openChains, openDatabase, WORK_WITHIN_MS } from './parts.ts'

/** How long a tool waits for a connection, in milliseconds: nobody else waits for its answer. */
const CONNECT_WITHIN_MS = 10_000

/** Brings the database to the schema of this version. */
export const runMigrate = async (): Promise<void> => {
  const config = load(environments.migrate)
  await migrate({
    databaseUrl: config.DATABASE_URL,
    log: createLogger({ level: config.LOG_LEVEL, process: 'migrate', secrets: secretsOf(config) }),
  })
}

/** Compares the index with every chain and prints the counts; exit code 1 when they differ. */
export const runAudit = async (): Promise<void> => {
  const config = load(environments.audit)
  const log = createLogger({ level: 'silent', process: 'audit' })
  const closers = createClosers()
  try {
    const { DATABASE_URL: url } = config
    const times = { statementTimeoutMs: WORK_WITHIN_MS, connectTimeoutMs: CONNECT_WITHIN_MS }
    const database = openDatabase({ url, maxConnections: 4, ...times, log }, closers)
    await requireVersion(database).catch((cause: unknown) => {
      if (!isUnavailable(cause)) throw cause
      throw new OperatorError(`${cause.message} (${faultText(cause.cause)}): ${adviceOf(cause)}`, { cause })
    })
    for (const chain of openChains(config, config.NODE_TIMEOUT_MS, log, closers).values()) {
      const meter = createMeter({ stream: process.stderr, now: performance.now.bind(performance) })
      const report = await audit({ chain, database, meter })
      meter.close()
      process.stdout.write(`${formatAudit(report)}\n`)
      if (report.found > 0) process.exitCode = 1
    }
  } finally {
    await closers.close()
  }
}
