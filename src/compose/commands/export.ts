import { z } from 'zod'
import { environments } from '../../config/environments.ts'
import { type ConfigOf, load } from '../../config/load.ts'
import { secretsOf } from '../../config/parts.ts'
import { requireVersion } from '../../db/versions.ts'
import { type ExportReport, exportChain, type Mode } from '../../export/export.ts'
import { tableNames } from '../../export/tables.ts'
import { invalidField, OperatorError, ServiceError } from '../../lib/errors.ts'
import { type Closers, createClosers } from '../../lib/lifecycle.ts'
import { createLogger, type Logger } from '../../lib/observe/log.ts'
import { type ChainId, configureChains } from '../../protocol/chains.ts'
import { createFinality } from '../../reads/freshness/finality.ts'
import { createLists } from '../../reads/lists/sources.ts'
import { checked, type Flags, textOf, wholeNumber } from '../flags.ts'
import { COMMAND_TIMES, openChains, openDatabase } from '../parts.ts'

/** Longest time between two statements of a snapshot, in which rows are written, in milliseconds. */
const WRITE_WITHIN_MS = 600_000

/** Most days of a chain, and most files, that are printed. */
const PRINTED = 20

const dayIn = (flags: Flags, name: string): string | undefined => {
  const day = textOf(flags, name)
  if (day !== undefined && !z.iso.date().safeParse(day).success)
    throw invalidField(name, `expected a day, YYYY-MM-DD, got ${JSON.stringify(day)}`)
  return day
}

const modeOf = ({ verify, repair }: Flags): Mode => {
  if (repair === true) return 'repair'
  return verify === true ? 'verify' : 'export'
}

type Config = ConfigOf<typeof environments.audit>

/** What is exported, and where to. Throws `validation_error` naming the option. */
const wantedOf = (flags: Flags, { CHAINS }: Pick<Config, 'CHAINS'>) => {
  const folder = textOf(flags, 'out')
  if (folder === undefined) throw invalidField('out', 'name the folder of the files: --out DIR')
  const table = (text: string) => tableNames.find((name) => name === text)
  const chain = (text: string) => CHAINS.find((id) => id === wholeNumber(text))
  const [from, to] = [dayIn(flags, 'from'), dayIn(flags, 'to')]
  if (from !== undefined && to !== undefined && from > to) throw invalidField('to', `expected a day from ${from} on`)
  return {
    ...{ folder, from, to, mode: modeOf(flags) },
    tables: checked(flags, 'table', `some of ${tableNames.join(', ')}`, table) ?? tableNames,
    chainIds: checked(flags, 'chain', `ids of CHAINS (${CHAINS.join(', ')})`, chain) ?? CHAINS,
  }
}

const first = (lines: readonly string[]): string[] =>
  lines.length <= PRINTED ? [...lines] : [...lines.slice(0, PRINTED), `and ${lines.length - PRINTED} more`]

/** The report as lines for a terminal. */
const linesOf = ({ chainId, written, kept, different, lastFinal, incomplete }: ExportReport, mode: Mode): string[] => [
  mode === 'export'
    ? `chain ${chainId}: ${written} files written, ${kept} were there; the last final day is ${lastFinal}`
    : `chain ${chainId}: ${kept} files are right, ${different.length} differ${mode === 'repair' ? ' and were replaced' : ''}`,
  ...first(different.map((path) => `  differs: ${path}`)),
  ...first(incomplete.map(({ first, last, why }) => `  not complete in the index: ${first} to ${last}: ${why}`)),
  ...(different.length > 0 && mode === 'verify'
    ? ['  Run the same with --repair to write them as the index is now.']
    : []),
  ...(incomplete.length > 0 ? ['  Run the export again when the worker has read them.'] : []),
]

/** Exports the chains one after the other. Returns whether everything is exported, and nothing differed. */
const exportAll = async (flags: Flags, config: Config, log: Logger, closers: Closers): Promise<boolean> => {
  const { chainIds, ...wanted } = wantedOf(flags, config)
  const pool = { maxConnections: 2, ...COMMAND_TIMES, idleInTransactionMs: WRITE_WITHIN_MS, log }
  const database = openDatabase({ url: config.DATABASE_URL, ...pool }, closers)
  await requireVersion(database)
  const chains = openChains(config, log, closers)
  const finality = createFinality(chains)
  const sources = { chains, finality, lists: createLists({ database, chains }), maxLagSeconds: 0 }
  let isComplete = true
  for (const chain of chains.values()) {
    if (!chainIds.includes(chain.chainId)) continue
    try {
      const report = await exportChain({ ...wanted, chain, sources, database, log })
      process.stdout.write(`${linesOf(report, wanted.mode).join('\n')}\n`)
      if (report.incomplete.length > 0 || (wanted.mode === 'verify' && report.different.length > 0)) isComplete = false
    } catch (fault) {
      isComplete = false
      process.stdout.write(`${notExported(chain.chainId, fault)}\n`)
    }
  }
  return isComplete
}

const notExported = (chainId: ChainId, fault: unknown): string => {
  if (!(fault instanceof ServiceError || fault instanceof OperatorError)) throw fault
  const advice =
    fault instanceof ServiceError ? '\n  Run the export again: it continues after the last complete day.' : ''
  return `chain ${chainId} was not exported to its end: ${fault.message}${advice}`
}

/**
 * Exports final days as Parquet, and prints a line for each chain. Exit code 0 when all final days are exported, 1 when
 * some could not be, or with `verify` when a file differs. A chain that cannot be exported does not prevent the export of
 * others.
 */
export const runExport = async (flags: Flags): Promise<void> => {
  const config = load(environments.audit)
  configureChains(config.CHAINS)
  const log = createLogger({ level: config.LOG_LEVEL, process: 'export', secrets: secretsOf(config), fd: 2 })
  const closers = createClosers()
  try {
    if (!(await exportAll(flags, config, log, closers))) process.exitCode = 1
  } finally {
    await closers.close()
  }
}
