import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Hex } from 'viem'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import type { Limits } from '../../src/api/limits/limits.ts'
import { Plan } from '../../src/plans/answer/schema.ts'
import { people } from '../examples/chain.ts'
import { NOW } from '../examples/clock.ts'
import { requestsOf } from '../examples/requests.ts'
import { type Story, startStory } from '../examples/story.ts'
import { openApp } from '../support/app.ts'
import { operations } from '../support/openapi.ts'
import { eventually } from '../support/process.ts'
import { receiptOf } from '../support/receipt.ts'

/* The official client calls the tools of an API with chains, an index and a pricing engine. */

const chainId = 8453

let story: Story
const apis: Awaited<ReturnType<typeof openApp>>[] = []
const clients: Record<'legacy' | 'auto', Client | undefined> = { legacy: undefined, auto: undefined }

const connect = async (mode: keyof typeof clients, to: string): Promise<Client> => {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', to)))
  return client
}

beforeAll(async () => {
  story = await startStory()
  const url = await story.app.listen({ host: '127.0.0.1', port: 0 })
  clients.legacy = await connect('legacy', url)
  clients.auto = await connect('auto', url)
})
afterAll(async () => {
  for (const api of apis) await api.close()
  for (const client of Object.values(clients)) await client?.close()
  await story?.close()
})

const Result = z.object({
  isError: z.literal(true).optional(),
  content: z.array(z.object({ type: z.literal('text'), text: z.string() })).min(1),
})

type Arguments = Readonly<Record<string, unknown>>

/** The texts of a successful call: the body of the response, and its headers. */
const call = async (mode: keyof typeof clients, name: string, given: Arguments) => {
  const { isError, content } = Result.parse(await clients[mode]?.callTool({ name, arguments: given }))
  const [body, notes] = content.map(({ text }) => text)
  expect([isError, body]).toEqual([undefined, expect.any(String)])
  return { body: body ?? '', notes: notes ?? '' }
}

/** The same request to the API. */
const ask = async (name: string, given: Arguments) => {
  const operation = operations.find(({ operationId }) => operationId === name)
  if (operation === undefined) throw new Error(`no operation ${name}`)
  const { method, path } = operation
  const rest = new Map(Object.entries(given).map(([key, value]) => [key, String(value)]))
  const filled = path.replace(/\{(\w+)\}/g, (_, key: string) => {
    const value = rest.get(key) ?? ''
    rest.delete(key)
    return value
  })
  const query = new URLSearchParams([...rest])
  const options = method === 'GET' ? { url: `${filled}?${query}` } : { url: path, method, payload: { ...given } }
  const { statusCode, headers, body } = await story.app.inject(options)
  expect([name, statusCode]).toEqual([name, 200])
  const notes = Object.entries(headers).filter(([header]) => /^x-(?:data|block|stale|index|transaction)/.test(header))
  return { body, notes: notes.map(([header, value]) => `${header}: ${value}`).sort() }
}

/** What differs between two requests: the signature of a quote has a nonce, and the gas depends on its bytes. */
const SIGNED = ['postPricingQuote', 'planCreateEvent']
const DIFFERS = /0x[0-9a-f]{64,}|(?<="(?:gas|estimatedGas|execution|total)":")\w+/g
const comparable = (name: string, body: string): unknown =>
  JSON.parse(SIGNED.includes(name) ? body.replace(DIFFERS, 'x') : body)

test.each(['legacy', 'auto'] as const)(
  'every tool returns what the same request to the API returns (%s)',
  async (mode) => {
    const { tools } = (await clients[mode]?.listTools()) ?? { tools: [] }
    const requests = requestsOf(story)
    expect(tools.length).toBeGreaterThan(15)
    for (const { name } of tools) {
      const { path, query, body } = requests[name] ?? {}
      const given = { ...path, ...query, ...body }
      const [called, asked] = [await call(mode, name, given), await ask(name, given)]
      expect([name, comparable(name, called.body)]).toEqual([name, comparable(name, asked.body)])
      expect([name, called.notes.toLowerCase().split('\n').filter(Boolean).sort()]).toEqual([name, asked.notes])
    }
  },
)

test('reads return the state at a past block or time, and name the block', async () => {
  const at = String(NOW - 30 * 86_400)
  const cases: readonly (readonly [string, Arguments])[] = [
    ['getHedgeEvents', { chainId, at, include: ['stats', 'utilization'] }],
    ['getHedgeEventsById', { chainId, id: 2, at }],
    ['getWalletsPortfolioByAddr', { addr: people.lp.account.address, chainId, at }],
  ]
  for (const [name, given] of cases) {
    const [called, asked] = [await call('auto', name, given), await ask(name, given)]
    expect([name, called.body]).toEqual([name, asked.body])
    if (name !== 'getWalletsPortfolioByAddr') expect(called.notes).toContain('X-Block-Number: ')
    const { at: _, ...present } = given
    expect([name, called.notes]).not.toEqual([name, (await call('auto', name, present)).notes])
  }
})

test('a plan of a tool is executable: signed and sent, it buys the position that the plan predicts', async () => {
  const { account } = people.hedger
  const { client } = story.base.actions
  const given = { chainId, from: account.address, eventId: 3, notional: '1000000000' }
  const plan = z.object({ data: Plan }).parse(JSON.parse((await call('legacy', 'planBuyProtection', given)).body)).data
  expect([plan.executable, plan.issues]).toEqual([true, []])
  const hashes: Hex[] = []
  for (const { request } of plan.steps) {
    if (request === undefined) throw new Error('a step has no request')
    const serializedTransaction = await account.signTransaction({
      ...{ type: 'eip1559', chainId, nonce: Number(request.nonce), to: request.to as Hex, data: request.data as Hex },
      ...{ value: BigInt(request.value), gas: BigInt(request.gas ?? 0), maxFeePerGas: BigInt(request.maxFeePerGas) },
      maxPriorityFeePerGas: BigInt(request.maxPriorityFeePerGas),
    })
    hashes.push(await client.sendRawTransaction({ serializedTransaction }))
  }
  for (const hash of hashes) expect((await receiptOf(client, hash)).status).toBe('success')
  const found = JSON.parse((await call('auto', 'getTransactionsByHash', { chainId, hash: hashes.at(-1) })).body)
  expect(found.data).toMatchObject({
    status: 'succeeded',
    created: { positionIds: [{ id: plan.effects.created.positionId, owner: account.address }] },
  })
})

/** Another API over the same chains and the same index. */
const open = async (limits: Partial<Limits>) => {
  const { databaseUrl, nodes } = story
  const api = await openApp({ databaseUrl, nodes, limits })
  apis.push(api)
  const origin = await api.app.listen({ host: '127.0.0.1', port: 0 })
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  return {
    ...{ api, origin },
    callEvents(given: Arguments, signal?: AbortSignal): Promise<Response> {
      const params = { name: 'getHedgeEvents', arguments: { chainId, ...given } }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
      return fetch(`${origin}/mcp`, { method: 'POST', headers, body, signal: signal ?? null })
    },
  }
}

test('a call that the response cache answers costs one request too, and has the cached answer of the API', async () => {
  const { api, origin, callEvents } = await open({ requestsPerMinute: 100 })
  await eventually('the API knows the index', async () => {
    await story.beat()
    return api.sources.changes.isCurrent([chainId])
  })
  // A page of a list expires after a second.
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now())
  onTestFinished(() => clock.mockRestore())
  const page = await fetch(`${origin}/v1/hedge/events?chainId=${chainId}`)
  const text = await page.text()
  const remaining = [page.headers.get('ratelimit-remaining')]
  for (let nth = 0; nth < 3; nth += 1) {
    const response = await callEvents({})
    remaining.push(response.headers.get('ratelimit-remaining'))
    expect(await response.text()).toContain(JSON.stringify(text))
  }
  expect(remaining).toEqual(['99', '98', '97', '96'])
  // One look-up finds each page, and none finds `/mcp`.
  expect(await api.metrics.metrics()).toMatch(/^fx_pages_hits_total 3$/m)
})

test('a call waits as a request of its client: it counts as one of its waits, and ends when the client leaves', async () => {
  const { api, origin, callEvents } = await open({ maxWaitsPerClient: 1 })
  const ofFuture = { minBlock: 9_000_000, waitMs: 10_000 }
  const read = async (): Promise<number> => {
    const response = await fetch(`${origin}/v1/hedge/events?chainId=${chainId}&minBlock=9000000&waitMs=1`)
    await response.arrayBuffer()
    return response.status
  }
  expect(await read()).toBe(503)
  const leave = new AbortController()
  const startedAt = performance.now()
  const gone = callEvents(ofFuture, leave.signal).catch((fault: unknown) => Object(fault).name)
  await eventually('the call waits', async () => /^fx_waits_open 1$/m.test(await api.metrics.metrics()))
  expect(await read()).toBe(429)
  leave.abort()
  expect(await gone).toBe('AbortError')
  await eventually('the wait has ended', async () => /^fx_waits_open 0$/m.test(await api.metrics.metrics()))
  expect(performance.now() - startedAt).toBeLessThan(ofFuture.waitMs)
})
