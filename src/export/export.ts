import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Chain } from '../chain/chain.ts'
import type { Database } from '../db/pool.ts'
import { readExportState } from '../db/queries/export.ts'
import { OperatorError } from '../lib/errors.ts'
import type { Logger } from '../lib/observe/log.ts'
import type { ChainId } from '../protocol/chains.ts'
import type { Row } from '../protocol/fields/flat-fields.ts'
import { InexactPast } from '../reads/history/past.ts'
import type { ListSources } from '../reads/lists/sources.ts'
import { columnsOf, fingerprintOf } from './columns.ts'
import { dayOf, daysBetween, endOf } from './days.ts'
import { ifThere, onDisk } from './disk.ts'
import { type FinalPart, finalPartOf, type IncompleteDays, incompleteDays, isAsComplete, lastFinalOf } from './final.ts'
import { type Entry, pathOf, readManifest, replaceFile, writeManifest } from './manifest.ts'
import { writeParquet } from './parquet.ts'
import { type Day, readDay, type Source, sourceOf } from './source.ts'
import { exportTable, type TableName, tableNames } from './tables.ts'

/**
 * `export` writes the files that are not there; `verify` compares all listed ones with what would be written;
 * `repair` also replaces those that differ.
 */
export type Mode = 'export' | 'verify' | 'repair'

export type ExportOptions = {
  readonly chain: Chain
  readonly sources: Omit<ListSources, 'pricing' | 'history'>
  readonly database: Pick<Database, 'snapshot'>
  readonly folder: string
  readonly tables: readonly TableName[]
  /** The first and the last day, YYYY-MM-DD; all days where absent. */
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly mode: Mode
  readonly log: Pick<Logger, 'info' | 'warn'>
  /** Rows of a page of the index, and of a row group. */
  readonly pageRows?: number
  readonly groupRows?: number
}

export type ExportReport = {
  readonly chainId: ChainId
  /** Files that were written, those that were there, and the paths of those that differ. */
  readonly written: number
  readonly kept: number
  readonly different: readonly string[]
  /** The last day whose blocks are all final and indexed. It can be before the first log. */
  readonly lastFinal: string
  /** The wanted final days, or tables of them, that the index does not have completely, and why. */
  readonly incomplete: readonly IncompleteDays[]
}

/** Passes rows on, and keeps the blocks of the first and the last one. */
const tracked = (rows: AsyncIterable<Row>, field: string | null) => {
  const seen: { first: number | null; last: number | null } = { first: null, last: null }
  return {
    seen,
    rows: (async function* () {
      for await (const row of rows) {
        if (field !== null) {
          const block = Number(row[field])
          seen.first ??= block
          seen.last = block
        }
        yield row
      }
    })(),
  }
}

const sha256Of = async (path: string): Promise<string | null> => {
  const hash = createHash('sha256')
  const isThere = await ifThere(
    (async () => {
      for await (const bytes of createReadStream(path)) hash.update(bytes)
      return true
    })(),
  )
  return isThere === null ? null : hash.digest('hex')
}

/**
 * Exports the final days of a chain: a file for each table and day, and the manifest after each day. Throws
 * `service_unavailable` and OperatorErrors; a later run continues.
 */
export const exportChain = async (options: ExportOptions): Promise<ExportReport> => {
  const { chain, sources, database, folder, tables, from, to, mode, log, pageRows, groupRows } = options
  const { chainId } = chain
  const manifest = await readManifest(folder, chain.deployment)
  const part = await finalPartOf({ chain, finality: sources.finality, database })
  const incomplete = await incompleteDays(chain, part)
  const counts = { written: 0, kept: 0 }
  const different: string[] = []
  const leftOut: IncompleteDays[] = []

  /** The file of a table and a day, under another name until it is complete. */
  const writeTemporary = async (source: Source, table: TableName, day: string, blocks: Day): Promise<Entry> => {
    const { schema, block, rows } = exportTable(table)
    const path = pathOf(table, chainId, day)
    await onDisk(() => mkdir(join(folder, dirname(path)), { recursive: true }))
    const { seen, rows: passed } = tracked(rows(source, blocks), block)
    const columns = columnsOf(schema)
    const written = await writeParquet(temporaryOf(path), columns, passed, groupRows)
    const at = { firstBlock: seen.first, lastBlock: seen.last }
    return { path, table, day, ...written, ...at, format: fingerprintOf(columns) }
  }

  /** Keeps why a table of a day is not exported. Days that follow each other become one entry. */
  const leaveOut = (day: string, why: string): void => {
    const before = leftOut.findIndex((days) => days.why === why && dayOf(endOf(days.last)) === day)
    const { first } = leftOut[before] ?? { first: day }
    leftOut.splice(before < 0 ? leftOut.length : before, 1, { first, last: day, why })
  }

  const temporaryOf = (path: string): string => join(folder, dirname(path), '.data.parquet.tmp')

  const keep = async (entry: Entry): Promise<void> => {
    await replaceFile(temporaryOf(entry.path), join(folder, entry.path))
    manifest.files.set(entry.path, entry)
    counts.written += 1
    const { table, day, rows, bytes } = entry
    log.info({ chainId, table, day, rows, bytes }, 'exported')
  }

  /** Compares a listed file with what would be written now. */
  const verify = async (entry: Entry): Promise<void> => {
    const listed = manifest.files.get(entry.path)
    const onDiskNow = await onDisk(() => sha256Of(join(folder, entry.path)))
    if (listed?.sha256 === entry.sha256 && onDiskNow === entry.sha256) {
      counts.kept += 1
      return onDisk(() => rm(temporaryOf(entry.path)))
    }
    different.push(entry.path)
    log.warn({ chainId, path: entry.path, listed: listed?.sha256, file: onDiskNow, now: entry.sha256 }, 'different')
    return mode === 'repair' ? keep(entry) : onDisk(() => rm(temporaryOf(entry.path)))
  }

  /** The tables of which a day has to be read. */
  const wantedOf = async (day: string): Promise<TableName[]> => {
    const wanted: TableName[] = []
    for (const table of tables) {
      const entry = manifest.files.get(pathOf(table, chainId, day))
      if (mode !== 'export') {
        if (entry !== undefined) wanted.push(table)
      } else if (entry !== undefined && (await isCurrent(folder, entry))) counts.kept += 1
      else wanted.push(table)
    }
    return wanted
  }

  const exportDay = async (day: string, wanted: readonly TableName[]): Promise<void> => {
    await database.snapshot(async (handle, rows) => {
      if (!isAsComplete(await readExportState(rows, chainId), part))
        throw new OperatorError(
          `the index of chain ${chainId} was rolled back or lacks logs again: run the export again`,
        )
      const source = sourceOf(sources, handle, rows, pageRows)
      const blocks = await readDay(source, chainId, day)
      for (const table of wanted) {
        try {
          const entry = await writeTemporary(source, table, day, blocks)
          await (mode === 'export' ? keep(entry) : verify(entry))
        } catch (fault) {
          if (!(fault instanceof InexactPast)) throw fault
          await onDisk(() => rm(temporaryOf(pathOf(table, chainId, day))))
          leaveOut(day, `${table}: ${fault.message}`)
        }
      }
    })
    if (mode !== 'verify') await writeManifest(folder, manifest)
  }

  for (const day of finalDays(part, options)) {
    if (incomplete.some(({ first, last }) => first <= day && day <= last)) continue
    const wanted = await wantedOf(day)
    if (wanted.length > 0) await exportDay(day, wanted)
  }
  const isWanted = ({ first, last }: IncompleteDays): boolean => last >= (from ?? '') && first <= (to ?? last)
  return {
    chainId,
    ...counts,
    different,
    lastFinal: lastFinalOf(part),
    incomplete: [...incomplete.filter(isWanted), ...leftOut],
  }
}

const formats = new Map(tableNames.map((table) => [table, fingerprintOf(columnsOf(exportTable(table).schema))]))

/** Whether a listed file is there, with the columns of this release. */
const isCurrent = async (folder: string, { path, table, bytes, format }: Entry): Promise<boolean> => {
  const found = await onDisk(() => ifThere(stat(join(folder, path))))
  return found?.size === bytes && format === formats.get(table)
}

/** The wanted days from the first log to the last final day. */
function* finalDays(part: FinalPart, { from = '', to }: ExportOptions): Generator<string> {
  if (part.state.firstAt === null) return
  const [first, last] = [dayOf(part.state.firstAt), lastFinalOf(part)]
  yield* daysBetween(from > first ? from : first, to !== undefined && to < last ? to : last)
}
