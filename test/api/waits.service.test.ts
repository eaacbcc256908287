import { once } from 'node:events'
import { type ClientRequest, get } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { openApp } from '../support/app.ts'
import { startIndexed, type World } from '../support/indexing.ts'
import { startNodeProxy } from '../support/node-proxy.ts'
import { eventually } from '../support/process.ts'
import { byForm } from '../support/repetitions.ts'

type App = Awaited<ReturnType<typeof openApp>>
type Limits = NonNullable<Parameters<typeof openApp>[0]['limits']>

let world: World
let indexed: Awaited<ReturnType<typeof startIndexed>>
let proxy: Awaited<ReturnType<typeof startNodeProxy>>

beforeAll(async () => {
  indexed = await startIndexed([8453])
  world = indexed.world
  proxy = await startNodeProxy(world.anvil.url)
})
afterAll(async () => {
  await indexed?.close()
  await proxy?.close()
})

const open = async (limits: Limits = {}, draining?: AbortSignal): Promise<App> => {
  const nodes = [{ url: proxy.url, deployment: world.deployment }]
  const api = await indexed.open({ nodes, limits: { trustedProxies: 1, ...limits }, ...(draining && { draining }) })
  await indexed.quiet()
  return api
}

/** Waits at once, and how long they last, in milliseconds. `test/reads/transaction-polls.test.ts` has the bounds of a poll. */
const [MANY, MANY_MS] = byForm([200, 1_000], [1_000, 5_000])
const CLIENTS = byForm(40, 500)

const UNKNOWN = `0x${'ab'.repeat(32)}`
const list = () => `/v1/hedge/deposits/8453/wallet/${world.lp.account.address}`

const gauge = async ({ metrics }: App, name: string): Promise<number> =>
  Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(await metrics.metrics())?.[1])

const receiptsAsked = (): number => proxy.calls().filter((method) => method === 'eth_getTransactionReceipt').length

const listen = async (api: App): Promise<number> => {
  await api.app.listen({ port: 0, host: '127.0.0.1' })
  return (api.app.server.address() as AddressInfo).port
}

test(`${MANY} waits for one transaction send as many requests to the node as one wait, and delay no other read`, async () => {
  const api = await open()
  proxy.calls()
  const began = performance.now()
  const waits = Array.from({ length: MANY }, () => api.app.inject(`${list()}?afterTx=${UNKNOWN}&waitMs=${MANY_MS}`))
  const took: number[] = []
  while (performance.now() - began < MANY_MS) {
    const asked = performance.now()
    expect((await api.app.inject('/v1/hedge/events/8453/1/stats')).statusCode).toBe(200)
    took.push(performance.now() - asked)
    await sleep(50)
  }
  for (const { statusCode, headers } of await Promise.all(waits))
    expect([statusCode, headers['retry-after']]).toEqual([503, '1'])
  const rounds = (performance.now() - began) / 100
  const [receipts, worst] = [receiptsAsked(), Math.max(...took)]
  console.log(
    `${MANY} waits: ${receipts} receipts asked for; ${took.length} other reads, the slowest ${worst.toFixed(0)} ms`,
  )
  // A second poll may follow the first at once, for waits that started during the first.
  expect(receipts).toBeLessThanOrEqual(rounds + 5)
  expect(await gauge(api, 'fx_waits_open')).toBe(0)
})

test(`waits for ${CLIENTS} transactions request a bounded number of them in each poll`, async () => {
  const api = await open()
  proxy.calls()
  const began = performance.now()
  const waits = Array.from({ length: CLIENTS }, (_, at) =>
    api.app.inject(`${list()}?afterTx=0x${at.toString(16).padStart(64, '0')}&waitMs=${byForm(500, 2_000)}`),
  )
  for (const { statusCode } of await Promise.all(waits)) expect(statusCode).toBe(503)
  const rounds = (performance.now() - began) / 100
  expect(receiptsAsked()).toBeLessThanOrEqual(50 * (rounds + 5))
})

test(`the waits of ${CLIENTS} clients end when the clients disconnect, and the node gets no more requests`, async () => {
  const api = await open()
  const port = await listen(api)
  const requests: ClientRequest[] = []
  let arrived = 0
  const failures: Error[] = []
  api.app.server.on('request', () => {
    arrived += 1
  })
  for (let at = 0; at < CLIENTS; at += 1) {
    const source = at % 2 === 0 ? `afterTx=${UNKNOWN}` : 'minBlock=9000000'
    const request = get({ host: '127.0.0.1', port, path: `${list()}?${source}&waitMs=10000`, agent: false })
    request.on('error', (failure) => failures.push(failure))
    requests.push(request)
  }
  const connections = (): Promise<number> =>
    new Promise((resolve) => api.app.server.getConnections((_, count) => resolve(count)))
  await eventually('all have arrived', () => arrived + failures.length === CLIENTS)
  expect(failures).toEqual([])
  await expect.poll(receiptsAsked).toBeGreaterThan(0)
  for (const request of requests) request.destroy()
  await expect.poll(connections).toBe(0)
  await expect.poll(() => gauge(api, 'fx_waits_open')).toBe(0)
  // A poll may be in progress.
  const askedMeanwhile = async (): Promise<number> => {
    receiptsAsked()
    await sleep(300)
    return receiptsAsked()
  }
  await expect.poll(askedMeanwhile).toBe(0)
})

test('one of several pipelined requests waits at a time, and its wait ends with the connection', async () => {
  const api = await open()
  const socket = connect(await listen(api), '127.0.0.1')
  await once(socket, 'connect')
  const head = (query: string) => `GET ${list()}?${query} HTTP/1.1\r\nHost: a\r\n\r\n`
  socket.write(head(`afterTx=${UNKNOWN}&waitMs=10000`) + head('minBlock=9000000&waitMs=10000').repeat(2))
  await expect.poll(() => gauge(api, 'fx_waits_open')).toBe(1)
  await sleep(300)
  expect(await gauge(api, 'fx_waits_open')).toBe(1)
  socket.destroy()
  await expect.poll(() => gauge(api, 'fx_waits_open'), { timeout: 2_000 }).toBe(0)
})

test('one of several pipelined streams is open at a time, and its place is free again when the connection breaks', async () => {
  const api = await open()
  const port = await listen(api)
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const head = 'GET /v1/hedge/settlements HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n'
  socket.write(head.repeat(5))
  await expect.poll(() => gauge(api, 'fx_streams_open')).toBe(1)
  await sleep(300)
  expect(await gauge(api, 'fx_streams_open')).toBe(1)
  socket.destroy()
  await expect.poll(() => gauge(api, 'fx_streams_open'), { timeout: 5_000 }).toBe(0)
})

test('too many waits of one client are a 429 and of all clients a 503, both with Retry-After', async () => {
  const draining = new AbortController()
  const api = await open({ maxWaits: 3, maxWaitsPerClient: 2 }, draining.signal)
  const wait = (client: string, waitMs = 10_000) =>
    api.app.inject({
      url: `${list()}?minBlock=9000000&waitMs=${waitMs}`,
      headers: { 'x-forwarded-for': `198.51.100.9, ${client}` },
    })
  const waiting = [wait('192.0.2.1'), wait('192.0.2.1')]
  await expect.poll(() => gauge(api, 'fx_waits_open')).toBe(2)
  const own = await wait('192.0.2.1', 0)
  expect([own.statusCode, own.json().error.code, own.headers['retry-after']]).toEqual([429, 'rate_limited', '1'])
  waiting.push(wait('192.0.2.2'))
  await expect.poll(() => gauge(api, 'fx_waits_open')).toBe(3)
  const all = await wait('192.0.2.3', 0)
  expect([all.statusCode, all.json().error.code, all.headers['retry-after']]).toEqual([503, 'service_unavailable', '1'])
  expect(all.json().error.message).toContain('limit of 3 waiting requests reached')
  expect(await gauge(api, 'fx_waits_refused_total')).toBe(2)
  // A request that does not wait needs no place.
  const { statusCode } = await api.app.inject(`${list()}?minBlock=1`)
  expect(statusCode).toBe(200)
  // Ends the waits.
  draining.abort()
  for (const { statusCode: late } of await Promise.all(waiting)) expect(late).toBe(503)
  expect(await gauge(api, 'fx_waits_open')).toBe(0)
})

test('a process that is about to stop ends its waits with a 503', async () => {
  const draining = new AbortController()
  const api = await open({}, draining.signal)
  const waiting = [`afterTx=${UNKNOWN}`, 'minBlock=9000000'].map((query) =>
    api.app.inject(`${list()}?${query}&waitMs=10000`),
  )
  await expect.poll(() => gauge(api, 'fx_waits_open')).toBe(2)
  const began = performance.now()
  draining.abort()
  for (const { statusCode, headers, body } of await Promise.all(waiting)) {
    expect([statusCode, headers['retry-after']]).toEqual([503, '1'])
    expect(body).toContain('this process is about to stop')
  }
  expect(performance.now() - began).toBeLessThan(5_000)
})
