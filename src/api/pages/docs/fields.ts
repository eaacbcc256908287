import type { Description } from '../../openapi/document.ts'

/** The part of a JSON schema that the reference shows. */
export type Schema = {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly pattern?: string
  readonly format?: string
  readonly default?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, unknown>>
  readonly required?: readonly string[]
  readonly items?: unknown
  readonly 'x-items'?: Schema
  readonly anyOf?: readonly unknown[]
}

/** A field of a body with its own fields. */
export type Field = {
  readonly name: string
  /** The name after those of the fields around it, such as `data.rows[].id`. */
  readonly path: string
  readonly required: boolean
  readonly schema: Schema
  readonly fields: readonly Field[]
}

/** Fields may nest this deep. */
const MAX_DEPTH = 6

/** The patterns of integers in texts. */
const decimals: ReadonlySet<string | undefined> = new Set(['^\\d+$', '^-?\\d+$'])

/** An address of a schema or response within the description. */
type Reference = { readonly $ref: string }

const isReference = (value: unknown): value is Reference =>
  typeof value === 'object' && value !== null && '$ref' in value && typeof value.$ref === 'string'

/** Follows references, to responses and to schemas. */
export const resolve = (document: Description, value: unknown): unknown => {
  if (!isReference(value)) return value
  const [kind, name] = value.$ref.split('/').slice(2)
  const all: Readonly<Record<string, Readonly<Record<string, unknown>>>> = document.components
  return all[kind ?? '']?.[name ?? '']
}

/** Whether values are integers in texts. */
export const isDecimal = ({ type, pattern }: Schema): boolean =>
  [type].flat().includes('string') && decimals.has(pattern)

/** The type of a field without its values. Where several types are possible, they are in `anyOf`. */
export const kindOf = ({ type, pattern, anyOf = [] }: Schema): string => {
  if (type === undefined && anyOf.length > 0)
    return [...new Set(anyOf.map((each) => kindOf(each as Schema)))].join(' or ')
  const names = [type ?? 'object'].flat()
  return names.map((name) => (name === 'string' && decimals.has(pattern) ? 'decimal string' : name)).join(' or ')
}

/** The type of a field, or its values, as Markdown. */
export const typeOf = (schema: Schema): string => {
  const { enum: values, 'x-items': several } = schema
  if (several !== undefined) return `${typeOf(several)}, several with commas`
  return values === undefined ? kindOf(schema) : values.map((value) => `\`${value}\``).join(' or ')
}

/** The fields of a schema, those of its items, and those of its alternatives. */
export const fieldsOf = (document: Description, given: unknown, path = '', depth = 0): readonly Field[] => {
  const { properties = {}, required = [], items, anyOf = [] } = (resolve(document, given) ?? {}) as Schema
  if (depth === MAX_DEPTH) return []
  const below = (value: unknown, name: string): readonly Field[] => fieldsOf(document, value, name, depth + 1)
  return [
    ...Object.entries(properties).map(([key, value]): Field => {
      const name = path === '' ? key : `${path}.${key}`
      const schema = { ...(resolve(document, value) as Schema), ...(value as Schema) }
      return { name: key, path: name, required: required.includes(key), schema, fields: below(value, name) }
    }),
    ...(items === undefined ? [] : below(items, `${path}[]`)),
    ...anyOf.flatMap((each) => below(each, path)),
  ]
}
