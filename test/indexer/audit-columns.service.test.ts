import { getTableColumns, getTableName, sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Chain } from '../../src/chain/chain.ts'
import { auditedColumns } from '../../src/db/index/audit/columns.ts'
import type { Database } from '../../src/db/pool.ts'
import { settlements } from '../../src/db/schema/index-state.ts'
import * as schema from '../../src/db/schema/records.ts'
import { audit } from '../../src/indexer/audit/audit.ts'
import { chainOf } from '../../src/reads/read.ts'
import { openApp } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { indexAll } from '../support/index-all.ts'
import { byForm, seed } from '../support/repetitions.ts'
import { startWorld } from '../support/world.ts'

/** The tables whose rows the API shows, with one row of each and the column of its id. */
const planted = [
  [schema.events, 'id', 2],
  [schema.deposits, 'id', 2],
  [schema.positions, 'id', 2],
  [schema.eventObservations, 'id', 2],
  [schema.depositObservations, 'id', 2],
  [schema.positionObservations, 'id', 2],
  [schema.chainObservations, 'chain_id', 8453],
  [settlements, 'event_id', 2],
] as const

type Planted = {
  readonly name: string
  readonly table: PgTable
  readonly column: PgColumn
  readonly key: string
  readonly id: number
}

/** How the audit compares a column. A wrong key shows as a missing row and a row that is not on the chain. */
const howOf = (name: string): string | undefined =>
  Object.entries(auditedColumns)
    .flatMap(([table, columns]) => Object.entries(columns).map(([column, how]) => [`${table}.${column}`, how] as const))
    .find(([listed]) => listed === name)?.[1]

const columns: Planted[] = planted.flatMap(([table, key, id]) =>
  Object.entries<PgColumn>(getTableColumns<PgTable>(table))
    .map(([property, column]) => ({ name: `${getTableName(table)}.${property}`, table, column, key, id }))
    .filter(({ name }) => howOf(name) !== 'own'),
)

/** Another valid value of the column. */
const wrong = ({ column }: Planted) => {
  const name = sql.identifier(column.name)
  const type = column.getSQLType()
  if (type === 'boolean') return sql`NOT ${name}`
  if (type === 'bytea') return sql`set_byte(${name}, 0, (get_byte(${name}, 0) + 1) % 128)`
  if (type === 'text') return sql`CASE ${name} WHEN 'settled' THEN 'reverted' ELSE 'settled' END`
  if (column.name === 'chain_id') return sql`56`
  // No other row has that id.
  return column.name === 'id' ? sql`${name} + 1000` : sql`${name} + 1`
}

const log = pino({ level: 'silent' })

let world: Awaited<ReturnType<typeof startWorld>>
let store: TestDatabase
let api: Awaited<ReturnType<typeof openApp>>
let chain: Chain
let database: Database

beforeAll(async () => {
  ;[world, store] = await Promise.all([startWorld(), createTestDatabase()])
  api = await openApp({ nodes: [{ url: world.anvil.url, deployment: world.deployment }], databaseUrl: store.url })
  chain = chainOf(api.sources.chains, 8453)
  database = api.database
  await indexAll({ chain, database })
})
afterAll(async () => {
  await api?.close()
  await Promise.all([store?.close(), world?.close()])
})

const differences = async () => (await audit({ chain, database, log, pauseMs: 1 })).differences

test('the audit of an index that equals its chain finds no difference in any column', async () => {
  expect(await differences()).toEqual([])
})

test('the audit counts the values that it compares', async () => {
  const report = await audit({ chain, database, log, pauseMs: 1 })
  for (const { table, rows, columns: compared, values } of report.tables) expect(values, table).toBe(rows * compared)
})

/** Columns that are planted together: a wrong value of one hides none of the others. */
const groups = [
  ...planted.map(([table]) => columns.filter((it) => it.table === table && howOf(it.name) === 'view')),
  ...columns.filter(({ name }) => howOf(name) !== 'view').map((it) => [it]),
].map((group) => ({ group, names: group.map(({ name }) => name).join(', ') }))

/** A value as the audit prints it. */
const shown = async ({ table, column, key, id }: Planted): Promise<string> => {
  const property = Object.entries(getTableColumns(table)).find(([, it]) => it === column)?.[0] ?? ''
  const rows: Readonly<Record<string, unknown>>[] = await database.run((handle) =>
    handle
      .select()
      .from(table)
      .where(sql`${sql.identifier(key)} = ${id}`),
  )
  return String(rows[0]?.[property])
}

test('every compared column is in one group', () => {
  const grouped = groups.flatMap(({ group }) => group.map(({ name }) => name))
  expect(grouped.toSorted()).toEqual(columns.map(({ name }) => name).toSorted())
})

/** A third of the groups in the usual form: over several runs each of them. */
const chosen = groups.filter((_, at) => byForm(at % 3 === seed % 3, true))

test.each(chosen)('the audit finds a wrong value in $names and reports the row and both values', async ({ group }) => {
  const [first] = group
  if (first === undefined) throw new RangeError('expected a column')
  const { table, key, id } = first
  const tableName = getTableName(table)
  const row = sql`ctid = (SELECT ctid FROM ${table} WHERE ${sql.identifier(key)} = ${id} LIMIT 1)`
  const before = await Promise.all(group.map(shown))
  const undo = sql.identifier(`before_${tableName}`)
  await database.run((handle) => handle.execute(sql`CREATE TABLE ${undo} AS SELECT * FROM ${table}`))
  const how = howOf(first.name)
  const wrongs = group.map((it) => sql`${sql.identifier(it.column.name)} = ${wrong(it)}`)
  await database.run((handle) => handle.execute(sql`UPDATE ${table} SET ${sql.join(wrongs, sql`, `)} WHERE ${row}`))
  try {
    const found = await differences()
    const expected = group.map(async (it, at) => {
      const property = it.name.split('.')[1]
      return how === 'key'
        ? `${tableName} ${id} is missing in the index`
        : `${tableName} ${id}: ${property} is ${await shown(it)} in the index, ${before[at]} on the chain`
    })
    for (const difference of await Promise.all(expected))
      expect(found).toContainEqual(expect.stringContaining(difference))
  } finally {
    await database.transaction(async (handle) => {
      await handle.execute(sql`DELETE FROM ${table}`)
      await handle.execute(sql`INSERT INTO ${table} SELECT * FROM ${undo}`)
      await handle.execute(sql`DROP TABLE ${undo}`)
    })
  }
})
