import { z } from 'zod'
import { type Scale, scales } from './response-fields.ts'

/** A row of a list, as JSON has it. */
export type Row = Readonly<Record<string, unknown>>

/** A field of a row, of which a table has a column. */
export type FlatField = {
  /** Its name; that of a field in a record has the name of the record and a dot in front. */
  readonly name: string
  /** Without what allows null or nothing. */
  readonly schema: z.ZodType
  /** Whether a row can be without a value. */
  readonly isNullable: boolean
  /** What its integer stands for, if it has a scale. */
  readonly scale: Scale | undefined
  readonly value: (row: Row) => unknown
}

/** A schema without what allows null or nothing. */
const bare = (schema: unknown): z.ZodType =>
  schema instanceof z.ZodOptional || schema instanceof z.ZodNullable ? bare(schema.unwrap()) : (schema as z.ZodType)

const fieldsIn = (
  schema: z.ZodObject,
  prefix: string,
  isAbsent: boolean,
  of: (row: Row) => Row | null | undefined,
): FlatField[] =>
  Object.entries(schema.shape).flatMap(([field, type]) => {
    const inner = bare(type)
    const name = `${prefix}${field}`
    const value = (row: Row): unknown => of(row)?.[field]
    const isNullable = isAbsent || inner !== type
    if (inner instanceof z.ZodObject)
      return fieldsIn(inner, `${name}.`, isNullable, (row) => value(row) as Row | undefined)
    return [{ name, schema: inner, isNullable, scale: scales.get(inner)?.scale, value }]
  })

/** The fields of rows with a schema, in its order. The fields of a record in a row are fields of the row. */
export const flatFields = (schema: z.ZodObject): FlatField[] => fieldsIn(schema, '', false, (row) => row)
