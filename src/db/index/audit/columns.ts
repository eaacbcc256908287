import { block } from '../../schema/columns.ts'
import { settlements } from '../../schema/index-state.ts'
import * as t from '../../schema/records.ts'

/**
 * How the audit compares a column:
 *
 * - `key` identifies the row: a wrong value shows as a missing row and a row that is not on the chain.
 * - `view` is compared with the return value of a view.
 * - `state` is of a fact and is compared with the return value of a view of the entity's state.
 * - `log` is compared with the log that created the row, which alone has the value.
 * - `block` dates the row and is compared with the chain's block.
 * - `own` is a value of the service itself and is not compared.
 */
export type Comparison = 'key' | 'view' | 'state' | 'log' | 'block' | 'own'

/** The tables whose rows the API can show. */
export const auditedTables = {
  events: t.events,
  deposits: t.deposits,
  positions: t.positions,
  event_observations: t.eventObservations,
  deposit_observations: t.depositObservations,
  position_observations: t.positionObservations,
  chain_observations: t.chainObservations,
  settlements,
} as const

export type AuditedTable = keyof typeof auditedTables

const entity = { chainId: 'key', id: 'key' } as const

/** Columns that are all compared in one way. */
const all = <C extends object>(columns: C, how: Comparison): Readonly<Record<keyof C, Comparison>> =>
  Object.fromEntries(Object.keys(columns).map((column) => [column, how])) as Record<keyof C, Comparison>

const created = all(t.origin, 'log')
const observed = all(block, 'block')

/** Code with a new column does not compile until the column is listed, or belongs to a group that is listed. */
type Comparisons = {
  readonly [T in AuditedTable]: Readonly<Record<keyof (typeof auditedTables)[T]['$inferSelect'], Comparison>>
}

/**
 * Columns by their names in the schema.
 *
 * @internal
 */
export const auditedColumns: Comparisons = {
  events: { ...entity, ...all(t.eventColumns, 'view'), initialLiquidity: 'log', paymentToken: 'state', ...created },
  deposits: { ...entity, ...all(t.depositColumns, 'view'), ...created },
  positions: { ...entity, ...all(t.positionColumns, 'view'), ...created },
  event_observations: { ...entity, ...all(t.eventStateColumns, 'view'), ...observed },
  deposit_observations: { ...entity, ...all(t.depositStateColumns, 'view'), ...observed },
  position_observations: { ...entity, ...all(t.positionStateColumns, 'view'), ...observed },
  chain_observations: { chainId: 'key', ...all(t.chainStateColumns, 'view'), loupeHash: 'own', ...observed },
  // Only the newest settlement of an event is compared: older ones belong to orphaned forks.
  settlements: {
    seq: 'own',
    type: 'view',
    chainId: 'key',
    eventId: 'key',
    settledAt: 'view',
    triggered: 'view',
    settlementPrice: 'view',
    blockNumber: 'block',
    blockHash: 'block',
    txHash: 'own',
    finalizedSeq: 'own',
  },
}

/** The columns of a table that are compared in one of these ways. */
export const columnsOf = (table: AuditedTable, ...ways: readonly Comparison[]): string[] =>
  Object.entries(auditedColumns[table]).flatMap(([column, how]) => (ways.includes(how) ? column : []))
