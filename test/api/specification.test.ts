import type { RouteOptions } from 'fastify'
import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { openApp } from '../support/app.ts'
import { mountedBy } from '../support/mounted.ts'
import { builders, builtTx, extensions, gets, type Kind, pages, posts } from '../vectors/specification.ts'

let api: Awaited<ReturnType<typeof openApp>> | undefined
const routes = await mountedBy(async () => {
  api = await openApp({})
})
afterAll(() => api?.close())

const templateOf = ({ url }: RouteOptions): string => url.replace(/:(\w+)/g, '{$1}')

const under = routes.filter(
  ({ url, method }) => url.startsWith('/v1/') && ['GET', 'POST', 'DELETE'].includes(String(method)),
)
const mounted = new Map(under.map((route) => [`${route.method} ${templateOf(route)}`, route]))

const routeAt = (key: string): RouteOptions => {
  const route = mounted.get(key)
  if (route === undefined) throw new Error(`${key} is not mounted`)
  return route
}

type Schema = z.core.JSONSchema.JSONSchema

const jsonSchema = (schema: unknown, io: 'input' | 'output'): Schema => {
  if (!(schema instanceof z.ZodType)) throw new TypeError('not a schema')
  // Parts in their place instead of references.
  return z.toJSONSchema(schema, { io, metadata: z.registry<z.core.GlobalMeta>(), unrepresentable: 'any' })
}

const isObject = (schema: Schema | boolean | undefined): schema is Schema => typeof schema === 'object'

const wordOf = ({ type, pattern = '' }: Schema): string => {
  if (type === 'integer') return 'uint'
  if (type !== 'string') return String(type)
  if (pattern.includes('{40}')) return 'address'
  if (pattern.startsWith('^0x')) return 'hex'
  return pattern === '^\\d+$' ? 'decimal' : 'string'
}

const objectOf = (schema: Schema, expected: Kind): { readonly [field: string]: Kind } => {
  const named = new Map<string, Kind>(typeof expected === 'string' ? [] : Object.entries(expected))
  const open = named.has('...')
  const fields = Object.entries(schema.properties ?? {}).flatMap(([name, field]): [string, Kind][] => {
    const key = schema.required?.includes(name) ? name : `${name}?`
    if (!isObject(field) || (open && !named.has(key))) return []
    return [[key, kindOf(field, named.get(key) ?? '')]]
  })
  return { ...Object.fromEntries(fields), ...(open && { '...': '' }) }
}

/** The alternatives of a schema, one type each. */
const choicesOf = (schema: Schema): Schema[] => {
  if (schema.anyOf !== undefined) return schema.anyOf.filter(isObject)
  return Array.isArray(schema.type) ? schema.type.map((type) => ({ ...schema, type })) : [schema]
}

/**
 * Translates a response's schema to the notation of the specification's list. `expected` names the fields of an open
 * object that matter.
 */
const kindOf = (schema: Schema, expected: Kind): Kind => {
  const choices = choicesOf(schema)
  const values = choices.filter(({ type }) => type !== 'null')
  const nullable = values.length < choices.length
  const [value = {}] = values
  // The supported chains are a choice of numbers.
  if (values.every((one) => Number.isInteger(one.const))) return 'uint'
  if (value.type === 'array') {
    const items = [value.items].flat().find(isObject) ?? {}
    return [kindOf(items, Array.isArray(expected) ? expected[0] : '')]
  }
  if (value.type === 'object') return { ...objectOf(value, expected), ...(nullable && { '?': '' }) }
  return nullable ? `${wordOf(value)}?` : wordOf(value)
}

const payloadOf = (route: RouteOptions, expected: Kind): Kind => {
  const responses = z.object({ 200: z.unknown() }).parse(route.schema?.response)
  const data = jsonSchema(responses[200], 'output').properties?.data
  return kindOf(typeof data === 'object' ? data : {}, expected)
}

/** The names of a request part's fields, a question mark at the end of an optional one. */
const fieldsOf = (schema: unknown): string[] => {
  const { properties = {}, required = [] } = jsonSchema(schema, 'input')
  return Object.keys(properties).map((name) => (required.includes(name) ? name : `${name}?`))
}

describe('/v1 has', () => {
  test('exactly the routes of the specification and the extensions', () => {
    const expected = [
      ...Object.keys(gets).map((path) => `GET /v1${path}`),
      ...Object.keys({ ...posts, ...builders }).map((path) => `POST /v1${path}`),
      ...pages.map((path) => `GET /v1${path}`),
      ...extensions.map((route) => route.replace(' ', ' /v1')),
    ]
    // A page brings its own scripts and styles.
    const found = [...mounted.keys()].filter((key) => !key.startsWith('GET /v1/docs/'))
    expect(found.sort()).toEqual(expected.sort())
  })

  test('for each route but HEAD no other method', () => {
    const methods = routes.filter(({ url }) => url.startsWith('/v1/')).map(({ method }) => method)
    expect(new Set(methods)).toEqual(new Set(['GET', 'HEAD', 'POST', 'DELETE']))
  })
})

/** The additional parameters: paging, the moment of the past and consistency. */
const ofLists = ['limit?', 'cursor?', 'at?', 'minBlock?', 'afterTx?', 'waitMs?']

describe('a read has the parameters and the payload of the specification', () => {
  test.each(Object.entries(gets))('%s', (path, { query = [], data, added }) => {
    const route = routeAt(`GET /v1${path}`)
    expect(payloadOf(route, data)).toEqual(added === undefined ? data : { ...Object(data), ...added })
    const params = [...path.matchAll(/{(\w+)}/g)].map(([, name]) => name)
    if (params.length > 0) expect(fieldsOf(route.schema?.params)).toEqual(params)
    const inQuery = route.schema?.querystring === undefined ? [] : fieldsOf(route.schema.querystring)
    // A chain may always be left out, a quote's parameters never; lists may be asked for in pages.
    const expected = query.map((name) => (name === 'chainId' ? 'chainId?' : name))
    expect(inQuery.filter((name) => !ofLists.includes(name))).toEqual(expected)
  })
})

describe('a builder has the arguments of its function for a body', () => {
  test.each(Object.entries(builders))('%s', (path, signature) => {
    const route = routeAt(`POST /v1${path}`)
    expect(payloadOf(route, builtTx)).toEqual(builtTx)
    const [, list = ''] = /\((.*)\)$/.exec(signature.replace(/\((\(.*\)) params\)$/, '$1')) ?? []
    const names = list
      .replace(/\([^()]*\)/g, '')
      .split(',')
      .map((argument) => argument.trim().split(' ').at(-1) ?? '')
      .filter((name) => name !== '')
    const token = path === '/tx/erc20/approve' ? ['token'] : []
    expect(fieldsOf(route.schema?.body)).toEqual(['chainId', ...token, ...names, 'from?'])
  })
})

/** The additional fields of bodies. */
const extraFields = ['rejectIfReverts?']

describe('the other POSTs have the body and the payload of the specification', () => {
  test.each(Object.entries(posts))('%s', (path, { body, data }) => {
    const route = routeAt(`POST /v1${path}`)
    expect(fieldsOf(route.schema?.body).filter((name) => !extraFields.includes(name))).toEqual(body)
    expect(payloadOf(route, data)).toEqual(data)
  })
})
