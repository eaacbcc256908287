import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { openApp } from '../support/app.ts'
import { document, operations } from '../support/openapi.ts'

// No node and no database is in reach: the description, the builders and every refusal need neither.
let api: Awaited<ReturnType<typeof openApp>>
beforeAll(async () => {
  api = await openApp({})
})
afterAll(() => api.close())

const send = async ({ method, url, body }: Pick<(typeof operations)[number], 'method' | 'url' | 'body'>) => {
  const { statusCode, payload } = await api.app.inject({
    method,
    url,
    ...(body === undefined ? {} : { payload: body as object }),
  })
  return { status: statusCode, body: JSON.parse(payload) }
}

const example = ({ responses }: (typeof operations)[number], status: number): unknown =>
  responses[status]?.content['application/json']?.example

/** The ways to authenticate that some operation asks for. */
const asked = new Set(operations.flatMap(({ security = [] }) => security.flatMap((it) => Object.keys(it))))

describe('the OpenAPI document', () => {
  test('names each operation once', () => {
    const ids = operations.map(({ operationId }) => operationId)
    expect(new Set(ids).size).toBe(ids.length)
    for (const id of ids) expect(id).toMatch(/^[a-z][A-Za-z0-9]+$/)
    expect(ids).toEqual(expect.arrayContaining(['getChains', 'getHedgeEventsStatsById', 'buildCreateEvent']))
  })

  test('declares the three ways to authenticate, and does not require the reserved one', () => {
    const { securitySchemes } = document.components
    expect(securitySchemes).toMatchObject({
      bearer: { type: 'http', scheme: 'bearer' },
      adminToken: { type: 'apiKey', in: 'header', name: 'x-admin-token' },
      integratorKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
    })
    expect([...asked].sort()).toEqual(['bearer', 'integratorKey'])
  })

  test('names the version of the specification and the release', () => {
    const { version } = z.object({ version: z.string() }).parse(JSON.parse(readFileSync('package.json', 'utf8')))
    expect(document.info).toEqual({ version: '1.0.0', 'x-release': version })
  })

  test('describes every parameter and, with an example, each required one', () => {
    const parameters = operations.flatMap((it) => it.parameters.map((parameter) => ({ ...parameter, path: it.path })))
    expect(parameters.filter(({ description }) => description.length < 10)).toEqual([])
    expect(parameters.filter(({ required, example }) => required && example === undefined)).toEqual([])
  })

  test('lists the values of each parameter that takes several fixed ones, as its error does', async () => {
    const several = operations.flatMap(({ method, url, parameters = [], body }) =>
      parameters.flatMap(({ name, schema }) =>
        ['include', 'types'].includes(name) ? [{ method, url, name, schema, body }] : [],
      ),
    )
    expect(several.map(({ name }) => name)).toContain('types')
    for (const { method, url, name, schema, body } of several) {
      const { 'x-items': items } = z.object({ 'x-items': z.object({ enum: z.array(z.string()) }) }).parse(schema)
      const refused = await send({ method, url: `${url.split('?')[0]}?${name}=unheard`, body })
      const message = `expected one of ${items.enum.join(', ')}`
      expect([url, refused.status, refused.body.error.details]).toEqual([url, 400, [{ path: name, message }]])
    }
  })

  test('states each status as a number and as one of the listed texts', () => {
    const schemas = z
      .record(z.string(), z.looseObject({ properties: z.record(z.string(), z.looseObject({})).optional() }))
      .parse(document.components.schemas)
    const numeric = Object.entries(schemas).filter(([, { properties }]) => properties?.status?.type === 'integer')
    expect(numeric.map(([name]) => name).sort()).toEqual(['Event', 'EventRow', 'Position', 'PositionRow', 'Proposal'])
    for (const [name, { properties, required }] of numeric) {
      expect([name, properties?.statusText?.enum]).toEqual([name, expect.arrayContaining(['unknown'])])
      expect([name, required]).toEqual([name, expect.arrayContaining(['statusText'])])
    }
  })

  test('links build, broadcast, transaction, record and claim, each to inputs that the next operation takes', () => {
    const linked = operations.flatMap(({ operationId, responses }) =>
      Object.values(responses[200]?.links ?? {}).map((link) => ({ from: operationId, ...link })),
    )
    for (const { operationId, parameters, requestBody } of linked) {
      const target = operations.find((it) => it.operationId === operationId)
      const required = target?.parameters.filter((it) => it.required).map(({ name }) => name) ?? []
      expect([operationId, Object.keys(parameters).sort()]).toEqual([operationId, required.sort()])
      expect(target?.body ?? {}).toMatchObject(
        Object.fromEntries(Object.keys(requestBody).map((name) => [name, expect.anything()])),
      )
    }
    const next = (from: string) => linked.filter((it) => it.from === from).map(({ operationId }) => operationId)
    expect(next('buildBuyProtection')).toEqual(['postTxBroadcast'])
    expect(next('planBuyProtection')).toEqual(['postTxBroadcast'])
    expect(next('postTxBroadcast')).toEqual(['getTransactionsByHash'])
    expect(next('getTransactionsByHash')).toContain('getHedgePositionsById')
    expect(next('getHedgePositionsById')).toEqual(['buildClaimPayout'])
  })

  test('contains no number that a JSON parser would round', () => {
    const Node = z.looseObject({ type: z.json().optional(), maximum: z.number().optional(), enum: z.json().optional() })
    const check = (node: unknown, path: string): void => {
      if (typeof node !== 'object' || node === null) return
      const { data } = Node.safeParse(node)
      if (data?.type === 'integer' && data.enum === undefined) {
        expect([path, data.maximum]).toEqual([path, expect.any(Number)])
        expect(data.maximum).toBeLessThanOrEqual(Number.MAX_SAFE_INTEGER)
      }
      // The specification has plain numbers in pricing alone, whose terms a plan takes as well.
      if (data?.type === 'number')
        expect(path).toMatch(/pricing|Pricing|QuoteRequest|Backtest|create-event.*properties\/quote/)
      for (const [name, child] of Object.entries(node)) check(child, `${path}/${name}`)
    }
    check(document, '')
    const { notional } = z
      .object({ properties: z.record(z.string(), z.json()) })
      .parse(
        operations.find(({ operationId }) => operationId === 'buildBuyProtection')?.requestBody?.content[
          'application/json'
        ].schema,
      ).properties
    expect(notional).toMatchObject({ type: 'string', pattern: '^\\d+$', maxLength: 78 })
  })
})

describe('an OpenAPI example', () => {
  test('exists for each success and each error', () => {
    for (const { operationId, responses } of operations) {
      expect([operationId, Object.keys(responses)]).toEqual([
        operationId,
        expect.arrayContaining(['200', '429', '500']),
      ])
      for (const [status, { content }] of Object.entries(responses)) {
        expect([operationId, status, ...Object.values(content).map((it) => it?.example)]).not.toContain(undefined)
      }
    }
  })

  const plans = operations.filter(({ path }) => path.startsWith('/v1/plans/'))

  test.each(plans)('of $operationId is a plan of its example body', (operation) => {
    const Shown = z.object({ data: z.looseObject({ steps: z.array(z.looseObject({ transaction: z.json() })) }) })
    const { data } = Shown.parse(example(operation, 200))
    const { chainId, from, ...body } = z.record(z.string(), z.json()).parse(operation.body)
    expect(data).toMatchObject({ action: operation.path.split('/').at(-1), chainId, from, executable: true })
    const text = JSON.stringify(data.steps)
    for (const [name, value] of Object.entries(body))
      if (name !== 'quote') expect(text).toContain(typeof value === 'boolean' ? `"${name}":${value}` : String(value))
    expect(text).not.toContain('"estimatedGas":null')
    expect(plans.filter((it) => it.description === operation.description)).toHaveLength(1)
  })

  // Portfolios and webhooks take a list of chains, whose errors have another path.
  const ofChains = ['/v1/wallets/portfolio', '/v1/webhooks']
  test.each(operations.filter(({ path, responses, body }) => responses[400] && !(body && ofChains.includes(path))))(
    'of a request that $operationId rejects equals the answer of the API',
    async (operation) => {
      const { method, url, body } = operation
      const refused =
        body === undefined
          ? { method, body, url: url.includes('8453') ? url.replace('8453', '1') : `${url}?chainId=1` }
          : { method, url, body: { ...z.record(z.string(), z.json()).parse(body), chainId: 1 } }
      expect(await send(refused)).toEqual({ status: 400, body: example(operation, 400) })
    },
  )

  test.each(operations.filter(({ body }) => body !== undefined))(
    'of a body that $operationId cannot read equals the answer of the API',
    async (operation) => {
      const post = async (payload: string, type: string) => {
        const headers = { 'content-type': type }
        const { statusCode, body } = await api.app.inject({ method: 'POST', url: operation.url, headers, payload })
        return [statusCode, JSON.parse(body)]
      }
      expect(await post('a=1', 'text/plain')).toEqual([415, example(operation, 415)])
      expect(await post('1'.repeat(1_048_577), 'application/json')).toEqual([413, example(operation, 413)])
    },
  )
})
