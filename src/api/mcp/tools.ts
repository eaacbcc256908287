import { maxHeaderSize } from 'node:http'
import type { z } from 'zod'
import { invalidField } from '../../lib/errors.ts'
import type { Description } from '../openapi/document.ts'
import { isSchema } from '../openapi/json-schema.ts'
import { resolve } from '../pages/docs/fields.ts'
import { type Operation, operationsOf, schemaOf } from '../pages/docs/operation.ts'

/* The tools are operations of the API: their names, texts and schemas are those of its description. */

/** The operations that are tools. Plans are too. */
const toolIds: readonly string[] = [
  'getChains',
  'getHedgeEvents',
  'getHedgeEventsById',
  'getHedgeQuotePayoutById',
  'getWalletsPortfolioByAddr',
  'getActivity',
  'getTransactionsByHash',
  'postPricingQuote',
]

/** Tools return JSON. */
const isTaken = (name: string): boolean => name !== 'format'

/** The arguments of a call by name. */
type Arguments = Readonly<Record<string, unknown>>

/** The request that a call of a tool is. */
type ToolRequest = {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly payload?: string
  readonly headers?: { readonly 'content-type': string }
}

/** A tool, and the request of its operation with the given arguments. `requestOf` throws `validation_error`. */
export type Tool = {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly annotations: { readonly title: string; readonly readOnlyHint: true }
  /** JSON Schema of the arguments. */
  readonly inputSchema: {
    [keyword: string]: unknown
    type: 'object'
    properties?: Record<string, z.core.util.JSONType>
    required?: string[]
  }
  readonly requestOf: (given: Arguments) => ToolRequest
}

const inputOf = (document: Description, { parameters = [], requestBody }: Operation): Tool['inputSchema'] => {
  const body = resolve(document, schemaOf(requestBody?.content))
  if (isSchema(body)) return Object(body)
  const taken = parameters.filter(({ name }) => isTaken(name))
  return {
    type: 'object',
    properties: Object.fromEntries(
      taken.map(({ name, schema, description }) => [name, { ...Object(schema), description }]),
    ),
    required: taken.flatMap(({ name, required }) => (required ? [name] : [])),
    additionalProperties: false,
  }
}

/** An argument as a parameter of a URL. The values of a list are separated by commas. */
const parameterOf = (name: string, value: unknown): string =>
  [value]
    .flat()
    .map((item) => {
      if (!['string', 'number', 'boolean'].includes(typeof item))
        throw invalidField(name, 'expected a text, a number, true, false, or a list of them')
      if (typeof item === 'number' && !Number.isSafeInteger(item))
        throw invalidField(name, 'expected a text: a JSON number of this size may have lost digits')
      return String(item)
    })
    .join(',')

/** An argument in a path: every parameter there is an integer or hex, so that it leads to no other operation. */
const segmentOf = (name: string, value: unknown): string => {
  if (value === undefined) throw invalidField(name, 'is required')
  const text = parameterOf(name, value)
  if (!/^\d\w*$/.test(text)) throw invalidField(name, 'expected an integer, or 0x and hex digits')
  return text
}

const urlOf = ({ path, parameters = [] }: Operation, given: Arguments): string => {
  const inPath = new Set(parameters.flatMap((it) => (it.in === 'path' ? [it.name] : [])))
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => segmentOf(name, given[name]))
  const query = Object.entries(given).flatMap(([name, value]) => {
    if (!isTaken(name)) throw invalidField(name, `unknown parameter '${name}'`)
    return inPath.has(name) ? [] : [[name, parameterOf(name, value)] as [string, string]]
  })
  const url = query.length === 0 ? filled : `${filled}?${new URLSearchParams(query)}`
  if (url.length > maxHeaderSize) throw invalidField('arguments', `are larger than ${maxHeaderSize} bytes as a URL`)
  return url
}

const bodyOf = (given: Arguments): string => {
  try {
    return JSON.stringify(given)
  } catch {
    throw invalidField('arguments', 'are nested too deeply')
  }
}

const requestOf = (operation: Operation, given: Arguments): ToolRequest =>
  operation.method === 'POST'
    ? {
        ...{ method: 'POST', url: operation.path, payload: bodyOf(given) },
        headers: { 'content-type': 'application/json' },
      }
    : { method: 'GET', url: urlOf(operation, given) }

/** The tools of a description, by name. Throws a TypeError when an operation that is a tool is missing. */
export const toolsOf = (document: Description): ReadonlyMap<string, Tool> => {
  const operations = operationsOf(document)
  const missing = toolIds.filter((id) => !operations.some(({ operationId }) => operationId === id))
  if (missing.length > 0) throw new TypeError(`no operations of tools: ${missing.join(', ')}`)
  return new Map(
    operations
      .filter(({ operationId, tags }) => toolIds.includes(operationId) || tags.includes('Plans'))
      .map((operation) => {
        const { operationId: name, summary: title, description } = operation
        const tool = {
          ...{ name, title, description: `${title}. ${description}`, inputSchema: inputOf(document, operation) },
          annotations: { title, readOnlyHint: true },
        } as const
        return [name, { ...tool, requestOf: (given: Arguments) => requestOf(operation, given) }]
      }),
  )
}
