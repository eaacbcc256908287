import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { envelope, listingEnvelope, pagedEnvelope, readEnvelope, route } from '../../src/api/operation.ts'
import { serializerCompiler, validatorCompiler } from '../../src/api/schema.ts'
import { ServiceError } from '../../src/lib/errors.ts'
import { ErrorBody } from '../../src/lib/http/problem.ts'
import { hints } from '../../src/protocol/fields/request-fields.ts'

/* How parts of a request are parsed, and how responses become texts. */

const parse = (httpPart: string, schema: z.ZodType, value: unknown): { readonly value?: unknown; error?: unknown } =>
  Object(validatorCompiler({ schema, httpPart, method: 'GET', url: '/' })(value))

/** The faults of a part: path and message of each. */
const faultsOf = (httpPart: string, schema: z.ZodType, value: unknown): (readonly string[])[] => {
  const { error } = parse(httpPart, schema, value)
  if (!(error instanceof ServiceError)) throw new Error('expected a refusal')
  expect(error.code).toBe('validation_error')
  return (error.details ?? []).map(({ path, message }) => [path, message])
}

const Limit = z.string().regex(/^\d+$/, { error: 'expected digits' }).transform(Number).optional()
const Query = z.object({ limit: Limit, cursor: z.string().optional(), chainId: Limit })

describe('a query', () => {
  const refused = (query: object, schema: z.ZodType = Query) => faultsOf('querystring', schema, query)

  test('has its decoded values, without ignored names', () => {
    expect(parse('querystring', Query, { limit: '7', _: ['1', '2'], _a: 'x' })).toEqual({ value: { limit: 7 } })
    expect(parse('querystring', Query, {})).toEqual({ value: {} })
    expect(parse('querystring', Query, null)).toEqual({ value: {} })
  })

  test('has each known name once, and no unknown one', () => {
    expect(refused({ limit: ['7', '7', '8'], limt: '1', sort: 'a', other: 'b' })).toEqual([
      ['limit', 'expected once, got 3 times'],
      ['limt', "unknown parameter 'limt'; did you mean 'limit'?"],
      ['sort', "unknown parameter 'sort'"],
      ['other', "unknown parameter 'other'"],
    ])
    expect(refused({ twice: ['1', '2'] })).toEqual([['twice', "unknown parameter 'twice'"]])
  })

  test('names what an unknown parameter is instead, where the route has a hint', () => {
    const Hinted = z.object({ limit: Limit })
    hints.add(Hinted, { limt: 'POST it' })
    expect(refused({ limt: '1', limi: '1' }, Hinted)).toEqual([
      ['limt', "unknown parameter 'limt'; POST it"],
      ['limi', "unknown parameter 'limi'; did you mean 'limit'?"],
    ])
  })

  test('has faults of values after those of names, each name once', () => {
    expect(refused({ limit: ['a'], chainId: 'x', cursr: '1' })).toEqual([
      ['limit', 'expected once, got 1 times'],
      ['cursr', "unknown parameter 'cursr'; did you mean 'cursor'?"],
      ['chainId', 'expected digits'],
    ])
    expect(refused({ chainId: 'x' })).toEqual([['chainId', 'expected digits']])
  })

  test('shows 64 characters of a name', () => {
    const [whole, longer] = ['x'.repeat(64), 'x'.repeat(65)]
    const messageOf = (name: string) => refused({ [name]: '1' })[0]?.[1]
    expect([messageOf(whole), messageOf(longer)]).toEqual([
      `unknown parameter '${whole}'`,
      `unknown parameter '${whole}…'`,
    ])
  })

  test.each([
    [19, 1, 20],
    [19, 2, 20],
    [20, 0, 20],
    [20, 1, 20],
    [21, 0, 20],
  ])('with %i unknown names and %i wrong values names %i faults', (unknown, wrong, shown) => {
    const names = Array.from({ length: unknown }, (_, at) => [`zz${at}zz`, '1'])
    const values = ['limit', 'chainId'].slice(0, wrong).map((name) => [name, 'x'])
    expect(refused(Object.fromEntries([...names, ...values]))).toHaveLength(shown)
  })
})

describe('a body', () => {
  const Item = z.strictObject({ notional: z.string(), chainId: z.int() })
  const Body = z.strictObject({
    eventId: z.int(),
    items: z.array(Item).optional(),
    event: z.strictObject({ strike: z.string() }).optional(),
    piped: z
      .string()
      .transform((text) => JSON.parse(text))
      .pipe(z.strictObject({ cursor: z.string() }))
      .optional(),
  })

  test('names unknown fields by their path, with the field of the same place that may be meant', () => {
    const body = {
      eventId: 1,
      amount: 1,
      items: [{ notional: '1', chainId: 1, amount: 1 }],
      event: { strike: '1', strik: 1 },
    }
    expect(faultsOf('body', Body, body)).toEqual(
      expect.arrayContaining([
        ['amount', 'unknown field'],
        ['items.0.amount', "unknown field; did you mean 'notional'?"],
        ['event.strik', "unknown field; did you mean 'strike'?"],
      ]),
    )
    expect(faultsOf('body', Body, { eventID: 1 })).toContainEqual(['eventID', "unknown field; did you mean 'eventId'?"])
    expect(faultsOf('body', Body, { eventId: 1, piped: '{"cursor":"1","curser":1}' })).toEqual([
      ['piped.curser', "unknown field; did you mean 'cursor'?"],
    ])
  })

  test('as a whole is a fault of the body, and other parts have names of their own', () => {
    expect(faultsOf('body', Body, null)).toEqual([['body', expect.stringMatching(/^is required/)]])
    expect(faultsOf('querystring', z.string(), 7)[0]?.[0]).toBe('query')
    expect(faultsOf('params', z.object({ id: Limit }), { id: 'x' })).toEqual([['id', 'expected digits']])
    // Only a query has each of its names once.
    expect(parse('params', Query, { other: '1' })).toEqual({ value: {} })
  })

  test('is decoded once', () => {
    expect(parse('body', Body, { eventId: 7 })).toEqual({ value: { eventId: 7 } })
  })
})

describe('a response', () => {
  const textOf = (schema: z.ZodType, value: unknown) =>
    serializerCompiler({ schema, method: 'GET', url: '/', httpStatus: '200' })(value)

  test('is written by its schema, whose parts have ids, and may have gained fields', () => {
    const Part = z.object({ a: z.string() }).meta({ id: 'SchemaTestPart' })
    expect(textOf(z.object({ one: Part, two: Part }), { one: { a: '1' }, two: { a: '2', more: 3 } })).toBe(
      '{"one":{"a":"1"},"two":{"a":"2"}}',
    )
    const Either = z.union([Part, z.object({ b: z.int() })])
    expect(textOf(z.object({ data: Either }), { data: { b: 1, more: 2 } })).toBe('{"data":{"b":1}}')
    expect(textOf(z.record(z.string(), z.int()), { x: 1, y: 2 })).toBe('{"x":1,"y":2}')
  })

  test('of one schema has one compiled serializer', () => {
    const schema = z.object({ a: z.string() })
    const compile = (it: z.ZodType) => serializerCompiler({ schema: it, method: 'GET', url: '/', httpStatus: '200' })
    expect(compile(schema)).toBe(compile(schema))
    expect(compile(schema)).not.toBe(compile(z.object({ a: z.string() })))
  })
})

describe('an envelope', () => {
  const Data = z.object({ a: z.string() })
  const data = { a: '1' }
  const page = { limit: 1, hasMore: false, nextCursor: null }

  test('of the same data is the same schema', () => {
    for (const wrap of [envelope, readEnvelope, pagedEnvelope, listingEnvelope]) {
      expect(wrap(Data)).toBe(wrap(Data))
      expect(wrap(Data)).not.toBe(wrap(z.object({ a: z.string() })))
    }
    expect(new Set([envelope, readEnvelope, pagedEnvelope, listingEnvelope].map((wrap) => wrap(Data))).size).toBe(4)
  })

  test.each([
    ['a single record', readEnvelope(Data), [undefined, { transaction: 'reverted' }], [{}, page]],
    ['a list of ids', pagedEnvelope(Data), [undefined, page, { ...page, transaction: 'reverted' }], [{}]],
    ['a page of rows', listingEnvelope(Data), [{ ...page, asOf: [] }], [undefined, page]],
  ])('of %s has its meta', (_, schema, valid, invalid) => {
    for (const meta of valid) expect([meta, schema.safeParse({ data, meta }).success]).toEqual([meta, true])
    for (const meta of invalid) expect([meta, schema.safeParse({ data, meta }).success]).toEqual([meta, false])
  })

  test('of a route is that of its success, and every error has the same body', () => {
    const operation = { tag: 'Service', summary: 'One', description: 'One.' }
    const success = envelope(Data)
    const { schema, config } = route(operation, success, { querystring: Query })
    expect(schema).toEqual({ querystring: Query, response: { 200: success, '4xx': ErrorBody, '5xx': ErrorBody } })
    expect(config).toEqual({ operation })
  })
})
