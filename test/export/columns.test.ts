import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { columnsOf, decimalOf, fingerprintOf } from '../../src/export/columns.ts'
import { writeParquet } from '../../src/export/parquet.ts'
import type { Row } from '../../src/protocol/fields/flat-fields.ts'
import { Amount, Decimal, Integer, Rate, UnixSeconds } from '../../src/protocol/fields/response-fields.ts'
import { openDuckDb } from '../support/duckdb.ts'

/* Files of hand-written rows, read back by DuckDB. */

const folder = await mkdtemp(join(tmpdir(), 'fx-export-'))
const duck = await openDuckDb()
afterAll(async () => {
  duck.close()
  await rm(folder, { recursive: true })
})

const schema = z.object({
  id: Integer,
  amount: Amount.nullable(),
  shares: Decimal,
  strike: Rate,
  createdAt: UnixSeconds,
  name: z.string(),
  isOpen: z.boolean(),
  type: z.enum(['a', 'b']),
  decimals: Integer.nullable(),
  args: z.record(z.string(), z.unknown()),
  event: z.object({ terms: z.object({ strike: Rate }) }).nullable(),
})

const plain = {
  id: 1,
  amount: '1500000',
  shares: '7',
  strike: '12500000',
  createdAt: 1_790_856_000,
  name: 'Cedi',
  isOpen: true,
  type: 'a',
  decimals: 6,
  args: { b: '1', a: [true] },
  event: { terms: { strike: '1' } },
}
const MOST = String(2n ** 256n - 1n)
const rows = [
  plain,
  { ...plain, amount: MOST, strike: MOST, shares: MOST, createdAt: 0, isOpen: false, type: 'b' },
  { ...plain, amount: '7', decimals: null, createdAt: 253_402_300_799, name: 'NUL \0 and 🌍 "=1"', args: {} },
  { ...plain, amount: null, decimals: 18, createdAt: 2 ** 53 - 1, id: 2 ** 53 - 1, event: null, name: '' },
]

async function* all(of: readonly Row[]): AsyncGenerator<Row> {
  yield* of
}

const write = async (of: readonly Row[], groupRows?: number) => {
  const path = join(folder, `${of.length}-${groupRows}.parquet`)
  return { path, written: await writeParquet(path, columnsOf(schema), all(of), groupRows) }
}

const column = (found: readonly Record<string, unknown>[], name: string) => found.map((row) => row[name])

test('DuckDB reads every value back, with a decimal or a time next to those that fit one', async () => {
  const { path } = await write(rows, 3)
  const found = await duck.rows(`FROM '${path}'`)
  expect(column(found, 'id')).toEqual(['1', '1', '1', String(2 ** 53 - 1)])
  expect(column(found, 'amount')).toEqual(['1500000', MOST, '7', null])
  expect(column(found, 'amountUnits')).toEqual(['1.500000000000000000', null, null, null])
  expect(column(found, 'shares')).toEqual(['7', MOST, '7', '7'])
  expect(column(found, 'strike')).toEqual(['12500000', MOST, '12500000', '12500000'])
  expect(column(found, 'strikeDecimal')).toEqual(['12.500000', null, '12.500000', '12.500000'])
  expect(column(found, 'createdAt')).toEqual(rows.map(({ createdAt }) => String(createdAt)))
  expect(column(found, 'createdAtUtc')).toEqual(['2026-10-01 12:00:00+00', null, '9999-12-31 23:59:59+00', null])
  expect(column(found, 'name')).toEqual(rows.map(({ name }) => name))
  expect(column(found, 'isOpen')).toEqual(['true', 'false', 'true', 'true'])
  expect(column(found, 'type')).toEqual(['a', 'b', 'a', 'a'])
  expect(column(found, 'decimals')).toEqual(['6', '6', null, '18'])
  expect(column(found, 'args')).toEqual([
    ...['{"b":"1","a":[true]}', '{"b":"1","a":[true]}'],
    ...['{}', '{"b":"1","a":[true]}'],
  ])
  expect(column(found, 'event.terms.strike')).toEqual(['1', '1', '1', null])
  expect(column(found, 'event.terms.strikeDecimal')).toEqual(['0.000001', '0.000001', '0.000001', null])
})

test('columns have types that engines know, and only those that can lack a value are optional', async () => {
  const { path } = await write(rows)
  expect(await duck.types(`FROM '${path}'`)).toEqual({
    ...{ id: 'BIGINT', amount: 'VARCHAR', amountUnits: 'DECIMAL(38,18)', shares: 'VARCHAR', strike: 'VARCHAR' },
    ...{ strikeDecimal: 'DECIMAL(38,6)', createdAt: 'BIGINT', createdAtUtc: 'TIMESTAMP WITH TIME ZONE' },
    ...{ name: 'VARCHAR', isOpen: 'BOOLEAN', type: 'VARCHAR', decimals: 'BIGINT', args: 'VARCHAR' },
    ...{ 'event.terms.strike': 'VARCHAR', 'event.terms.strikeDecimal': 'DECIMAL(38,6)' },
  })
  const optional = await duck.rows(
    `SELECT name FROM parquet_schema('${path}') WHERE repetition_type = 'OPTIONAL' ORDER BY name`,
  )
  expect(column(optional, 'name')).toEqual([
    ...['amount', 'amountUnits', 'createdAtUtc', 'decimals'],
    ...['event.terms.strike', 'event.terms.strikeDecimal', 'strikeDecimal'],
  ])
})

test('a file without rows has its columns', async () => {
  const { path, written } = await write([])
  expect([written.rows, await duck.rows(`FROM '${path}'`)]).toEqual([0, []])
  expect(Object.keys(await duck.types(`FROM '${path}'`))).toHaveLength(columnsOf(schema).length)
})

test.each([1, 2, 3, 4, 5])(
  'groups of %i rows have all rows in their order, and the hash of the bytes',
  async (size) => {
    const many = [...rows, ...rows].slice(0, 6).map((row, id) => ({ ...row, id }))
    const { path, written } = await write(many, size)
    const bytes = await readFile(path)
    expect(written).toEqual({
      rows: 6,
      bytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
    })
    expect(column(await duck.rows(`FROM '${path}'`), 'id')).toEqual(['0', '1', '2', '3', '4', '5'])
    const groups = await duck.rows(`SELECT DISTINCT row_group_id, row_group_num_rows FROM parquet_metadata('${path}')`)
    expect(groups).toHaveLength(Math.ceil(6 / size))
  },
)

test('the same rows lead to the same bytes as before: if they do not, raise ENCODING of src/export/columns.ts', async () => {
  const { written } = await write(rows, 2)
  expect([fingerprintOf(columnsOf(schema)), written.sha256]).toMatchInlineSnapshot(`
    [
      "c6fd9edb245fb0f4",
      "f1978db5292ab814fb5cd869a1da595038b33d40b95f653f860af78c2bf00ae7",
    ]
  `)
})

test.each([
  ['1500000', 6, 18, 1_500_000_000_000_000_000n],
  ['1', 18, 18, 1n],
  ['1', 19, 18, null],
  ['10', 19, 18, 1n],
  ['15', 19, 18, null],
  ['0', 255, 18, 0n],
  ['99999999999999999999', 0, 18, 99_999_999_999_999_999_999n * 10n ** 18n],
  ['100000000000000000000', 0, 18, null],
  ['12500000', 6, 6, 12_500_000n],
  [null, 6, 18, null],
  ['1', null, 18, null],
])('%s with %s decimals is %s digits after the point: %s', (value, decimals, scale, expected) => {
  expect(decimalOf(value, decimals, scale)).toBe(expected)
})

test('other columns have another fingerprint', () => {
  const of = (shape: z.ZodRawShape) => fingerprintOf(columnsOf(z.object(shape)))
  const texts = [of({ a: Integer }), of({ b: Integer }), of({ a: Amount }), of({ a: Integer.nullable() })]
  expect(new Set(texts).size).toBe(texts.length)
  expect(of({ a: Integer })).toBe(texts[0])
})
