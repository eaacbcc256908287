import { formatUnits } from 'viem'
import { z } from 'zod'
import { type Cell, CRLF, csvLine } from '../../lib/csv.ts'
import { type Scale, scales } from '../../protocol/fields/response-fields.ts'

type Row = Readonly<Record<string, unknown>>

type Column = { readonly name: string; readonly cell: (row: Row) => Cell }

/** A list as CSV: its name, the line with the names of its columns, and the lines of rows. */
export type Table = {
  readonly name: string
  readonly header: string
  /** `nextCursor` is in the last line: where the list continues after these rows; null where it does not. */
  readonly lines: (rows: readonly object[], nextCursor: string | null) => string
}

/** The last column: empty in all rows but the last one of an answer that is not the end of its list. */
const CURSOR = 'nextCursor'

/** The last second that ISO 8601 writes with four digits of the year. */
const MAX_SECONDS = 253_402_300_799

/** A time in Unix seconds as ISO 8601 in UTC. Empty for 0, which is no time yet, and for times without one. */
const isoOf = (seconds: unknown): string =>
  typeof seconds === 'number' && seconds > 0 && seconds <= MAX_SECONDS
    ? new Date(seconds * 1_000).toISOString().replace('.000Z', 'Z')
    : ''

/** A scaled integer as an exact decimal; empty where there is none, or where its decimals are not known. */
const scaled = (value: unknown, decimals: unknown): string =>
  typeof value === 'string' && typeof decimals === 'number' ? formatUnits(BigInt(value), decimals) : ''

/** The second column of a field by its scale: the end of its name, and its cell. */
const secondOf = (scale: Scale): readonly [suffix: string, cell: (value: unknown, row: Row) => string] => {
  if (scale === 'seconds') return ['Iso', isoOf]
  if (scale === 'token') return ['Units', (value, { decimals }) => scaled(value, decimals)]
  return ['Decimal', (value) => scaled(value, scale)]
}

/** A scalar, or the JSON of a list or object. */
const cellOf = (value: unknown): Cell =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : (value as Cell)

/** A schema without what allows null or nothing. */
const bare = (schema: unknown): z.ZodType =>
  schema instanceof z.ZodOptional || schema instanceof z.ZodNullable ? bare(schema.unwrap()) : (schema as z.ZodType)

/** The columns of the fields of an object, which `of` finds in a row. Those of an object in it have names with a dot. */
const columnsOf = (schema: z.ZodObject, of: (row: Row) => Row | null | undefined, prefix = ''): Column[] =>
  Object.entries(schema.shape).flatMap(([field, type]) => {
    const inner = bare(type)
    const name = `${prefix}${field}`
    const value = (row: Row): unknown => of(row)?.[field]
    if (inner instanceof z.ZodObject) return columnsOf(inner, (row) => value(row) as Row | undefined, `${name}.`)
    const own = { name, cell: (row: Row) => cellOf(value(row)) }
    const scale = scales.get(inner)?.scale
    if (scale === undefined) return [own]
    const [suffix, cell] = secondOf(scale)
    return [own, { name: `${name}${suffix}`, cell: (row) => cell(value(row), row) }]
  })

/**
 * Makes the table of a list from the schema of its rows. Each field is a column; an optional one only if `shown` has
 * its name. An amount has its value in units of the token next to it (`amountUnits`), a rate its decimal value
 * (`strikeDecimal`), and a time its ISO form (`expiryDateIso`).
 */
export const tableOf = (name: string, schema: z.ZodObject, shown: readonly string[] = []): Table => {
  const fields = Object.entries(schema.shape).filter(
    ([field, type]) => !(type instanceof z.ZodOptional) || shown.includes(field),
  )
  const columns = columnsOf(z.object(Object.fromEntries(fields)), (row) => row)
  return {
    name,
    header: csvLine([...columns.map((column) => column.name), CURSOR]) + CRLF,
    lines: (rows, nextCursor) =>
      rows
        .map((row, at) => {
          const cursor = at === rows.length - 1 ? nextCursor : null
          return csvLine([...columns.map(({ cell }) => cell(row as Row)), cursor]) + CRLF
        })
        .join(''),
  }
}
