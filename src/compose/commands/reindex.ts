import { environments } from '../../config/environments.ts'
import { load } from '../../config/load.ts'
import { rebuildable, rebuiltTables } from '../../db/index/rebuild.ts'
import { requireVersion } from '../../db/versions.ts'
import { formatReindex, reindex } from '../../indexer/reindex.ts'
import { createClosers } from '../../lib/lifecycle.ts'
import { createLogger } from '../../lib/observe/log.ts'
import { checked, type Flags, wholeNumber } from '../flags.ts'
import { COMMAND_TIMES, openDatabase } from '../parts.ts'

/** Longest time between two statements of a part, in which its logs are decoded, in milliseconds. */
const DECODE_WITHIN_MS = 30_000

/**
 * Makes tables again from the ledger, chain by chain, and prints what was different. Exit code 0 when each table is as the
 * ledger is, 1 when something differs and was not replaced, or the ledger lacks logs.
 */
export const runReindex = async (flags: Flags): Promise<void> => {
  const { DATABASE_URL: url } = load(environments.migrate)
  const closers = createClosers()
  try {
    const pool = { url, maxConnections: 1, ...COMMAND_TIMES, idleInTransactionMs: DECODE_WITHIN_MS }
    const log = createLogger({ level: 'silent', process: 'reindex' })
    const database = openDatabase({ ...pool, log }, closers)
    const table = (text: string) => rebuiltTables.find((name) => name === text)
    const tables = checked(flags, 'table', `some of ${rebuiltTables.join(', ')}`, table) ?? rebuiltTables
    await requireVersion(database)
    const indexed = await database.run(rebuildable)
    const known = indexed.map(({ chainId }) => chainId)
    const chain = (text: string) => known.find((id) => id === wholeNumber(text))
    const chainIds = checked(flags, 'chain', `ids of indexed chains (${known.join(', ')})`, chain) ?? known
    const isReplaced = flags.check !== true
    for (const { chainId, lacksLogs } of indexed) {
      if (!chainIds.includes(chainId)) continue
      const onProgress = (line: string) => process.stderr.write(`${line}\n`)
      const report = await reindex({ database, chainId, tables, isReplaced, onProgress })
      process.stdout.write(`${formatReindex(report, isReplaced)}\n`)
      const counts = [...report.tables.values()]
      const isLeft = counts.some(({ wrong, extra }) => extra > 0 || (wrong > 0 && !isReplaced))
      if (lacksLogs)
        process.stdout.write(
          '  The ledger lacks logs, whose rows stayed: repeat the command when /status shows no ledger.\n',
        )
      if (counts.some(({ extra }) => extra > 0))
        process.stdout.write(
          '  Rows without a log stayed: run the audit command, which compares them with the chain.\n',
        )
      if (lacksLogs || isLeft) process.exitCode = 1
    }
  } finally {
    await closers.close()
  }
}
