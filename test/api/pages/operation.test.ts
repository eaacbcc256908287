import { describe, expect, test } from 'vitest'
import type { Description } from '../../../src/api/openapi/document.ts'
import { type Operation, operationMarkdown, operationsOf, tagsOf } from '../../../src/api/pages/docs/operation.ts'

/* The page of an operation of a small description. */

const ref = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` })

const nested = (depth: number): object =>
  depth === 0
    ? { type: 'string' }
    : { type: 'object', properties: { in: { ...nested(depth - 1), description: `at ${depth}` } } }

const components = {
  schemas: {
    Event: {
      ...{ type: 'object', description: 'An event', required: ['id'] },
      properties: { id: { type: 'integer', description: 'Its id' }, pair: { type: 'string', description: 'A | B\nC' } },
    },
    Error: { type: 'object', properties: {} },
  },
  responses: { conflict: { description: 'Not now' }, ok: { content: {} } },
}

const documentOf = (paths: object = {}): Description => ({ components, paths }) as unknown as Description

const page = (own: Partial<Operation>): string =>
  operationMarkdown(documentOf(), {
    ...{ operationId: 'getThing', summary: 'A thing', description: 'Returns it.', tags: ['Service'] },
    ...{ method: 'GET', path: '/v1/things', responses: { 200: {} }, ...own },
  })

const success = (schema: object, example?: unknown) => ({
  200: { content: { 'application/json': { schema, ...(example !== undefined && { example }) } } },
})

/** The rows of the first table under a heading. */
const rowsOf = (markdown: string, title: string): readonly string[] =>
  (markdown.split(`\n## ${title}\n\n`)[1] ?? '')
    .split('\n\n')[0]
    ?.split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2) ?? []

test('operations and tags are in the order of the description', () => {
  const one = { operationId: 'a', tags: ['Service'] }
  const paths = { '/v1/b': { post: one, get: { operationId: 'b', tags: ['Events'] } }, '/v1/a': { get: one } }
  const operations = operationsOf(documentOf(paths))
  expect(operations.map(({ method, path, operationId }) => [method, path, operationId])).toEqual([
    ['POST', '/v1/b', 'a'],
    ['GET', '/v1/b', 'b'],
    ['GET', '/v1/a', 'a'],
  ])
  expect(tagsOf(operations)).toEqual(['Events', 'Service'])
})

test('a page begins with what the operation does, and has no empty part', () => {
  expect(page({})).toBe('# A thing\n\n`GET /v1/things`\n\nReturns it.\n')
  expect(page({ path: '/v1/changes' })).toBe(
    '# A thing\n\n`GET /v1/changes`\n\nReturns it.\n\nGuide: [Changes](../guide/changes.md)\n',
  )
})

test('parameters have their place, their type, whether they are required, and their meaning', () => {
  const markdown = page({
    parameters: [
      { name: 'id', in: 'path', required: true, schema: { type: 'integer' }, description: 'Its id' },
      { name: 'amount', in: 'query', required: false, schema: { type: 'string', pattern: '^\\d+$' } },
      { name: 'state', in: 'query', required: false, schema: { enum: ['open', 'closed'] }, description: 'a | b' },
      { name: 'include', in: 'query', required: false, schema: { type: 'string', 'x-items': { enum: ['a', 'b'] } } },
      { name: 'event', in: 'query', required: false, schema: ref('schemas', 'Event') },
      { name: 'bare', in: 'query', required: false },
    ],
  })
  expect(markdown).toContain('\n## Parameters\n\n| parameter | meaning |\n| --- | --- |\n')
  expect(rowsOf(markdown, 'Parameters')).toEqual([
    '| `id` path, integer, required | Its id |',
    '| `amount` query, decimal string |  |',
    '| `state` query, `open` or `closed` | a \\| b |',
    '| `include` query, `a` or `b`, several with commas |  |',
    '| `event` query, object |  |',
    '| `bare` query, object |  |',
  ])
})

describe('the fields of a response', () => {
  const rows = (schema: object) => rowsOf(page({ responses: success(schema) }), 'Response')

  test('have their path, their type, whether they are optional, and their meaning', () => {
    const data = {
      ...{ type: 'object', required: ['event', 'list'], description: 'The result' },
      properties: {
        event: ref('schemas', 'Event'),
        list: { type: 'array', items: ref('schemas', 'Event'), description: 'Several' },
        own: { ...ref('schemas', 'Event'), description: 'Of its own' },
        either: { anyOf: [ref('schemas', 'Event'), { type: 'null' }, { type: 'null' }] },
        loss: { type: ['string', 'null'], pattern: '^-?\\d+$' },
        text: { type: 'string', pattern: '^a$' },
      },
    }
    expect(rows({ type: 'object', required: ['data'], properties: { data } })).toEqual([
      '| `data` object | The result |',
      '| `data.event` object | An event |',
      '| `data.event.id` integer | Its id |',
      '| `data.event.pair` string, optional | A \\| B C |',
      '| `data.list` array | Several |',
      '| `data.list[].id` integer | Its id |',
      '| `data.list[].pair` string, optional | A \\| B C |',
      '| `data.own` object, optional | Of its own |',
      '| `data.own.id` integer | Its id |',
      '| `data.own.pair` string, optional | A \\| B C |',
      '| `data.either` object or null, optional |  |',
      '| `data.either.id` integer | Its id |',
      '| `data.either.pair` string, optional | A \\| B C |',
      '| `data.loss` decimal string or null, optional |  |',
      '| `data.text` string, optional |  |',
    ])
  })

  test('are shown six deep', () => {
    const names = rows(nested(8)).map((row) => row.split('`')[1])
    expect(names).toEqual(['in', 'in.in', 'in.in.in', 'in.in.in.in', 'in.in.in.in.in', 'in.in.in.in.in.in'])
  })
})

test('examples are JSON with line breaks, or text as it is', () => {
  const content = { 'application/json': { schema: ref('schemas', 'Event'), example: { id: 1 } } }
  const stream = { 'text/event-stream': { example: 'id: 1\n\n' }, 'application/json': {} }
  const markdown = page({
    requestBody: { description: 'At most 1 byte', content },
    responses: { 200: { content: stream }, 404: { content } },
  })
  expect(rowsOf(markdown, 'Body')).toEqual(['| `id` integer | Its id |', '| `pair` string, optional | A \\| B C |'])
  expect(markdown).toContain('\n## Example of a body\n\n```json\n{\n  "id": 1\n}\n```\n')
  expect(markdown).toContain('\n## Example of a response\n\n```text\nid: 1\n\n\n```\n')
  expect(markdown.match(/```json/g)).toHaveLength(1)
})

test('a table may have one row', () => {
  const markdown = page({ responses: { 200: {}, 409: ref('responses', 'conflict') } })
  expect(markdown).toContain('\n## Errors\n\n| status | meaning |\n| --- | --- |\n| 409 | Not now |\n')
})

test('errors have their status and their meaning, and a 304 is none', () => {
  const markdown = page({
    responses: { 200: {}, 304: { content: {} }, 400: { content: {} }, 409: ref('responses', 'conflict') },
  })
  expect(rowsOf(markdown, 'Errors')).toEqual(['| 400 |  |', '| 409 | Not now |'])
})
