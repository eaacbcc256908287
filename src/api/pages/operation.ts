import type { Description } from '../openapi/document.ts'
import { tags } from '../openapi/texts.ts'
import { guidePageOf } from './guide.ts'

export type Parameter = {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly schema?: unknown
  readonly description?: string
  readonly example?: unknown
}

type Media = Readonly<Record<string, { readonly example?: unknown }>>

/** The part of an operation that its page shows. */
type Described = {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tags: readonly string[]
  readonly parameters?: readonly Parameter[]
  readonly security?: unknown
  readonly requestBody?: { readonly description: string; readonly content: Media }
  readonly responses: Readonly<Record<string, { readonly $ref?: string; readonly content?: Media }>>
}

export type Operation = Described & { readonly method: string; readonly path: string }

/** The operations of a description. */
export const operationsOf = ({ paths }: Description): readonly Operation[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, it]) => ({ ...(it as Described), method: method.toUpperCase(), path })),
  )

/** The tags of operations in the order of the description. */
export const tagsOf = (operations: readonly Operation[]): readonly string[] =>
  Object.keys(tags).filter((tag) => operations.some((it) => it.tags.includes(tag)))

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

const cell = (text: string): string => text.replace(/\s+/g, ' ').replaceAll('|', '\\|')

const section = (title: string, text: string): string => (text === '' ? '' : `\n## ${title}\n\n${text}\n`)

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  rows.length === 0
    ? ''
    : [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n')

const example = (media: Media | undefined): string =>
  Object.entries(media ?? {})
    .filter(([, { example }]) => example !== undefined)
    .map(([type, { example }]) => {
      const isJson = type === 'application/json'
      return `\`\`\`${isJson ? 'json' : 'text'}\n${isJson ? JSON.stringify(example, null, 2) : example}\n\`\`\``
    })
    .join('\n\n')

type Schema = {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly pattern?: string
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, unknown>>
  readonly required?: readonly string[]
  readonly items?: unknown
  readonly 'x-items'?: Schema
  readonly anyOf?: readonly unknown[]
}

/** Fields may nest this deep. */
const MAX_DEPTH = 6

/** The patterns of integers in texts. */
const decimals: ReadonlySet<string | undefined> = new Set(['^\\d+$', '^-?\\d+$'])

/** The type of a field, or its values. Where several types are possible, they are in `anyOf`. */
const typeOf = ({ type, enum: values, pattern, anyOf = [], 'x-items': several }: Schema): string => {
  if (several !== undefined) return `${typeOf(several)}, several with commas`
  if (values !== undefined) return values.map((value) => `\`${value}\``).join(' or ')
  if (type === undefined && anyOf.length > 0)
    return [...new Set(anyOf.map((each) => typeOf(each as Schema)))].join(' or ')
  const names = [type ?? 'object'].flat()
  return names.map((name) => (name === 'string' && decimals.has(pattern) ? 'decimal string' : name)).join(' or ')
}

/** The fields of a schema as rows: the name with its path, the type, and the meaning. */
const fieldsOf = (document: Description, given: unknown, path = '', depth = 0): (readonly string[])[] => {
  const { properties = {}, required = [], items, anyOf = [] } = (resolve(document, given) ?? {}) as Schema
  if (depth === MAX_DEPTH) return []
  const below = (value: unknown, name: string): (readonly string[])[] => fieldsOf(document, value, name, depth + 1)
  return [
    ...Object.entries(properties).flatMap(([key, value]) => {
      const name = path === '' ? key : `${path}.${key}`
      const field = { ...(resolve(document, value) as Schema), ...(value as Schema) }
      const kind = `${typeOf(field)}${required.includes(key) ? '' : ', optional'}`
      return [[`\`${name}\` ${kind}`, field.description ?? ''], ...below(value, name)]
    }),
    ...(items === undefined ? [] : below(items, `${path}[]`)),
    ...anyOf.flatMap((each) => below(each, path)),
  ]
}

/** The schema of JSON. */
export const schemaOf = (content: Media | undefined): unknown =>
  (content?.['application/json'] as { readonly schema?: unknown } | undefined)?.schema

/** An operation as a page of Markdown. */
export const operationMarkdown = (document: Description, operation: Operation): string => {
  const { method, path, summary, description, parameters = [], requestBody, responses } = operation
  const success = resolve(document, responses[200]) as { readonly content?: Media } | undefined
  const errors = Object.entries(responses)
    .filter(([status]) => Number(status) >= 400)
    .map(([status, response]) => {
      const { description = '' } = (resolve(document, response) ?? {}) as { readonly description?: string }
      return [status, description]
    })
  const named = parameters.map((it) => [
    `\`${it.name}\` ${it.in}, ${typeOf((resolve(document, it.schema) ?? {}) as Schema)}${it.required ? ', required' : ''}`,
    it.description ?? '',
  ])
  const page = guidePageOf(path)
  const guide = page && `\nGuide: [${page.title}](../guide/${page.name}.md)\n`
  return [
    `# ${summary}\n\n\`${method} ${path}\`\n\n${description}\n${guide ?? ''}`,
    section('Parameters', table(['parameter', 'meaning'], named)),
    section('Body', table(['field', 'meaning'], fieldsOf(document, schemaOf(requestBody?.content)))),
    section('Example of a body', example(requestBody?.content)),
    section('Response', table(['field', 'meaning'], fieldsOf(document, schemaOf(success?.content)))),
    section('Example of a response', example(success?.content)),
    section('Errors', table(['status', 'meaning'], errors)),
  ].join('')
}
