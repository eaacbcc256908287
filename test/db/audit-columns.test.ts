import { getTableColumns, getTableName, is } from 'drizzle-orm'
import { PgTable } from 'drizzle-orm/pg-core'
import { expect, test } from 'vitest'
import { auditedColumns, auditedTables } from '../../src/db/index/audit/columns.ts'
import * as index from '../../src/db/schema/index-state.ts'
import * as schema from '../../src/db/schema/records.ts'

/**
 * Tables whose columns are not compared with the rows of entities, and what they hold: most are of the service's own work,
 * and a chain cannot confirm them.
 */
const unauditedTables: Readonly<Record<string, string>> = {
  fee_rates: 'the fee rates over time, compared with their logs on their own',
  tokens: 'symbols and decimals of payment tokens, read again every hour',
  refresh_queue: 'the refresh queue: entities to observe again',
  cursors: 'the block up to which the index is complete',
  anchors: 'blocks at which the index was written',
  rollbacks: 'the rollbacks of the index',
  upgrades: 'the changes of the functions of the diamond',
  changes: 'the newest changes, for caches',
  change_counter: 'the number of the newest change',
  settlement_logs: 'the transactions of settlements, from their logs',
  log_gaps: 'ranges of blocks whose logs are read again',
  schema_floors: 'the oldest build that the schema supports',
}

test('every table of the index is audited or listed with the reason why it is not', () => {
  const all = Object.values<unknown>({ ...schema, ...index }).flatMap((it) => (is(it, PgTable) ? getTableName(it) : []))
  const listed = [...Object.keys(auditedTables), ...Object.keys(unauditedTables)]
  expect(listed.toSorted()).toEqual(all.toSorted())
})

test.each(Object.entries(auditedTables))(
  'every column of %s is listed with the way in which the audit compares it',
  (name, table) => {
    const columns = Object.entries(auditedColumns).find(([listed]) => listed === name)?.[1] ?? {}
    expect(Object.keys(columns).toSorted()).toEqual(Object.keys(getTableColumns<PgTable>(table)).toSorted())
  },
)
