import { escapeMarkup } from '../../../lib/http/markup.ts'
import { inlineOf } from '../markdown.ts'
import { type Field, isDecimal, kindOf, type Schema } from './fields.ts'

/** Fields that are at least this deep are hidden until they are opened. */
const CLOSED_DEPTH = 1

const code = (value: unknown): string => `<code>${escapeMarkup(String(value))}</code>`

const between = (least: number | undefined, most: number | undefined): string | undefined => {
  // The greatest integers of JSON are no bound that a reader needs.
  const highest = most !== undefined && most >= Number.MAX_SAFE_INTEGER ? undefined : most
  const lowest = least !== undefined && least <= Number.MIN_SAFE_INTEGER ? undefined : least
  if (lowest !== undefined && highest !== undefined)
    return lowest === highest ? `exactly ${lowest}` : `${lowest} to ${highest}`
  if (lowest !== undefined) return `at least ${lowest}`
  return highest === undefined ? undefined : `at most ${highest}`
}

/** The bounds of a value as words. */
const boundsOf = (schema: Schema): readonly string[] => {
  const { minimum, exclusiveMinimum, maximum, minLength, maxLength, minItems, maxItems, pattern, format } = schema
  const isNamed = pattern === undefined || isDecimal(schema) || schema.enum !== undefined
  const [size, items] = [between(minLength, maxLength), between(minItems, maxItems)]
  return [
    exclusiveMinimum === undefined ? undefined : `above ${exclusiveMinimum}`,
    between(minimum, maximum),
    size && `${size} characters`,
    items && `${items} items`,
    format && `format ${escapeMarkup(format)}`,
    isNamed ? undefined : `matches ${code(pattern)}`,
    schema.default === undefined ? undefined : `default ${code(JSON.stringify(schema.default))}`,
  ].filter((it) => it !== undefined)
}

/** The values that a field takes. */
const choicesOf = (schema: Schema): readonly unknown[] => schema['x-items']?.enum ?? schema.enum ?? []

type Shown = Pick<Field, 'name' | 'schema'> & {
  readonly id: string
  /** What is shown after the type: `required`, `optional` or nothing. */
  readonly need: string
  readonly description: string | undefined
  readonly fields?: readonly Field[]
}

const itemHtml = (
  { name, id, schema, need, description, fields = [] }: Shown,
  inner: string,
  isOpen: boolean,
): string => {
  const choices = choicesOf(schema)
  const several = schema['x-items'] === undefined ? 'One of' : 'Some of, separated by commas:'
  const bounds = boundsOf(schema)
  const isList = [schema.type].flat().includes('array')
  const counted = `${fields.length} ${fields.length === 1 ? 'field' : 'fields'}${isList ? ' of each item' : ''}`
  return `<li id="${escapeMarkup(id)}"><p class="field"><a href="#${escapeMarkup(id)}">${code(name)}</a> <span class="type">${escapeMarkup(kindOf(schema))}</span>${need === '' ? '' : ` <span class="${need}">${need}</span>`}${bounds.map((it) => ` <span class="bound">${it}</span>`).join('')}</p>
${description === undefined || description === '' ? '' : `<p>${inlineOf(description)}</p>`}${choices.length === 0 ? '' : `<p class="choices">${several} ${choices.map(code).join(' ')}</p>`}${inner === '' ? '' : `<details${isOpen ? ' open' : ''}><summary>${counted}</summary>${inner}</details>`}</li>`
}

/**
 * Fields as a list in which those of a field can be opened. `prefix` begins their anchors. `need` is what is shown of
 * a field that is required, or optional: requests show the one, responses the other.
 */
export const fieldsHtml = (
  fields: readonly Field[],
  prefix: string,
  need: 'required' | 'optional',
  depth = 0,
): string =>
  fields.length === 0
    ? ''
    : `<ul class="fields">${fields
        .map((field) => {
          const inner = fieldsHtml(field.fields, prefix, need, depth + 1)
          const isNeeded = field.required === (need === 'required')
          const shown = { ...field, id: `${prefix}-${field.path}`, description: field.schema.description }
          return itemHtml({ ...shown, need: isNeeded ? need : '' }, inner, depth < CLOSED_DEPTH)
        })
        .join('\n')}</ul>\n`

/** A parameter in the same form. */
export const parameterHtml = (
  { name, required, description }: { readonly name: string; readonly required: boolean; readonly description?: string },
  schema: Schema,
): string =>
  itemHtml({ name, schema, id: `parameter-${name}`, need: required ? 'required' : '', description }, '', false)
