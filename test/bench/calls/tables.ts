import { quantile } from '../../faults/target.ts'
import { chainIdsOf, type Figures, methodsOf, type PhaseName, perDay, phaseNames, processNames } from './figures.ts'
import { monthlyCalls, monthlyPrices, planKinds, unitsOf } from './prices.ts'
import { callTargets, judge } from './targets.ts'

/* The printed tables. With two runs, each figure has a column of the run before and one of this run. */

type Row = readonly string[]

const show = (rows: readonly Row[]): string => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const line = (row: Row): string =>
    row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join(' | ')
  const [head = [], ...body] = rows
  return [line(head), widths.map((width) => '-'.repeat(width)).join('-|-'), ...body.map(line)].join('\n')
}

const whole = (value: number): string => (Number.isFinite(value) ? Math.round(value).toLocaleString('en') : 'no tier')
const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1)
const sec = (ms: number): string => (Number.isFinite(ms) ? (ms / 1_000).toFixed(2) : '-')

/** The runs of a table, with the text that their column heads get. */
type Run = { readonly label: string; readonly figures: Figures }
const runsOf = (before: Figures | undefined, now: Figures): Run[] =>
  before === undefined
    ? [{ label: '', figures: now }]
    : [
        { label: ' before', figures: before },
        { label: ' after', figures: now },
      ]

const callTable = (runs: readonly Run[], chainIds: readonly string[]): string => {
  const columns = phaseNames.flatMap((phase) =>
    chainIds.flatMap((id) =>
      runs.map(({ label, figures }) => ({
        head: `${phase} ${id}${label}`,
        phase,
        day: perDay(figures[phase], id),
      })),
    ),
  )
  type Column = (typeof columns)[number]
  const row = (name: string, value: (column: Column) => string): Row => [name, ...columns.map(value)]
  const all = runs.map(({ figures }) => figures)
  const processes = processNames.flatMap((name) => [
    row(name, ({ day }) => whole(day.of(name))),
    ...methodsOf(all, name).map((method) => row(`  ${method}`, ({ day }) => whole(day.of(name, method)))),
  ])
  return show([
    ['calls a day', ...columns.map(({ head }) => head)],
    ...processes,
    row('all processes', ({ day }) => whole(day.calls())),
    ...methodsOf(all).map((method) => row(`  ${method}`, ({ day }) => whole(day.calls(method)))),
    row('target, at most', ({ phase }) => whole(callTargets[phase])),
    row('HTTP requests a day', ({ day }) => whole(day.requests)),
    row('MB a day to the nodes', ({ day }) => megabytes(day.bytesUp)),
    row('MB a day from the nodes', ({ day }) => megabytes(day.bytesDown)),
    row('most calls in a second', ({ day }) => whole(day.peakPerSecond)),
  ])
}

const priceTable = (runs: readonly Run[], unitPrice: number): string => {
  const columns = phaseNames.flatMap((phase: PhaseName) =>
    runs.map(({ label, figures }) => ({ head: `${phase}${label}`, phase, figures })),
  )
  const kinds = planKinds(unitPrice)
  const table = show([
    ['both chains, 30 days', ...columns.map(({ head }) => head)],
    ['million calls', ...columns.map(({ phase, figures }) => (monthlyCalls(figures, phase) / 1e6).toFixed(1))],
    ['million compute units', ...columns.map(({ phase, figures }) => whole(unitsOf(figures, phase) / 1e6))],
    ...kinds.map(([name], at) => [
      `${name}, $`,
      ...columns.map(({ phase, figures }) => whole(monthlyPrices(figures, phase, unitPrice)[at] ?? Number.NaN)),
    ]),
  ])
  return [table, ...kinds.map(([name, formula]) => `${name}: ${formula}`)].join('\n')
}

const measures = {
  waited: 'busy: receipt to list, with afterTx',
  polled: 'busy: receipt to list, without a wait',
  polledQuiet: 'quiet: receipt to list, without a wait',
  single: 'quiet: receipt to single record, without a wait',
} as const

const latencyTable = (runs: readonly Run[], chainIds: readonly string[]): string => {
  const heads = runs.flatMap(({ label }) => ['n', 'p50', 'p99', 'worst'].map((name) => `${name}${label}`))
  const rows = Object.entries(measures).flatMap(([key, text]) =>
    chainIds.map((id) => [
      `${text}, ${id}`,
      ...runs.flatMap(({ figures }) => {
        const values = figures.latencies[id]?.[key as keyof typeof measures] ?? []
        return [String(values.length), ...[0.5, 0.99, 1].map((share) => sec(quantile(values, share)))]
      }),
    ]),
  )
  return show([['seconds', ...heads], ...rows])
}

/** Everything that the benchmark reports, as text. */
export const report = (now: Figures, before: Figures | undefined, unitPrice: number): string => {
  const runs = runsOf(before, now)
  const chainIds = chainIdsOf(now)
  const verdicts = judge(now)
  return [
    ...runs.map(({ label, figures: { commit, date, machine, idle, busy, idleIntervalMs } }) =>
      [
        ...[`${label.trim() || 'run'}: commit ${commit}, ${date}, ${machine}`],
        `idle ${idle.seconds.toFixed(0)} s, busy ${busy.seconds.toFixed(0)} s, default poll of an idle chain ${idleIntervalMs} ms`,
      ].join('; '),
    ),
    chainIds.map((id) => `chain ${id}: a block each ${now.blockSeconds[id]} s`).join('; '),
    '',
    callTable(runs, chainIds),
    '',
    priceTable(runs, unitPrice),
    '',
    latencyTable(runs, chainIds),
    '',
    ...now.failures.slice(0, 10).map((what) => `failed: ${what}`),
    show([
      ['claim', 'measured', 'target', 'verdict'],
      ...verdicts.map(({ claim, measured, target, met }) => [claim, measured, target, met ? 'met' : 'MISSED']),
    ]),
  ].join('\n')
}
