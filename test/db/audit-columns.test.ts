import { getTableColumns, getTableName, is } from 'drizzle-orm'
import { PgTable } from 'drizzle-orm/pg-core'
import { expect, test } from 'vitest'
import { auditedColumns, auditedTables, unauditedTables } from '../../src/db/audit-columns.ts'
import * as schema from '../../src/db/schema.ts'

test('every table of the index is audited, or the reason why it is not is given', () => {
  const all = Object.values<unknown>(schema).flatMap((it) => (is(it, PgTable) ? getTableName(it) : []))
  const listed = [...Object.keys(auditedTables), ...Object.keys(unauditedTables)]
  expect(listed.toSorted()).toEqual(all.toSorted())
})

test.each(Object.entries(auditedTables))('every column of %s is listed with how it is compared', (name, table) => {
  const columns = Object.entries(auditedColumns).find(([listed]) => listed === name)?.[1] ?? {}
  expect(Object.keys(columns).toSorted()).toEqual(Object.keys(getTableColumns<PgTable>(table)).toSorted())
})
