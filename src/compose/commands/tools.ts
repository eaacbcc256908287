import { environments } from '../../config/environments.ts'
import { load } from '../../config/load.ts'
import { secretsOf } from '../../config/parts.ts'
import { announce, reached } from '../../db/changes/changes.ts'
import { touchingAll } from '../../db/changes/scopes.ts'
import { migrate } from '../../db/migrate.ts'
import { adviceOf, faultText } from '../../db/refusals.ts'
import { requireVersion } from '../../db/versions.ts'
import { audit } from '../../indexer/audit/audit.ts'
import { formatAudit } from '../../indexer/audit/format.ts'
import { comparePasts } from '../../indexer/audit/pasts.ts'
import { compareSums } from '../../indexer/audit/sums.ts'
import { isUnavailable, OperatorError, ServiceError } from '../../lib/errors.ts'
import { createClosers } from '../../lib/lifecycle.ts'
import { createLogger } from '../../lib/observe/log.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { withDatabase } from '../operator.ts'
import { COMMAND_TIMES, openChains, openDatabase } from '../parts.ts'

/** Events whose past the audit command compares. */
const PASTS = 200

/** Migrates the database to the schema of this version. */
export const runMigrate = async (): Promise<void> => {
  const config = load(environments.migrate)
  await migrate({
    databaseUrl: config.DATABASE_URL,
    readRole: config.DATABASE_READ_ROLE,
    selfService: config.WEBHOOKS_SELF_SERVICE,
    log: createLogger({ level: config.LOG_LEVEL, process: 'migrate', secrets: secretsOf(config) }),
  })
}

/** Resets the feed of changes for every chain of the index. */
export const runChangesReset = async (): Promise<void> => {
  await withDatabase(load(environments.migrate), 'changes', async (database) => {
    const chainIds = (await database.run(reached)).map(({ chainId }) => chainId)
    for (const chainId of chainIds)
      await database.transaction((handle) => announce(handle, chainId, touchingAll('operator')))
    const chains = chainIds.length === 0 ? 'no chain is indexed' : `chains ${chainIds.join(', ')}`
    process.stdout.write(`clients of the feed of changes fetch everything again: ${chains}\n`)
  })
}

/**
 * Compares the index with every chain and prints the comparisons and differences. Exit code 0 without a difference, 1
 * with a difference, 2 when something could not be compared. A chain that cannot be audited does not prevent the audit
 * of others.
 */
export const runAudit = async (): Promise<void> => {
  const config = load(environments.audit)
  const log = createLogger({ level: 'silent', process: 'audit' })
  const closers = createClosers()
  const exitCodes = new Set<number>()
  try {
    const { DATABASE_URL: url } = config
    const database = openDatabase({ url, maxConnections: 4, ...COMMAND_TIMES, log }, closers)
    await requireVersion(database)
    for (const chain of openChains(config, log, closers).values()) {
      try {
        const report = await audit({ chain, database, log, onProgress: (line) => process.stderr.write(`${line}\n`) })
        const pasts = await comparePasts({ chain, database, random: Math.random }, PASTS)
        const sums = await compareSums(database, chain.chainId)
        process.stdout.write(`${formatAudit(report, pasts, sums)}\n`)
        if (report.found + pasts.differences.length + sums.differences.length > 0) exitCodes.add(FOUND)
        if (report.unconfirmed.length > 0) exitCodes.add(NOT_COMPARED)
      } catch (fault) {
        if (!(fault instanceof ServiceError)) throw fault
        exitCodes.add(NOT_COMPARED)
        process.stdout.write(notAudited(chain.chainId, fault.message))
      }
    }
  } catch (fault) {
    if (!(isUnavailable(fault) || fault instanceof OperatorError)) throw fault
    const advice = isUnavailable(fault) ? ` (${faultText(fault.cause)}): ${adviceOf(fault)}` : ''
    exitCodes.add(NOT_COMPARED)
    process.stderr.write(`${fault.message}${advice}\n`)
  } finally {
    await closers.close()
  }
  if (exitCodes.size > 0) process.exitCode = Math.min(...exitCodes)
}

const notAudited = (chainId: ChainId, why: string): string =>
  `chain ${chainId} was not audited: ${why}\n  Run the audit again while a worker runs and a node of RPC_URLS_${chainId} answers.\n`

/** Exit codes of the audit. A difference takes precedence over an incomplete comparison. */
const FOUND = 1
const NOT_COMPARED = 2
