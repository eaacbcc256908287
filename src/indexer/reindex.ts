import { type RebuiltTable, rebuildPart, rebuiltTables } from '../db/index/rebuild.ts'
import type { Database } from '../db/pool.ts'
import type { ChainId } from '../protocol/chains.ts'

/** What a table had: rows that follow from logs, rows that were not as their log is, and rows without a log. */
type Count = { rows: number; wrong: number; extra: number }

export type ReindexReport = {
  readonly chainId: ChainId
  /** The last block. */
  readonly to: bigint
  readonly logs: number
  readonly tables: ReadonlyMap<RebuiltTable, Readonly<Count>>
  /** The first differences and rows without a log. */
  readonly findings: readonly string[]
}

/** Most findings of a report. */
const MAX_FINDINGS = 20

/**
 * Compares tables of a chain with what the logs of the ledger lead to, and with `isReplaced` makes wrong rows so. Can be
 * ended and repeated at any point. Throws `service_unavailable` when the database is out of reach.
 */
export const reindex = async (options: {
  readonly database: Pick<Database, 'snapshot' | 'transaction'>
  readonly chainId: ChainId
  readonly tables?: readonly RebuiltTable[]
  readonly isReplaced: boolean
  /** Called with a line of text for each part. */
  readonly onProgress?: (line: string) => void
  /** Logs of one part. */
  readonly most?: number
}): Promise<ReindexReport> => {
  const { database, chainId, tables: names = rebuiltTables, isReplaced, onProgress = () => {}, most } = options
  const tables = new Map(names.map((name) => [name, { rows: 0, wrong: 0, extra: 0 }]))
  const findings: string[] = []
  let [to, logs] = [-1n, 0]
  for (;;) {
    const part = await rebuildPart(database, chainId, to, { tables: names, isReplaced }, most)
    if (part === null) return { chainId, to, logs, tables, findings }
    for (const { table, rows, wrong, extra } of part.compared) {
      const count = tables.get(table)
      if (count === undefined) continue
      count.rows += rows
      count.wrong += wrong.length
      count.extra += extra.length
      const lines = [...wrong.flatMap(({ differences }) => differences), ...extra.map((key) => `${key}: no log`)]
      findings.push(...lines.slice(0, MAX_FINDINGS - findings.length))
    }
    to = part.range.to
    logs += part.logs
    onProgress(`chain ${chainId}: ${logs} logs read, up to block ${to}`)
  }
}

const line = (label: string, ...numbers: readonly (string | number)[]): string =>
  `  ${label.padEnd(22)}${numbers.map((number) => String(number).padStart(12)).join('')}`

/** The report as lines for a terminal. */
export const formatReindex = (report: ReindexReport, isReplaced: boolean): string =>
  [
    `chain ${report.chainId}: ${report.logs} logs up to block ${report.to}`,
    line('table', 'rows', isReplaced ? 'replaced' : 'differ', 'no log'),
    ...[...report.tables].map(([table, { rows, wrong, extra }]) => line(table, rows, wrong, extra)),
    ...report.findings.map((finding) => `    ${finding}`),
  ].join('\n')
