import type { Description } from '../../openapi/document.ts'
import { tags } from '../../openapi/texts.ts'
import { type Field, fieldsOf, resolve, type Schema, typeOf } from './fields.ts'
import { guidePageOf } from './guide.ts'

export type Parameter = {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly schema?: unknown
  readonly description?: string
  readonly example?: unknown
}

/** Bodies by content type. */
export type Media = Readonly<Record<string, { readonly example?: unknown; readonly schema?: unknown }>>

/** The part of an operation that its page shows. */
type Described = {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tags: readonly string[]
  readonly parameters?: readonly Parameter[]
  readonly security?: readonly Readonly<Record<string, unknown>>[]
  readonly requestBody?: { readonly description: string; readonly content: Media }
  readonly responses: Readonly<Record<string, { readonly $ref?: string; readonly content?: Media }>>
}

export type Operation = Described & { readonly method: string; readonly path: string }

/** How a request has the credentials of a scheme: the header, and what is before the secret in it. */
const schemes = {
  bearer: { label: 'Bearer token', header: 'authorization', prefix: 'Bearer ', placeholder: 'TOKEN' },
  integratorKey: { label: 'Key', header: 'x-api-key', prefix: '', placeholder: 'KEY' },
} as const

/** The credentials that an operation requires; undefined for none. */
export const credentialsOf = ({ security = [] }: Pick<Described, 'security'>) =>
  Object.entries(schemes).find(([name]) => security.some((required) => name in required))?.[1]

/** The operations of a description. */
export const operationsOf = ({ paths }: Description): readonly Operation[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, it]) => ({ ...(it as Described), method: method.toUpperCase(), path })),
  )

/** The tags of operations in the order of the description. */
export const tagsOf = (operations: readonly Operation[]): readonly string[] =>
  Object.keys(tags).filter((tag) => operations.some((it) => it.tags.includes(tag)))

const cell = (text: string): string => text.replace(/\s+/g, ' ').replaceAll('|', '\\|')

const section = (title: string, text: string): string => (text === '' ? '' : `\n## ${title}\n\n${text}\n`)

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  rows.length === 0
    ? ''
    : [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n')

/** The examples of a body as Markdown. */
export const examples = (media: Media | undefined): string =>
  Object.entries(media ?? {})
    .filter(([, { example }]) => example !== undefined)
    .map(([type, { example }]) => {
      const isJson = type === 'application/json'
      return `\`\`\`${isJson ? 'json' : 'text'}\n${isJson ? JSON.stringify(example, null, 2) : example}\n\`\`\``
    })
    .join('\n\n')

/** Fields with all fields in them, as rows: the name with its path and the type, and the meaning. */
const rowsOf = (fields: readonly Field[]): readonly (readonly string[])[] =>
  fields.flatMap(({ path, required, schema, fields: inner }) => [
    [`\`${path}\` ${typeOf(schema)}${required ? '' : ', optional'}`, schema.description ?? ''],
    ...rowsOf(inner),
  ])

/** The schema of a JSON body. */
export const schemaOf = (content: Media | undefined): unknown => content?.['application/json']?.schema

/** The meaning of each status of an error. */
export const errorsOf = (document: Description, { responses }: Operation): readonly (readonly [string, string])[] =>
  Object.entries(responses)
    .filter(([status]) => Number(status) >= 400)
    .map(([status, response]) => {
      const { description = '' } = (resolve(document, response) ?? {}) as { readonly description?: string }
      return [status, description]
    })

/** The body of a success. */
export const successOf = (document: Description, { responses }: Operation): Media | undefined =>
  (resolve(document, responses[200]) as { readonly content?: Media } | undefined)?.content

/** An operation as a page of Markdown. */
export const operationMarkdown = (document: Description, operation: Operation): string => {
  const { method, path, summary, description, parameters = [], requestBody } = operation
  const success = successOf(document, operation)
  const named = parameters.map((it) => [
    `\`${it.name}\` ${it.in}, ${typeOf((resolve(document, it.schema) ?? {}) as Schema)}${it.required ? ', required' : ''}`,
    it.description ?? '',
  ])
  const fields = (media: Media | undefined) => table(['field', 'meaning'], rowsOf(fieldsOf(document, schemaOf(media))))
  const page = guidePageOf(path)
  const guide = page && `\nGuide: [${page.title}](../guide/${page.name}.md)\n`
  return [
    `# ${summary}\n\n\`${method} ${path}\`\n\n${description}\n${guide ?? ''}`,
    section('Parameters', table(['parameter', 'meaning'], named)),
    section('Body', fields(requestBody?.content)),
    section('Example of a body', examples(requestBody?.content)),
    section('Response', fields(success)),
    section('Example of a response', examples(success)),
    section('Errors', table(['status', 'meaning'], errorsOf(document, operation))),
  ].join('')
}
