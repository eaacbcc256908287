import { Socket } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import Fastify, { type FastifyRequest, type InjectOptions } from 'fastify'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { sendPart } from '../../src/api/mcp/parts.ts'
import { openApp } from '../support/app.ts'
import { operations } from '../support/openapi.ts'

/* `/mcp` without a node and a database: its messages, its limits, and what it refuses. */

const LIMIT = 50

let api: Awaited<ReturnType<typeof openApp>>
let limited: typeof api
beforeAll(async () => {
  api = await openApp({})
  limited = await openApp({ limits: { requestsPerMinute: LIMIT, trustedProxies: 1 } })
})
afterAll(async () => {
  await Promise.all([api?.close(), limited?.close()])
})

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

const post = (payload: NonNullable<InjectOptions['payload']>, headers: Record<string, string> = {}, to = api) =>
  to.app.inject({ method: 'POST', url: '/mcp', headers: { ...HEADERS, ...headers }, payload })

const messageOf = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params })
const callOf = (name: string, given: unknown = {}) => messageOf('tools/call', { name, arguments: given })

/** The JSON-RPC message of a response. */
const answerOf = ({ body }: { readonly body: string }) => JSON.parse(body)

/** The error that the result of a tool has. */
const toolErrorOf = (response: { readonly body: string }) => {
  const { isError, content } = answerOf(response).result
  const { error } = JSON.parse(content[0].text)
  expect(isError).toBe(true)
  const help = `Documentation: http://localhost:80/v1/docs/guide/errors.md#${error.code}`
  expect(content.at(-1).text.split('\n').at(-1)).toBe(help)
  return error
}

test('the tools are operations: names, texts and parameters are those of the description, without the format', async () => {
  const { tools } = answerOf(await post(messageOf('tools/list'))).result
  expect(tools.map(({ name }: { name: string }) => name)).toEqual([
    ...['getChains', 'getHedgeEventsById', 'getHedgeQuotePayoutById', 'getHedgeEvents', 'getActivity'],
    ...['getWalletsPortfolioByAddr', 'postPricingQuote', 'getTransactionsByHash'],
    ...operations.flatMap(({ operationId }) => (operationId.startsWith('plan') ? [operationId] : [])),
  ])
  for (const { name, title, description, inputSchema, annotations } of tools) {
    const operation = operations.find(({ operationId }) => operationId === name)
    expect([name, title]).toEqual([operation?.operationId, operation?.summary])
    expect(description).toBe(`${operation?.summary}. ${operation?.description}`)
    expect(annotations).toEqual({ title, readOnlyHint: true })
    expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false })
    // A schema that refers to a component would lead nowhere.
    expect(JSON.stringify(inputSchema)).not.toContain('$ref')
    const fields = Object.entries<{ description?: string }>(inputSchema.properties)
    for (const field of fields)
      expect(field).toEqual([expect.any(String), { ...field[1], description: expect.any(String) }])
    if (operation?.method !== 'GET') continue
    const parameters = operation.parameters.filter((it) => it.name !== 'format')
    expect(fields.map(([field]) => field)).toEqual(parameters.map((it) => it.name))
    expect(inputSchema.required).toEqual(parameters.flatMap((it) => (it.required ? [it.name] : [])))
  }
})

test.each(['legacy', 'auto'] as const)('the official client connects (%s), and reads every document', async (mode) => {
  const url =
    api.app.addresses().length > 0 ? api.app.listeningOrigin : await api.app.listen({ port: 0, host: '127.0.0.1' })
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', url)))
  expect(client.getNegotiatedProtocolVersion()).toBe(mode === 'auto' ? '2026-07-28' : '2025-11-25')
  expect(client.getServerCapabilities()).toEqual({ tools: {}, resources: {} })
  expect(client.getInstructions()).toContain('1e6 fixed point')
  const { resources } = await client.listResources()
  const { resourceTemplates } = await client.listResourceTemplates()
  expect(resources.length).toBeGreaterThan(13)
  const pages = resourceTemplates.map(({ uriTemplate }) => uriTemplate.replace('{operationId}', 'planDeposit'))
  for (const uri of [...resources.map((it) => it.uri), ...pages]) {
    const [document, ...others] = (await client.readResource({ uri })).contents
    const response = await fetch(uri)
    expect([response.status, others]).toEqual([200, []])
    const mimeType = response.headers.get('content-type')?.split(';', 1)[0]
    expect(document).toEqual({ uri, mimeType, text: await response.text() })
    expect(resources.find((it) => it.uri === uri)?.mimeType ?? mimeType).toBe(mimeType)
  }
  await client.close()
})

test.each([
  ['no URL', 'errors'],
  ['a page that does not exist', 'http://localhost/v1/docs/guide/none.md'],
  ['an operation that does not exist', 'http://localhost/v1/docs/operations/none.md'],
  ['another path of the API', 'http://localhost/v1/chains'],
  ['a path with dots', 'http://localhost/v1/docs/operations/../../chains'],
])('%s is no resource', async (_, uri) => {
  const { error } = answerOf(await post(messageOf('resources/read', { uri })))
  expect(error).toMatchObject({ code: -32602, message: `Resource not found: ${uri}` })
})

test('an error of the API is a tool error with its body, its request id and where it is documented', async () => {
  const response = await post(callOf('getHedgeEventsById', { chainId: 8453, id: 1 }), { 'x-request-id': 'mine' })
  const rest = await api.app.inject('/v1/hedge/events/8453/1')
  expect([response.statusCode, response.headers['x-request-id']]).toEqual([200, 'mine'])
  expect(toolErrorOf(response)).toEqual(rest.json().error)
  expect(answerOf(response).result.content[1].text).toBe(
    'Retry-After: 1\nDocumentation: http://localhost:80/v1/docs/guide/errors.md#service_unavailable',
  )
})

const none = 'expected a text, a number, true, false, or a list of them'
const lost = 'expected a text: a JSON number of this size may have lost digits'
const hex = 'expected an integer, or 0x and hex digits'

test.each([
  ['no argument', 'getHedgeEventsById', {}, 'chainId: is required'],
  ['a word in a path', 'getHedgeEventsById', { chainId: 8453, id: 'total' }, `id: ${hex}`],
  ['dots in a path', 'getHedgeEventsById', { chainId: 8453, id: '..' }, `id: ${hex}`],
  ['a slash in a path', 'getHedgeEventsById', { chainId: 8453, id: '1/stats' }, `id: ${hex}`],
  ['null', 'getHedgeEvents', { limit: null }, `limit: ${none}`],
  ['an object', 'getHedgeEvents', { state: { toString: 1 } }, `state: ${none}`],
  ['a list of lists', 'getHedgeEvents', { state: [['open']] }, `state: ${none}`],
  ['a number without its last digits', 'getHedgeEvents', { capacityFrom: 2 ** 53 }, `capacityFrom: ${lost}`],
  ['a fraction', 'getHedgeEvents', { limit: 1.5 }, `limit: ${lost}`],
  ['the format', 'getHedgeEvents', { format: 'csv' }, "format: unknown parameter 'format'"],
  [
    'arguments of 60 KB',
    'getHedgeEvents',
    { cursor: 'x'.repeat(60_000) },
    'arguments: are larger than 16384 bytes as a URL',
  ],
  [
    'a deep body',
    'planDeposit',
    { chainId: JSON.parse('['.repeat(30_000) + ']'.repeat(30_000)) },
    'arguments: are nested too deeply',
  ],
])('a call with %s is a validation error that names the argument', async (_, name, given, message) => {
  // The parser of the service takes what `JSON.stringify` refuses.
  const payload = name === 'planDeposit' ? deepCall : JSON.stringify(callOf(name, given))
  expect(toolErrorOf(await post(payload))).toMatchObject({ code: 'validation_error', message })
})

const deepCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"planDeposit","arguments":{"chainId":${'['.repeat(30_000)}${']'.repeat(30_000)}}}}`

test.each([
  ['getHedgeEvents', { chain: 8453 }, '/v1/hedge/events?chain=8453'],
  [
    'getHedgeEvents',
    { limit: 201, state: ['open', 'settled'], poolOpen: true },
    '/v1/hedge/events?limit=201&state=open,settled&poolOpen=true',
  ],
  ['getHedgeEvents', { ids: ['1', '2'] }, '/v1/hedge/events?ids=1,2'],
  ['getHedgeEventsById', { chainId: 1, id: 1 }, '/v1/hedge/events/1/1'],
  [
    'getHedgeQuotePayoutById',
    { chainId: '8453', id: '1', notional: '-1' },
    '/v1/hedge/quote-payout/8453/1?notional=-1',
  ],
  ['getWalletsPortfolioByAddr', { addr: '0x12' }, '/v1/wallets/0x12/portfolio'],
])('wrong arguments of %s are refused as the API refuses them: %j', async (name, given, url) => {
  const { statusCode, body } = await api.app.inject(url)
  expect([statusCode, toolErrorOf(await post(callOf(name, given)))]).toEqual([400, JSON.parse(body).error])
})

test('wrong arguments of a plan are refused as the API refuses its body', async () => {
  const body = { chainId: 8453, from: 'me', eventId: 1, amount: 5, more: 1 }
  const { error } = await api.post('/plans/deposit', body)
  expect(error?.details).toHaveLength(3)
  expect(toolErrorOf(await post(callOf('planDeposit', body)))).toEqual(error)
})

test.each([
  ['an unknown tool', callOf('postTxBroadcast'), -32602, 'unknown tool postTxBroadcast'],
  ['a tool whose name is long', callOf('x'.repeat(9_000)), -32602, `unknown tool ${'x'.repeat(199)}…`],
  ['arguments that are a text', callOf('getChains', 'all'), -32602, expect.stringContaining('arguments')],
  ['a name that is no text', messageOf('tools/call', { name: 1 }), -32602, expect.stringContaining('name')],
  ['an unknown method', messageOf('tools/drop'), -32601, 'Method not found'],
])('%s is an error of JSON-RPC', async (_, payload, code, message) => {
  expect(answerOf(await post(payload)).error).toMatchObject({ code, message })
})

test.each([
  ['a batch', 400, 'body: expected one JSON-RPC message, and no batch', [callOf('getChains'), callOf('getChains')]],
  ['a text', 400, 'body: expected one JSON-RPC message, and no batch', '"tools/list"'],
  ['no JSON', 400, expect.stringContaining('expected valid JSON'), '{'],
  ['65 KiB', 413, 'the body is larger than 65536 bytes', callOf('getChains', { text: 'x'.repeat(65_536) })],
])('a body that is %s is refused as the API refuses bodies', async (_, status, message, payload) => {
  const { statusCode, body } = await post(payload)
  expect([statusCode, JSON.parse(body).error]).toEqual([
    status,
    expect.objectContaining({ code: 'validation_error', message }),
  ])
})

test('a message of another type or encoding is refused with 415, and an object that is no message with 400', async () => {
  expect((await post('tools/list', { 'content-type': 'text/plain' })).statusCode).toBe(415)
  expect((await post(callOf('getChains'), { 'content-encoding': 'gzip' })).statusCode).toBe(415)
  expect(answerOf(await post({ method: 'tools/list' })).error.code).toBe(-32600)
})

test.each([
  ['https://page.example', 200],
  ['null', 200],
  ['page', 403],
])('a request of the origin %s gets %i', async (origin, status) => {
  const { statusCode, headers } = await post(callOf('getChains'), { origin })
  expect([statusCode, headers['access-control-allow-origin']]).toEqual([status, '*'])
})

test.each(['GET', 'DELETE'] as const)('%s is a 405, because there are no streams and no sessions', async (method) => {
  const { statusCode, headers, body } = await api.app.inject({
    method,
    url: '/mcp',
    headers: { accept: 'text/event-stream' },
  })
  expect([statusCode, headers.allow]).toEqual([405, 'POST'])
  expect(JSON.parse(body).error).toEqual({ code: 'not_found', message: 'the path takes POST' })
})

/** Sends a message of the newest revision, which has an envelope. */
const postModern = (
  method: string,
  params: object = {},
  headers: Record<string, string> = {},
  client: object = { name: 'test', version: '1' },
) => {
  const version = '2026-07-28'
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientInfo': client,
    'io.modelcontextprotocol/clientCapabilities': client,
  }
  return post(messageOf(method, { ...params, _meta }), {
    'mcp-protocol-version': version,
    'mcp-method': method,
    ...headers,
  })
}

test('a subscription is refused, and does not stay open', async () => {
  const response = await postModern('subscriptions/listen', { notifications: { toolsListChanged: true } })
  expect(answerOf(response).error).toEqual({ code: -32603, message: 'Subscription limit reached' })
})

test('clients may reuse a list for a minute, and caches of HTTP store no answer', async () => {
  const response = await postModern('tools/list')
  expect(answerOf(response).result).toMatchObject({ ttlMs: 60_000, cacheScope: 'public' })
  expect(response.headers['cache-control']).toBe('no-store')
})

test.each([
  ['older', () => post(messageOf('tools/list'), { 'accept-encoding': 'gzip' })],
  ['newest', () => postModern('tools/list', {}, { 'accept-encoding': 'gzip' })],
])('a client of the %s revision gets JSON, compressed as other responses', async (_, send) => {
  const { headers, rawPayload } = await send()
  expect([headers['content-type'], headers['content-encoding']]).toEqual(['application/json; charset=utf-8', 'gzip'])
  expect(JSON.parse(gunzipSync(rawPayload).toString()).result.tools.length).toBeGreaterThan(10)
})

const many = Array.from({ length: 20_000 }, () => 0)
const client = { name: 'test', version: '1' }
const initialize = (params: object) =>
  post(messageOf('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: client, ...params }))
const manyKeys = Object.fromEntries(many.map((_, at) => [`key ${at}`, 0]))

test.each([
  ['in what a client reports of itself', () => initialize({ clientInfo: { ...client, icons: many } })],
  ['in its name', () => initialize({ clientInfo: { name: many, version: many } })],
  ['in its capabilities', () => initialize({ capabilities: { experimental: manyKeys } })],
  ['in the version of the protocol', () => initialize({ protocolVersion: many })],
  ['in the metadata', () => initialize({ _meta: { ...manyKeys, progressToken: many } })],
  ['in an envelope', () => postModern('ping', {}, {}, { ...client, icons: many, experimental: manyKeys })],
  ['in the name of a tool', () => post(messageOf('tools/call', { name: many, arguments: many }))],
  ['in the arguments of a tool', () => post(callOf('getChains', { chainId: many }))],
  ['in the URL of a resource', () => post(messageOf('resources/read', { uri: many }))],
  [
    'in a method that is not served',
    () => post(messageOf('completion/complete', { context: { arguments: manyKeys } })),
  ],
  ['as its number', () => post({ ...messageOf('ping'), id: many })],
  ['as its method', () => post({ ...messageOf('ping'), method: many })],
  ['as its parameters', () => post({ ...messageOf('ping'), params: many })],
])('a long list %s is not answered with a long text', async (_, send) => {
  expect((await send()).body.length).toBeLessThan(2_000)
})

test('a notification has no answer', async () => {
  const { statusCode, body } = await post({ jsonrpc: '2.0', method: 'notifications/initialized' })
  expect([statusCode, body]).toEqual([202, ''])
})

test('a result has the response of the API, and the headers that say how fresh it is', async () => {
  const { content, isError } = answerOf(await post(callOf('getChains'))).result
  const { body } = await api.app.inject('/v1/chains')
  expect([isError, content]).toEqual([
    undefined,
    [
      { type: 'text', text: body },
      { type: 'text', text: 'X-Data-Source: static' },
    ],
  ])
})

test('each message costs a request of its client, whatever it calls, and 1,000 calls are limited with 429', async () => {
  // A minute that is over would begin a new count.
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now())
  onTestFinished(() => clock.mockRestore())
  const send = (payload: object, ip = '192.0.2.1') => post(payload, { 'x-forwarded-for': ip }, limited)
  const costs = [
    messageOf('tools/list'),
    callOf('getChains'),
    callOf('planDeposit'),
    messageOf('resources/read', { uri: 'http://x/llms.txt' }),
  ]
  for (const [at, payload] of costs.entries()) {
    const { statusCode, headers } = await send(payload)
    expect([statusCode, headers['ratelimit-remaining']]).toEqual([200, String(LIMIT - 1 - at)])
  }
  const rest = await limited.app.inject({ url: '/v1/chains', headers: { 'x-forwarded-for': '192.0.2.1' } })
  expect(rest.headers['ratelimit-remaining']).toBe(String(LIMIT - 1 - costs.length))

  const statuses: number[] = []
  for (let nth = 0; nth < 1_000; nth += 1) statuses.push((await send(callOf('getChains'))).statusCode)
  const left = LIMIT - 1 - costs.length
  expect(statuses).toEqual([...Array(left).fill(200), ...Array(1_000 - left).fill(429)])
  const refused = await send(callOf('getChains'))
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
  expect(JSON.parse(refused.body).error).toEqual({
    code: 'rate_limited',
    message: `rate limit exceeded: at most ${LIMIT} requests a minute`,
  })
  // Another client is not affected.
  expect((await send(callOf('getChains'), '192.0.2.2')).headers['ratelimit-remaining']).toBe(String(LIMIT - 1))
})

test('a call during a stop is an error that can be retried', async () => {
  const stopped = Fastify()
  await stopped.ready()
  await stopped.close()
  const request = {
    id: 'mine',
    ip: '192.0.2.1',
    headers: {},
    raw: { socket: new Socket() },
  } as unknown as FastifyRequest
  await expect(sendPart(stopped, request, { method: 'GET', url: '/' })).rejects.toMatchObject({
    code: 'service_unavailable',
    message: 'the service is stopping',
  })
})

test('a part has the id of its request, so that logs of both name it', async () => {
  const app = Fastify()
  onTestFinished(() => app.close())
  app.get('/id', async ({ headers }) => headers['x-request-id'])
  const request = { ip: '192.0.2.1', id: 'mine', headers: {}, raw: { socket: new Socket() } }
  const { body } = await sendPart(app, request as unknown as FastifyRequest, { method: 'GET', url: '/id' })
  expect(body).toBe('mine')
})

test('without the setting there is no /mcp', async () => {
  const without = await openApp({ mcp: false })
  expect((await post(callOf('getChains'), {}, without)).statusCode).toBe(404)
  await without.close()
})
