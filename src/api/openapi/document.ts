import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import { ErrorBody } from '../../lib/http/problem.ts'
import { release } from '../../lib/root.ts'
import type { ChainId } from '../../protocol/chains.ts'
import type { Inclusion } from '../../protocol/rows.ts'
import { isSchema, type JsonSchema } from './json-schema.ts'
import { linksOf, linkTargets } from './links.ts'
import { operationId } from './operation-id.ts'
import { type Recorded, readRecorded } from './recorded.ts'
import { errorResponse, failuresOf, json, notModified, sent } from './responses.ts'
import type { Route } from './route.ts'
import { createSchemas, type Schemas } from './schemas.ts'
import { headers, info, optionalSecurity, securitySchemes, tags } from './texts.ts'

const parameters = (
  schemas: Schemas,
  url: string,
  input: z.ZodObject | undefined,
  place: 'path' | 'query',
  values: Recorded['query'] = {},
) => {
  if (input === undefined) return []
  const { properties = {}, required = [] } = schemas.convert(input, 'input', url.split('/')[3])
  return Object.entries(properties).flatMap(([name, value]) => {
    if (!isSchema(value)) return []
    // Generators read the description and the example of a parameter itself, and not those of its schema.
    const { description, ...schema } = value
    const example = values[name]
    const shown = { ...(description !== undefined && { description }), ...(example !== undefined && { example }) }
    return [{ name, in: place, required: required.includes(name), ...shown, schema }]
  })
}

/** The schema of a stream. */
const STREAM: JsonSchema = {
  type: 'string',
  description: 'Server-sent events: `id` is the cursor of an item, `event` its type, and `data` the item as JSON',
}

/** The schema of a list as CSV. */
const CSV: JsonSchema = {
  type: 'string',
  description:
    'RFC 4180, streamed: a line with the names of the columns, and one for each row. Every field of a row is a column, fields of a record have its name and a dot before theirs, and an object is JSON. Next to an amount is its value in units of the token (`amountUnits`), next to a rate its decimal value (`strikeDecimal`), and next to a time its ISO form (`expiryDateIso`). A text that a spreadsheet could take as a formula begins with one more single quote. The last column is `nextCursor`: in the last row, it is the cursor with which the list continues, or empty at its end',
}

/** The recorded page as CSV. */
const csvOf = (csv: NonNullable<Route['operation']['csv']>, { query, response }: Recorded): string => {
  const table = csv(String(query?.include ?? '').split(',') as Inclusion[])
  const { data, meta } = Object(response)
  return table.header + table.lines(data, meta.nextCursor)
}

/** Recorded examples by operation id. */
type Examples = ReturnType<typeof readRecorded>

/** Error responses by the names of their components. */
type Responses = Record<string, object>

const describe = (schemas: Schemas, responses: Responses, error: JsonSchema, route: Route, recorded: Examples) => {
  const { method, url, schema, operation, bodyLimit } = route
  const id = operation.id ?? operationId(method, url)
  const example = schemas.ofChains(recorded[id])
  if (example === undefined) throw new TypeError(`no recorded example of ${id}: run npm run examples`)
  const ofPath = parameters(schemas, url, schema.params, 'path', example.path)
  const ofQuery = parameters(schemas, url, schema.querystring, 'query', example.query)
  const body = schema.body && schemas.convert(schema.body, 'input')
  const success = schemas.convert(schema.response[200], 'output')
  const keys = Object.fromEntries(ofPath.map((it) => [it.name, String(it.example)]))
  const failed = failuresOf(route, keys)
  for (const [, [name, failure]] of failed) {
    const response = errorResponse(failure, error)
    if (!isDeepStrictEqual(responses[name] ?? response, response)) throw new TypeError(`two responses named ${name}`)
    responses[name] = response
  }

  const links = linksOf(id)

  return {
    operationId: id,
    summary: operation.summary,
    description: operation.description,
    tags: [operation.tag],
    ...(operation.bearer === true && { security: [{ bearer: [] }] }),
    ...(operation.apiKey === true && { security: [{ integratorKey: [] }] }),
    ...(ofPath.length + ofQuery.length > 0 && { parameters: [...ofPath, ...ofQuery] }),
    ...(body && {
      requestBody: { description: `At most ${bodyLimit} bytes`, required: true, content: json(body, example.body) },
    }),
    responses: {
      200: {
        description: 'Success',
        headers: sent(['X-Request-Id', ...(operation.headers ?? [])]),
        ...(links && { links }),
        content: {
          ...(example.stream === undefined
            ? json(success, example.response)
            : { 'text/event-stream': { schema: STREAM, example: example.stream } }),
          ...(operation.csv && { 'text/csv': { schema: CSV, example: csvOf(operation.csv, example) } }),
        },
      },
      ...(operation.headers?.includes('ETag') && { 304: notModified }),
      ...Object.fromEntries(failed.map(([status, [name]]) => [status, { $ref: `#/components/responses/${name}` }])),
    },
  }
}

/**
 * Makes the OpenAPI 3.1 description of the mounted routes, from the schemas that validate them and the recorded examples
 * of this release, unless others are given. Throws a TypeError for two operations of one id, two schemas of one id, an
 * operation without a recorded example, and a link that leads nowhere.
 */
export const createDocument = (
  routes: readonly Route[],
  chainIds: readonly ChainId[],
  recorded: Examples = readRecorded(),
) => {
  const schemas = createSchemas(chainIds)
  const error = schemas.convert(ErrorBody, 'output')
  const paths: Record<string, Record<string, object>> = {}
  const responses: Responses = {}
  const ids = new Set<string>()
  for (const route of routes) {
    const described = describe(schemas, responses, error, route, recorded)
    if (ids.has(described.operationId)) throw new TypeError(`two operations have the id ${described.operationId}`)
    ids.add(described.operationId)
    const path = route.url.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: described }
  }
  const dangling = linkTargets.filter((id) => !ids.has(id))
  if (dangling.length > 0) throw new TypeError(`links lead to no operation: ${dangling.join(', ')}`)
  const inUse = (reference: string): boolean => JSON.stringify(paths).includes(JSON.stringify(reference))
  return {
    openapi: '3.1.1',
    info: { ...info, 'x-release': release },
    servers: [{ url: '/', description: 'The service that serves this description' }],
    security: optionalSecurity,
    tags: Object.entries(tags)
      .filter(([name]) => inUse(name))
      .map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes,
      headers,
      schemas: schemas.components,
      responses,
    },
  }
}

export type Description = ReturnType<typeof createDocument>
