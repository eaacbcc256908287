import { environments } from '../../config/environments.ts'
import { load } from '../../config/load.ts'
import { unsignedEngineOf } from '../../config/parts.ts'
import { errorText, OperatorError } from '../../lib/errors.ts'
import { createLogger, type Logger } from '../../lib/observe/log.ts'
import { openEngine } from '../../pricing/engine.ts'
import { readLocalRates } from '../../pricing/market/local-rates.ts'
import { publishers, type Rates } from '../../pricing/market/open-market.ts'
import { writeRates } from '../../pricing/market/rates-file.ts'
import { reportOf } from '../../pricing/market/report.ts'
import { configureChains } from '../../protocol/chains.ts'

/** A logger of warnings to stderr that counts those of sources that cannot be read. */
const countFaults = (): { readonly log: Logger; faults(): number } => {
  const log = createLogger({ level: 'warn', process: 'market', fd: 2 })
  let count = 0
  const warn: Logger['warn'] = (...line: Parameters<Logger['warn']>) => {
    if (Object(line[0]).fault !== undefined) count += 1
    log.warn(...line)
  }
  return { log: Object.assign(Object.create(log), { warn }), faults: () => count }
}

/** Writes the rates of each configured publisher to a file in the folder. Throws an OperatorError without a publisher. */
const fetchRates = async (folder: string, rates: Rates, log: Logger): Promise<void> => {
  const feeds = publishers({ ...rates, now: Date.now, log })
  if (feeds.length === 0) throw new OperatorError('there is nothing to fetch: set ENGINE_ECB_URL or ENGINE_FRED_URL')
  for (const feed of feeds) {
    try {
      for (const source of await feed.read())
        process.stdout.write(`written: ${await writeRates(source, folder, Date.now())}\n`)
    } catch (fault) {
      throw new OperatorError(`the rates of ${feed.name} were not written: ${errorText(fault)}`)
    }
  }
}

/**
 * Prints the rates of the configured engine, after it fetched those of publishers to a folder if one is given. Exit code
 * 1 when a configured source cannot be read or is too old to sign a quote on, or when there is none.
 */
export const runMarket = async (folder: string | undefined): Promise<void> => {
  const config = load(environments.engine)
  configureChains(config.CHAINS)
  const { log, faults } = countFaults()
  const options = unsignedEngineOf(config)
  if (folder !== undefined) await fetchRates(folder, options, log)
  const engine = await openEngine({ ...options, now: Date.now, log })
  const times = { now: Date.now(), maxStalenessDays: options.maxStalenessDays }
  const { lines, fresh } = reportOf(await engine.health(), await readLocalRates(options.localRatesFile), times)
  process.stdout.write(`${lines.join('\n')}\n`)
  if (!fresh || faults() > 0) process.exitCode = 1
}
