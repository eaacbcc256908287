import { readFileSync } from 'node:fs'
import { z } from 'zod'

const Media = z.object({ schema: z.json(), example: z.json() })
const Content = z.object({ 'application/json': Media, 'text/csv': Media.optional() })
const Streamed = z.object({ 'application/json': Media.optional(), 'text/event-stream': Media })

const Link = z.object({
  operationId: z.string(),
  parameters: z.record(z.string(), z.string()).default({}),
  requestBody: z.record(z.string(), z.string()).default({}),
})

const Response = z.union([
  z.strictObject({ $ref: z.string() }),
  z.object({
    description: z.string(),
    content: z.union([Streamed, Content]),
    links: z.record(z.string(), Link).default({}),
  }),
])

const Operation = z.object({
  operationId: z.string(),
  summary: z.string(),
  description: z.string(),
  tags: z.array(z.string()).length(1),
  security: z.array(z.record(z.string(), z.array(z.string()))).optional(),
  parameters: z
    .array(
      z.object({
        ...{ name: z.string(), in: z.enum(['path', 'query']), required: z.boolean(), schema: z.looseObject({}) },
        ...{ description: z.string(), example: z.union([z.string(), z.number(), z.boolean()]).optional() },
      }),
    )
    .default([]),
  requestBody: z.object({ required: z.literal(true), content: Content }).optional(),
  responses: z
    .looseObject({ 304: z.object({ description: z.string() }).optional() })
    .transform(({ 304: _, ...others }) => others)
    .pipe(z.record(z.string().regex(/^\d{3}$/), Response)),
})

/** The part of an OpenAPI document that the tests use. */
const Document = z.object({
  openapi: z.literal('3.1.1'),
  info: z.object({ version: z.string(), 'x-release': z.string() }),
  paths: z.record(z.string(), z.partialRecord(z.enum(['get', 'post', 'delete']), Operation)),
  components: z.object({
    securitySchemes: z.record(z.string(), z.looseObject({ type: z.string() })),
    schemas: z.record(z.string(), z.looseObject({})),
    headers: z.record(z.string(), z.object({ schema: z.object({ pattern: z.string().optional() }) })),
    responses: z.record(
      z.string(),
      z.object({ description: z.string(), content: Content, links: z.record(z.string(), Link).default({}) }),
    ),
  }),
})

/** The committed document as text. */
export const committed = readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8')

export const document = Document.parse(JSON.parse(committed))

const resolved = (response: z.output<typeof Response>) => {
  if (!('$ref' in response)) return response
  const component = document.components.responses[response.$ref.split('/').at(-1) ?? '']
  if (component === undefined) throw new Error(`${response.$ref} leads nowhere`)
  return component
}

/** Every operation with its responses in place, and the request its examples make. */
export const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => {
    const values = (place: 'path' | 'query') =>
      operation.parameters
        .filter((it) => it.in === place && it.required)
        .map(({ name, example }) => [name, String(example)] as const)
    const query = new URLSearchParams(Object.fromEntries(values('query'))).toString()
    const filled = values('path').reduce((url, [name, value]) => url.replace(`{${name}}`, value), path)
    return {
      ...operation,
      path,
      method: method.toUpperCase() as 'GET' | 'POST' | 'DELETE',
      url: query === '' ? filled : `${filled}?${query}`,
      body: operation.requestBody?.content['application/json'].example,
      responses: Object.fromEntries(
        Object.entries(operation.responses).map(([status, response]) => [status, resolved(response)]),
      ),
    }
  }),
)
