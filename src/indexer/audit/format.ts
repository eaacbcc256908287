import type { AuditReport } from './audit.ts'
import type { Pasts } from './pasts.ts'
import type { ComparedSums } from './sums.ts'

/** The most printed differences; the printed count is of all. */
const PRINTED = 20

const line = (label: string, ...numbers: readonly (string | number)[]): string =>
  `  ${label.padEnd(22)}${numbers.map((number) => String(number).padStart(12)).join('')}`

const list = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [`  ${title}`, ...lines.map((text) => `    ${text}`)]

/** The report as lines for a terminal, with the comparisons of events and of sums with the ledger. */
export const formatAudit = (report: AuditReport, pasts: Pasts, sums: ComparedSums): string => {
  const { chainId, block, firstBlock, tables, lists, onChain, notCompared, unconfirmed } = report
  const differences = [...report.differences, ...pasts.differences, ...sums.differences]
  const found = report.found + pasts.differences.length + sums.differences.length
  const differing = (table: string): number => differences.filter((it) => it.startsWith(`${table} `)).length
  const since = firstBlock.number === block.number ? '' : `s ${firstBlock.number} to`
  return [
    `chain ${chainId} at block${since} ${block.number} (${block.hash})`,
    `  on the chain: ${onChain.event} events, ${onChain.deposit} deposits, ${onChain.position} positions`,
    line('compared', 'rows', 'columns', 'values', 'differences'),
    ...tables.map(({ table, rows, columns, values }) => line(table, rows, columns, values, differing(table))),
    `  lists of ids compared: ${lists}`,
    `  events compared with their logs: ${pasts.compared}`,
    `  days of sums compared with the ledger: ${sums.days}`,
    ...list('not compared', notCompared),
    ...list('could not be compared', unconfirmed),
    `  ${found === 0 ? 'no differences' : `${found} differences`}`,
    ...differences.slice(0, PRINTED).map((difference) => `    ${difference}`),
    ...(found > PRINTED ? [`    and ${found - PRINTED} more`] : []),
  ].join('\n')
}
