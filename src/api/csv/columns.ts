import { formatUnits } from 'viem'
import { z } from 'zod'
import { flatFields, type Row } from '../../protocol/fields/flat-fields.ts'
import { MAX_SECONDS, type Scale } from '../../protocol/fields/response-fields.ts'
import { type Cell, CRLF, csvLine } from './lines.ts'

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

/** The columns of rows with a schema: each field, and its second column if it has a scale. */
const columnsOf = (schema: z.ZodObject): Column[] =>
  flatFields(schema).flatMap(({ name, scale, value }) => {
    const own = { name, cell: (row: Row) => cellOf(value(row)) }
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
  const columns = columnsOf(z.object(Object.fromEntries(fields)))
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
