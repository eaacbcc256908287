import { createHash } from 'node:crypto'
import type { ParquetWriter } from 'hyparquet-writer'
import { z } from 'zod'
import { type FlatField, flatFields, type Row } from '../protocol/fields/flat-fields.ts'
import { MAX_SECONDS, type Scale } from '../protocol/fields/response-fields.ts'

type Element = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number]

/** How a value is stored, without the name of its column. */
type Type = Omit<Element, 'name' | 'repetition_type'>

/** A column of a table: how it is stored, and its value in a row. */
export type Column = { readonly element: Element; readonly cell: (row: Row) => unknown }

/** Digits of a decimal, and those of an amount after the point. */
const PRECISION = 38
const UNITS_SCALE = 18

const text: Type = { type: 'BYTE_ARRAY', converted_type: 'UTF8' }
const whole: Type = { type: 'INT64' }
const truth: Type = { type: 'BOOLEAN' }
const time: Type = {
  type: 'INT64',
  converted_type: 'TIMESTAMP_MICROS',
  logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
}
const decimal = (scale: number): Type => ({
  ...{ type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, converted_type: 'DECIMAL', precision: PRECISION, scale },
  logical_type: { type: 'DECIMAL', precision: PRECISION, scale },
})

/**
 * A scaled integer with `decimals` as the integer of a decimal with `scale` digits after the point. Null where it has more
 * digits than that decimal, and where it or its decimals are not known.
 *
 * @internal
 * @example decimalOf('1500000', 6, 18) // 1500000000000000000n
 */
export const decimalOf = (value: unknown, decimals: unknown, scale: number): bigint | null => {
  if (typeof value !== 'string' || typeof decimals !== 'number') return null
  const factor = 10n ** BigInt(Math.abs(scale - decimals))
  const given = BigInt(value)
  if (decimals > scale && given % factor !== 0n) return null
  const shown = decimals > scale ? given / factor : given * factor
  return shown < 10n ** BigInt(PRECISION) ? shown : null
}

/** A time in Unix seconds in microseconds. Null for 0, which is no time yet, and for times after the year 9999. */
const microsecondsOf = (seconds: unknown): bigint | null =>
  typeof seconds === 'number' && seconds > 0 && seconds <= MAX_SECONDS ? BigInt(seconds) * 1_000_000n : null

/** The second column of a field by its scale: the end of its name, its type, and its cell. */
const secondOf = (scale: Scale): readonly [string, Type, (value: unknown, row: Row) => unknown] => {
  if (scale === 'seconds') return ['Utc', time, microsecondsOf]
  if (scale === 'token')
    return ['Units', decimal(UNITS_SCALE), (value, { decimals }) => decimalOf(value, decimals, UNITS_SCALE)]
  return ['Decimal', decimal(scale), (value) => decimalOf(value, scale, scale)]
}

/** How a field is stored, and how its value is written: integers as such, and lists and objects as their JSON. */
const typeOf = (schema: z.ZodType): readonly [Type, (value: unknown) => unknown] => {
  if (schema instanceof z.ZodNumber) return [whole, (value) => BigInt(value as number)]
  if (schema instanceof z.ZodBoolean) return [truth, (value) => value]
  if (schema instanceof z.ZodString || schema instanceof z.ZodEnum) return [text, (value) => value]
  return [text, JSON.stringify]
}

const columnsOfField = ({ name, schema, isNullable, scale, value }: FlatField): Column[] => {
  const [type, write] = typeOf(schema)
  const own: Column = {
    element: { name, ...type, repetition_type: isNullable ? 'OPTIONAL' : 'REQUIRED' },
    cell: (row) => {
      const given = value(row) ?? null
      return given === null ? null : write(given)
    },
  }
  if (scale === undefined) return [own]
  const [suffix, secondType, cell] = secondOf(scale)
  const element: Element = { name: `${name}${suffix}`, ...secondType, repetition_type: 'OPTIONAL' }
  return [own, { element, cell: (row) => cell(value(row), row) }]
}

/**
 * The columns of a table from the schema of its rows. Each field is a column. An amount has its value in units of the
 * token next to it (`amountUnits`), a rate its decimal value (`strikeDecimal`), and a time a timestamp (`createdAtUtc`).
 */
export const columnsOf = (schema: z.ZodObject): readonly Column[] => flatFields(schema).flatMap(columnsOfField)

/** Raise it when the same rows lead to other bytes, as another release of the library can do. */
const ENCODING = 1

/** A text that is another one when files have other columns or are written in another way. */
export const fingerprintOf = (columns: readonly Column[]): string =>
  createHash('sha256')
    .update(JSON.stringify([ENCODING, columns.map(({ element }) => element)]))
    .digest('hex')
    .slice(0, 16)
