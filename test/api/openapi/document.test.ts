import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { annotate } from '../../../src/api/openapi/annotate.ts'
import { createDocument } from '../../../src/api/openapi/document.ts'
import { bodyTooLarge, failures } from '../../../src/api/openapi/failures.ts'
import type { JsonSchema } from '../../../src/api/openapi/json-schema.ts'
import { linksOf, linkTargets } from '../../../src/api/openapi/links.ts'
import { operationId } from '../../../src/api/openapi/operation-id.ts'
import { errorResponse, failuresOf } from '../../../src/api/openapi/responses.ts'
import type { Route } from '../../../src/api/openapi/route.ts'
import { createSchemas } from '../../../src/api/openapi/schemas.ts'
import { envelope, type Operation, route } from '../../../src/api/operation.ts'
import { BodyChainId, OfChain, PathChainId } from '../../../src/protocol/chains.ts'

/* How routes and their schemas become a description, and which mistakes of a route are errors. */

const routeOf = (id: string, own: Partial<Operation> = {}, rest: Partial<Route> = {}): Route => {
  const operation = { id, tag: 'Service', summary: 'One', description: 'One.', ...own }
  const schema = route(operation, envelope(z.boolean())).schema
  return { method: 'GET', url: `/v1/${id}`, operation, schema, bodyLimit: 65_536, ...rest }
}

describe('a description', () => {
  test.each<[string, readonly Route[]]>([
    ['no recorded example of getNothing: run npm run examples', [routeOf('getNothing')]],
    ['two operations have the id getChains', [routeOf('getChains'), routeOf('getChains')]],
    [
      'two responses named event_does_not_exist',
      [
        routeOf('getChains', { missing: () => 'event 7 does not exist on chain 8453' }),
        routeOf('getStatus', { missing: () => 'event 8 does not exist on chain 8453' }),
      ],
    ],
    ['links lead to no operation: postTxBroadcast, ', [routeOf('getChains')]],
  ])('is refused: %s', (message, routes) => {
    expect(() => createDocument(routes, [])).toThrow(message)
  })

  const targets = [...new Set(linkTargets)].map((id) => routeOf(id))
  const others = Object.fromEntries(targets.map(({ operation }) => [operation.id, { response: {} }]))
  /** The description of an operation, next to those that links lead to. */
  const documentWith = (given: readonly Route[], recorded: object, chainIds: readonly number[] = []) =>
    createDocument([...targets, ...given], chainIds as never, { ...others, ...recorded })
  const describedAs = (given: Route, recorded: object, chainIds: readonly number[] = []) => {
    const { paths } = documentWith([given], { getThing: recorded }, chainIds)
    return Object(Object(paths)[given.url.replace(/:(\w+)/g, '{$1}')])[given.method.toLowerCase()]
  }
  const schemaOf = (own: object) => ({ ...routeOf('x').schema, ...own })

  test('of a parameter has its place, its example, and whether it is required', () => {
    const params = z.object({ chainId: PathChainId, id: z.string().meta({ description: 'Its id' }) })
    const querystring = z.object({
      limit: z.int().meta({ description: 'Most' }),
      open: z.boolean().optional().meta({ description: 'Open' }),
      order: z.string().optional().meta({ description: 'Order' }),
    })
    const given = routeOf('getThing', {}, { url: '/v1/things/:chainId/:id', schema: schemaOf({ params, querystring }) })
    const { parameters } = describedAs(given, { path: { chainId: 1, id: 'a' }, query: { limit: 0, open: false } }, [56])
    expect(parameters).toEqual([
      {
        name: 'chainId',
        in: 'path',
        required: true,
        description: expect.any(String),
        example: 56,
        schema: { type: 'integer', enum: [56] },
      },
      { name: 'id', in: 'path', required: true, description: 'Its id', example: 'a', schema: { type: 'string' } },
      {
        name: 'limit',
        in: 'query',
        required: true,
        description: 'Most',
        example: 0,
        schema: expect.objectContaining({ type: 'integer' }),
      },
      { name: 'open', in: 'query', required: false, description: 'Open', example: false, schema: { type: 'boolean' } },
      { name: 'order', in: 'query', required: false, description: 'Order', schema: { type: 'string' } },
    ])
  })

  test('of a response may gain fields, and a body has only its own', () => {
    const closed = z.strictObject({ symbol: z.string() })
    const response = { ...routeOf('x').schema.response, 200: envelope(closed) }
    const given = routeOf('getThing', {}, { method: 'POST', schema: schemaOf({ body: closed, response }) })
    const { requestBody, responses } = describedAs(
      given,
      { body: { symbol: 'A' }, response: { data: { chainId: 1 } } },
      [56],
    )
    expect(requestBody.description).toBe('At most 65536 bytes')
    const [sent, received] = [requestBody, responses[200]].map(({ content }) => content['application/json'])
    expect(sent).toMatchObject({ schema: { additionalProperties: false }, example: { symbol: 'A' } })
    expect(received.schema.properties.data).not.toHaveProperty('additionalProperties')
    expect(received.example).toEqual({ data: { chainId: 56 } })
  })

  test('of an operation has its headers, links and security, where it has any', () => {
    const bare = describedAs(routeOf('getThing'), { response: {} })
    const { headers: plain, links: none } = bare.responses[200]
    expect([Object.keys(plain), none, bare.security, bare.responses[304]]).toEqual([
      ...[['X-Request-Id'], undefined],
      ...[undefined, undefined],
    ])
    const builder = routeOf('buildThing', { headers: ['Vary', 'ETag'], bearer: true })
    const { paths } = documentWith([builder], { buildThing: { response: {} } })
    const { security, responses } = Object(paths)['/v1/buildThing'].get
    expect(security).toEqual([{ bearer: [] }])
    expect(Object.keys(responses[200].headers)).toEqual(['X-Request-Id', 'Vary', 'ETag'])
    expect(responses[200].links.broadcast.operationId).toBe('postTxBroadcast')
    expect(Object.keys(responses)).toEqual(['200', '304', '401', '429', '500', '503'])
    const varying = describedAs(routeOf('getThing', { headers: ['Vary'] }), { response: {} })
    expect(varying.responses).not.toHaveProperty('304')
  })

  test('of a stream has its text', () => {
    const { content } = describedAs(routeOf('getThing'), { stream: 'id: 1' }).responses[200]
    expect(content).toEqual({
      'text/event-stream': { schema: expect.objectContaining({ type: 'string' }), example: 'id: 1' },
    })
    expect(Object.keys(describedAs(routeOf('getThing'), { response: {} }).responses[200].content)).toEqual([
      'application/json',
    ])
  })

  test('has all methods of a path, ids that follow from it, and the tags in use', () => {
    const { id: _, ...unnamed } = routeOf('x').operation
    const url = '/v1/thing/:chainId/:id'
    const both = ['GET', 'POST'].map((method) => routeOf('x', {}, { method, url, operation: unnamed }))
    const { paths, tags, security } = documentWith(both, { getThingById: {}, postThingById: {} })
    const { get, post } = Object(paths)['/v1/thing/{chainId}/{id}']
    expect([get.operationId, post.operationId]).toEqual(['getThingById', 'postThingById'])
    expect([tags.map(({ name }) => name), security]).toEqual([
      ['Service'],
      [{}, { adminToken: [] }, { integratorKey: [] }],
    ])
  })

  test('needs no link for an operation that leads nowhere', () => {
    expect(linksOf('getChains')).toBeUndefined()
    expect(linksOf('planner')).toBeUndefined()
    expect(linksOf('buildDeposit')).toBe(linksOf('planDeposit'))
  })
})

test.each([
  ['GET', '/v1/hedge/events/:chainId/:id/stats', 'getHedgeEventsStatsById'],
  ['POST', '/v1/tx/broadcast', 'postTxBroadcast'],
  ['GET', '/livez', 'getLivez'],
  ['GET', '/', 'get'],
  ['GET', '/v1/hedge/quote-payout/:chainId/:id', 'getHedgeQuotePayoutById'],
  ['GET', '/v1/wallets/:addr/portfolio', 'getWalletsPortfolioByAddr'],
])('the id of %s %s is %s', (method, url, id) => expect(operationId(method, url)).toBe(id))

describe('the errors of a route', () => {
  const body = z.strictObject({ eventId: z.int() })
  const always = ['429', '500', '503']
  const statusesOf = (given: Route) => failuresOf(given, {}).map(([status]) => status)
  const withSchema = (schema: object, rest: Partial<Route> = {}, own: Partial<Operation> = {}) =>
    routeOf('getChains', own, { schema: { ...routeOf('x').schema, ...schema }, ...rest })

  test.each<[string, readonly string[], Route]>([
    ['input that is not described', always, routeOf('getChains')],
    ['an empty query', ['400', ...always], withSchema({ querystring: z.object({}) })],
    ['a query', ['400', ...always], withSchema({ querystring: z.object({ limit: z.string() }) })],
    ['a path', ['400', ...always], withSchema({ params: z.object({ id: z.string() }) })],
    ['a body', ['400', '413', '415', ...always], withSchema({ body })],
    ['a token', ['401', ...always], withSchema({}, {}, { bearer: true })],
    [
      'an error of its own',
      [...always.slice(0, 2), '502', '503'],
      withSchema({}, {}, { failures: ['upstream_error'] }),
    ],
    ['something that may not exist', ['404', ...always], withSchema({}, {}, { missing: () => 'no such thing' })],
  ])('with %s are %j', (_, statuses, given) => expect(statusesOf(given)).toEqual(statuses))

  const named = (given: Route, keys = {}) =>
    Object.fromEntries(failuresOf(given, keys).map(([status, [name, failure]]) => [status, [name, failure]]))

  test('differ with input and without', () => {
    expect(named(withSchema({ querystring: z.object({}) }))[400]?.[0]).toBe('unknown_parameter')
    expect(named(withSchema({ params: z.object({}), querystring: z.object({ a: z.string() }) }))[400]?.[0]).toBe(
      'validation_error',
    )
  })

  test('name the limit of the body, if the route has one of its own', () => {
    expect(named(withSchema({ body }))[413]).toEqual(['body_too_large', bodyTooLarge(65_536)])
    expect(named(withSchema({ body }, { bodyLimit: 9 }))[413]).toEqual(['body_larger_than_9', bodyTooLarge(9)])
    expect(named(withSchema({}, { bodyLimit: 9 }))[413]).toBeUndefined()
  })

  test('are named by the message without its values', () => {
    const missing = ({ id }: Readonly<Record<string, string>>) => `event ${id} of 0xAb does not exist on chain 8453`
    const [name, failure] = named(withSchema({}, {}, { missing }), { id: '7' })[404] ?? []
    expect(name).toBe('event_of_does_not_exist')
    expect(failure).toMatchObject({ status: 404, example: { error: { message: missing({ id: '7' }) } } })
  })

  test.each([
    [429, true],
    [503, true],
    [500, false],
    [400, false],
  ])('with the status %i have the time to wait: %s', (status, hasTime) => {
    const { headers } = errorResponse({ ...failures.internal_error, status }, {})
    const names = ['X-Request-Id', 'Link']
    expect(Object.keys(headers)).toEqual(hasTime ? ['Retry-After', ...names] : names)
  })
})

describe('a schema', () => {
  const properties = (schema: z.ZodObject, io: 'input' | 'output' = 'output', chainIds: readonly number[] = []) => {
    const { convert, components } = createSchemas(chainIds as never)
    const converted = convert(schema, io, 'events')
    return { ...converted, components }
  }

  test('that may be null has both types, and null among its values', () => {
    const { properties: found } = properties(
      z.object({
        symbol: z.string().nullable(),
        state: z.enum(['open', 'closed']).nullable(),
        strike: z.union([z.string(), z.int()]),
        decimals: z.int().min(0).max(255).nullable().meta({ description: 'Decimals' }),
      }),
    )
    expect(found?.symbol).toEqual({ type: ['string', 'null'], description: expect.any(String) })
    expect(found?.state).toMatchObject({ type: ['string', 'null'], enum: ['open', 'closed', null] })
    expect(found?.strike).toMatchObject({ anyOf: [{ type: 'string' }, { type: 'integer' }] })
    expect(found?.decimals).toMatchObject({ type: ['integer', 'null'], minimum: 0, maximum: 255 })
    for (const name of ['symbol', 'state', 'decimals']) expect(found?.[name]).not.toHaveProperty('anyOf')
  })

  test('that states its type has no alternatives', () => {
    const either = z.union([z.string(), z.int()])
    const { properties: found } = properties(
      z.object({ strike: either.meta({ type: 'string' }), state: either.meta({ enum: ['0', 1] }) }),
    )
    expect(found?.strike).toEqual({ type: 'string', description: expect.any(String) })
    expect(found?.state).toEqual({ enum: ['0', 1], description: expect.any(String) })
  })

  test('of a response may gain fields, and a body has only its own', () => {
    const closed = z.strictObject({ id: z.int() })
    expect(properties(closed, 'output')).not.toHaveProperty('additionalProperties')
    expect(properties(closed, 'input')).toMatchObject({ additionalProperties: false })
    expect(properties(z.looseObject({ id: z.int() }))).toMatchObject({ additionalProperties: true })
    expect(properties(z.object({ args: z.record(z.string(), z.int()) })).properties?.args).toMatchObject({
      additionalProperties: { type: 'integer' },
    })
  })

  test('of a chain id lists the configured ids, and is a range without any', () => {
    const Chained = z.object({ chainId: OfChain, id: z.int().min(1).max(9) })
    expect(properties(Chained, 'output', [56, 8453]).properties?.chainId).toEqual({
      ...{ type: 'integer', enum: [56, 8453], description: expect.any(String) },
    })
    expect(properties(Chained, 'output', [56]).properties?.id).toMatchObject({ minimum: 1, maximum: 9 })
    expect(properties(Chained).properties?.chainId).toMatchObject({ minimum: 1, maximum: 2_147_483_647 })
    expect(properties(z.object({ chainId: BodyChainId }), 'input', [56]).properties?.chainId).toMatchObject({
      enum: [56],
    })
  })

  test('with an id is a component, of one content', () => {
    const Part = z.object({ symbol: z.string() }).meta({ id: 'DocumentTestPart', description: 'A part' })
    const { properties: found, components } = properties(z.object({ event: Part, name: z.string() }))
    expect(found?.event).toMatchObject({ $ref: '#/components/schemas/DocumentTestPart' })
    expect(components.DocumentTestPart).toMatchObject({ description: 'A part', properties: { symbol: {} } })

    const { convert } = createSchemas()
    const once = () => convert(z.object({ event: Part }), 'output')
    once()
    expect(once).not.toThrow()
    const Bare = z.object({ symbol: z.string() }).meta({ id: 'DocumentTestBare' })
    expect(() => convert(z.object({ event: Bare }), 'output')).toThrow('no description of DocumentTestBare')
    // Responses may gain fields, so that both sides of one schema differ.
    const Closed = z.strictObject({ symbol: z.string() }).meta({ id: 'DocumentTestClosed', description: 'Closed' })
    convert(z.object({ event: Closed }), 'output')
    expect(() => convert(z.object({ event: Closed }), 'input')).toThrow('two schemas have the id DocumentTestClosed')
  })

  test('has no example of its own', () => {
    expect(properties(z.object({ symbol: z.string().meta({ example: 'x' }) })).properties?.symbol).not.toHaveProperty(
      'example',
    )
  })
})

describe('an example', () => {
  const recorded = {
    path: { chainId: 1 },
    query: { chainId: '1' },
    body: { chainId: 8453, id: 1 },
    response: { data: [{ chainId: 1 }, { chainId: '0x1' }, { chainId: '0x2105' }, { chainId: '8453' }] },
  }

  test('has the first configured chain in place of others, in each spelling', () => {
    expect(createSchemas([56, 8453] as never).ofChains(recorded)).toEqual({
      ...{ path: { chainId: 56 }, query: { chainId: '56' }, body: { chainId: 8453, id: 1 } },
      response: { data: [{ chainId: 56 }, { chainId: '0x38' }, { chainId: '0x2105' }, { chainId: '8453' }] },
    })
  })

  test('is as recorded when no chain is configured', () => {
    expect(createSchemas().ofChains(recorded)).toBe(recorded)
    expect(createSchemas([56] as never).ofChains(undefined)).toBeUndefined()
  })
})

describe('the description of a field', () => {
  const described = (schema: JsonSchema, owner: string) => {
    annotate(schema, owner)
    return schema
  }

  test('is its own, or the meaning of its name, which its owner may change', () => {
    expect(described({ properties: { number: {}, symbol: { description: 'Own' } } }, 'block')).toEqual({
      properties: { number: { description: 'Block number' }, symbol: { description: 'Own' } },
    })
    const id = (owner: string) => Object(described({ properties: { id: {} } }, owner)).properties.id.description
    expect(id('events')).toBe('Id of the event, counted per chain')
    expect(id('other')).toBe('Id of the record, assigned by the protocol, counted per chain and kind')
  })

  test('has its unit after the first words, and its meaning alone without one', () => {
    const of = (name: string, description: string) =>
      Object(described({ properties: { [name]: { description } } }, 'any')).properties[name].description
    expect(of('premiumRate', '1e6 fixed point')).toBe('Premium as a fraction of the notional, in 1e6 fixed point')
    expect(of('settledAt', 'Unix seconds; 0 until settled')).toBe(
      'When the event was settled, in Unix seconds; 0 until then',
    )
    expect(of('id', 'Id, per chain and kind')).toBe(
      'Id of the record, assigned by the protocol, counted per chain and kind',
    )
    expect(of('unheard', 'Wei')).toBe('Wei')
  })

  test('is missing: an error that names the field, also within lists, maps and alternatives', () => {
    const unheard = { properties: { unheard: {} } }
    for (const schema of [
      unheard,
      { items: unheard },
      { items: [unheard] },
      { additionalProperties: unheard },
      { anyOf: [{ type: 'null' }, unheard] },
      { oneOf: [unheard] },
    ])
      expect(() => annotate(schema as never, 'owner')).toThrow('no description of owner.unheard')
    expect(() => annotate({ properties: { symbol: unheard } } as never, 'owner')).toThrow(
      'no description of symbol.unheard',
    )
    expect(described({ properties: { unheard: true } }, 'owner')).toEqual({ properties: { unheard: true } })
  })

  test('of a named schema is that of the schema, unless its place has one', () => {
    const $ref = '#/components/schemas/Any'
    const properties = { unheard: { $ref }, data: { $ref }, meta: { $ref }, symbol: { $ref } }
    expect(described({ properties }, 'owner')).toMatchObject({
      properties: { unheard: { $ref }, data: { $ref }, symbol: { $ref, description: expect.any(String) } },
    })
    expect([properties.unheard, properties.data, properties.meta]).toEqual([{ $ref }, { $ref }, { $ref }])
  })
})
