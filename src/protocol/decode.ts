import { z } from 'zod'

/**
 * Decodes a value; undefined for a value that the schema must decide: the schema then accepts it or reports what is
 * wrong.
 */
export type Decode = (value: unknown) => unknown

/**
 * Fast decoders of schemas. A fast decoder may accept fewer values than its schema. For each value that it accepts, it
 * returns the schema's result.
 */
export const shortcuts = z.registry<{ readonly decode: Decode }>()

type Field = { readonly name: string; readonly decode: Decode; readonly isOptional: boolean }

const fieldOf = ([name, schema]: readonly [string, unknown]): Field | undefined => {
  const isOptional = schema instanceof z.ZodOptional
  const inner = isOptional ? schema.unwrap() : schema
  const decode = inner instanceof z.ZodType ? shortcuts.get(inner)?.decode : undefined
  return decode && { name, decode, isOptional }
}

/** The fast decoder of a strict object whose fields all have one; undefined for any other schema. */
export const compileDecoder = (schema: z.ZodType): Decode | undefined => {
  if (!(schema instanceof z.ZodObject) || !(schema.def.catchall instanceof z.ZodNever)) return undefined
  const entries = Object.entries(schema.shape)
  const fields = entries.flatMap((entry) => fieldOf(entry) ?? [])
  if (fields.length < entries.length) return undefined
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    const given = value as Readonly<Record<string, unknown>>
    const decoded: Record<string, unknown> = {}
    let found = 0
    for (const { name, decode, isOptional } of fields) {
      const item = given[name]
      if (item === undefined && isOptional) continue
      const it = decode(item)
      if (it === undefined) return undefined
      decoded[name] = it
      found += 1
    }
    // More keys than found fields: a field is unknown, or present with the value undefined.
    return Object.keys(given).length === found ? decoded : undefined
  }
}
