import { isSchema, type JsonSchema } from './json-schema.ts'
import { notes, units } from './notes.ts'

/**
 * The description of a field or parameter: its meaning, then its unit. `owner` is the field, schema or path segment
 * that contains it.
 */
const describeField = (owner: string, name: string, given: string | undefined): string | undefined => {
  const unit = given === undefined ? undefined : units[given]
  if (given !== undefined && unit === undefined) return given
  const meaning = notes[`${owner}.${name}`] ?? notes[name]
  if (meaning === undefined || unit === undefined || unit === '') return meaning ?? given
  return meaning.replace(/^[^;:]*/, (what) => `${what}, ${unit}`)
}

/** The error of a field or schema without a meaning. */
export const undescribed = (what: string): TypeError =>
  new TypeError(`no description of ${what}: add it to src/api/openapi/notes.ts`)

/**
 * Describes all fields of a schema that lack a description or have only a unit, in place. Throws a TypeError for a
 * field without a meaning.
 */
export const annotate = (schema: JsonSchema, owner: string): void => {
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    if (!isSchema(field)) continue
    const isNamed = field.$ref !== undefined
    const isEnvelope = isNamed && (name === 'data' || name === 'meta')
    const description = isEnvelope ? field.description : describeField(owner, name, field.description)
    // A named schema has a description of its own.
    if (description === undefined && !isNamed) throw undescribed(`${owner}.${name}`)
    if (description !== undefined) field.description = description
    annotate(field, name)
  }
  const parts = [schema.items, schema.additionalProperties, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]
  for (const part of parts.flat()) if (isSchema(part)) annotate(part, owner)
}
