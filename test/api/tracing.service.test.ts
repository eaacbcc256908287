import { once } from 'node:events'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { openTracing } from '../../src/compose/tracing.ts'
import { openApp } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { useProtocol } from '../support/use-protocol.ts'

const protocol = await useProtocol()

const Attribute = z.object({
  key: z.string(),
  value: z.object({ stringValue: z.string(), intValue: z.coerce.number() }).partial(),
})
const SpanShape = z.object({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().optional(),
  name: z.string(),
  kind: z.number(),
  status: z.object({ code: z.number().optional(), message: z.string().optional() }),
  attributes: z.array(Attribute),
})
const Sent = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: z.array(Attribute) }),
      scopeSpans: z.array(z.object({ spans: z.array(SpanShape) })),
    }),
  ),
})

/** What the collector was sent. */
const sent: unknown[] = []
const collector = createServer(async (request, response) => {
  sent.push({ path: request.url, body: await json(request) })
  response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
})

let database: TestDatabase
beforeAll(async () => {
  collector.listen(0, '127.0.0.1')
  await once(collector, 'listening')
  database = await createTestDatabase()
})
afterAll(async () => {
  await database.close()
  collector.close()
})

test('a request is a span of its caller with child spans for nodes and database, and no span contains a secret', async () => {
  const address = collector.address()
  if (address === null || typeof address === 'string') throw new Error('the collector has no port')
  const tracing = openTracing({ endpoint: `http://127.0.0.1:${address.port}/`, service: 'traced' })
  const nodes = [{ url: `${protocol.url}/?key=canary-of-the-node`, deployment: protocol.deployment }]
  const api = await openApp({ nodes, databaseUrl: database.url, tracing })
  const [theirTrace, theirSpan] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331']
  const headers = { traceparent: `00-${theirTrace}-${theirSpan}-01` }
  expect((await api.get('/hedge/fees?chainId=8453', headers)).status).toBe(200)
  expect((await api.get('/hedge/events/8453/999')).status).toBe(404)
  expect(
    (await api.post('/tx/broadcast', { chainId: 8453, signedTx: '0x02canary'.replace('canary', 'ca11a4') })).status,
  ).toBe(502)
  expect((await api.app.inject('/readyz')).statusCode).toBe(503)
  await api.close()
  await tracing.close()

  expect(JSON.stringify(sent)).not.toMatch(/canary|ca11a4/)
  expect(sent.every((it) => z.object({ path: z.literal('/v1/traces') }).safeParse(it).success)).toBe(true)
  const resources = sent.flatMap((it) => z.object({ body: Sent }).parse(it).body.resourceSpans)
  expect(resources[0]?.resource.attributes).toContainEqual({ key: 'service.name', value: { stringValue: 'traced' } })
  const spans = resources.flatMap(({ scopeSpans }) => scopeSpans.flatMap((it) => it.spans))
  const named = (name: string) => {
    const found = spans.find((span) => span.name === name)
    if (found === undefined) throw new Error(`no span ${name} among ${spans.map((span) => span.name).join(', ')}`)
    return found
  }
  const childrenOf = ({ spanId }: { readonly spanId: string }) =>
    spans.filter(({ parentSpanId }) => parentSpanId === spanId).map(({ name }) => name)

  const fees = named('GET /v1/hedge/fees')
  expect(fees).toMatchObject({ traceId: theirTrace, parentSpanId: theirSpan, kind: 2 })
  expect(fees.attributes).toContainEqual({ key: 'http.response.status_code', value: { intValue: 200 } })
  expect(childrenOf(fees).some((name) => name.startsWith('node eth_'))).toBe(true)

  const absent = named('GET /v1/hedge/events/:chainId/:id')
  expect(absent.traceId).not.toBe(theirTrace)
  expect(absent.parentSpanId ?? '').toBe('')

  // A body is read in between, and what is asked of the node still is for this request.
  const relay = named('POST /v1/tx/broadcast')
  expect(childrenOf(relay)).toContain('node eth_sendRawTransaction')
  expect(relay.status.code).toBe(2)

  expect(childrenOf(named('GET /readyz')).some((name) => name.startsWith('database '))).toBe(true)
})

test('no tracing is active when it is not configured', async () => {
  const before = sent.length
  const api = await openApp({ databaseUrl: database.url })
  expect(
    (await api.get('/chains', { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' })).status,
  ).toBe(200)
  await api.close()
  expect(sent).toHaveLength(before)
})
