import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { Webhook } from 'standardwebhooks'
import { getAddress } from 'viem'
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest'
import { addApiKey, removeApiKey } from '../../src/db/api-keys.ts'
import { migrate } from '../../src/db/migrate.ts'
import type { Database } from '../../src/db/pool.ts'
import { apiKeys, deliveries } from '../../src/db/schema/webhooks.ts'
import { addEndpoint, changeEndpoint, readEndpoint, readEndpoints } from '../../src/db/webhooks/endpoints.ts'
import { hashApiKey, newApiKey } from '../../src/identity/api-keys.ts'
import { knownTokens } from '../../src/protocol/tokens.ts'
import { deliver } from '../../src/webhooks/deliver.ts'
import { createPost } from '../../src/webhooks/post.ts'
import { createVault } from '../../src/webhooks/secrets.ts'
import { openApp } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
import { openReceiver } from '../support/webhook-receiver.ts'

/* Self-service for webhooks, by a database role with the rights that a migration gives to API processes. */

const role = `fx_api_${randomBytes(6).toString('hex')}`
const vault = createVault([randomBytes(32)])
const HOUR_MS = 3_600_000
/** Messages are verified by the clock. */
const START = Math.floor(Date.now() / 1_000) * 1_000

let store: TestDatabase
/** The database as its owner, as the operator and the worker use it. */
let database: Database
let receiver: Awaited<ReturnType<typeof openReceiver>>
let api: Awaited<ReturnType<typeof openApp>>
/** The URL of the database for the role. */
let databaseUrl: string
let now = START

beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url)
  const owner = new Client(store.url)
  await owner.connect()
  await owner.query(`CREATE ROLE ${role} LOGIN PASSWORD 'reads'`)
  await owner.end()
  await migrate({ databaseUrl: store.url, readRole: role, selfService: true })
  databaseUrl = Object.assign(new URL(store.url), { username: role, password: 'reads' }).href
  receiver = await openReceiver()
  const resolve = async (name: string) => [
    { address: name === 'inside.example' ? '10.0.0.7' : '93.184.216.34', family: 4 },
  ]
  api = await openApp({
    databaseUrl,
    selfService: { vault, resolve, allowsLoopback: true, mostPerKey: 3, now: () => now },
  })
})
afterAll(async () => {
  await api?.close()
  await receiver?.close()
  await database?.close()
  await store?.close()
  const server = new Client(inject('postgresUrl'))
  await server.connect()
  await server.query(`DROP ROLE ${role}`)
  await server.end()
})

/** Makes a key as the operator does. */
const addKey = async (id: string): Promise<string> => {
  const key = newApiKey()
  await database.run((handle) => addApiKey(handle, { id, name: id, hash: hashApiKey(key), createdAt: new Date(now) }))
  return key
}

let [ama, kofi] = ['', '']
beforeEach(async () => {
  now = START
  receiver.received.length = 0
  // Endpoints and deliveries are deleted with their key, and those of the operator by themselves.
  await database.run((handle) => handle.delete(apiKeys))
  for (const { id } of await database.run(readEndpoints))
    await database.run((handle) => handle.execute(`DELETE FROM webhook_endpoints WHERE id = '${id}'`))
  ;[ama, kofi] = [await addKey('ak_ama'), await addKey('ak_kofi')]
})

const send = (
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  key?: string,
  payload?: object,
  headers: Record<string, string> = {},
) =>
  api.send({
    ...{ method, url: `/v1/webhooks${path}`, headers: { ...(key && { 'x-api-key': key }), ...headers } },
    ...(payload && { payload }),
  })

const body = (to: object = {}) => ({ url: receiver.url, types: ['settlement.settled', 'settlement.reverted'], ...to })

const register = async (key = ama, to: object = {}) => {
  const { status, data, error } = await send('POST', '', key, body(to))
  expect([status, error]).toEqual([200, undefined])
  return data as { readonly id: string; readonly secret: string }
}

/** Sends what is due as a worker does. */
const work = (id: string) =>
  deliver(
    {
      ...{ database, tokens: knownTokens([]), vault, post: createPost({ allowsLoopback: true }) },
      ...{ now: () => now, random: () => 0 },
    },
    id,
    new AbortController().signal,
  )

const verify = (secret: string) => {
  const { body: text = '', headers = {} } = receiver.received.at(-1) ?? {}
  return new Webhook(secret).verify(text, headers as Record<string, string>)
}

/** Every operation on an endpoint. */
const operations = (id: string) =>
  [
    ['GET', `/${id}`],
    ['GET', `/${id}/deliveries`],
    ['POST', `/${id}/ping`],
    ['POST', `/${id}/pause`],
    ['POST', `/${id}/resume`],
    ['POST', `/${id}/rotate`],
    ['DELETE', `/${id}`],
  ] as const

const every = (id: string) => [['GET', ''], ['POST', '', body()], ...operations(id)] as const

test('self-service is off unless the operator turns it on, and the refusal names the operator', async () => {
  const off = await openApp({ databaseUrl })
  for (const [method, path, payload] of every('we_0123456789ab')) {
    const headers = { 'x-api-key': ama }
    const { status, error } = await off.send({
      ...{ method, url: `/v1/webhooks${path}`, headers },
      ...(payload && { payload }),
    })
    expect([method, path, status, error?.code]).toEqual([method, path, 403, 'forbidden'])
    expect(error?.message).toBe(
      'self-service for webhooks is off: ask the operator of this service to register your endpoint',
    )
  }
  await off.close()
  expect(await database.run(readEndpoints)).toEqual([])
})

test('a request without a key of the service is a 401, also one with a hash or an ended key', async () => {
  const { id } = await register()
  await database.run((handle) => removeApiKey(handle, 'ak_kofi'))
  for (const key of [undefined, '', newApiKey(), hashApiKey(ama), `${ama} `.repeat(2), kofi])
    for (const [method, path, payload] of every(id)) {
      const { status, error, headers } = await send(method, path, key, payload)
      expect([method, path, key, status, error?.code]).toEqual([method, path, key, 401, 'unauthorized'])
      expect(headers).toMatchObject({ 'www-authenticate': 'ApiKey', 'cache-control': 'no-store', vary: 'x-api-key' })
    }
  expect(await database.run(readEndpoints)).toMatchObject([{ id, state: 'active', previousSecret: null }])
})

test('an integrator registers an endpoint, whose secret is shown once and stored encrypted', async () => {
  const wallet = '0xda55A6ec35ccFb4bde22Ddff33dfA31CC3B5c4F1'
  const filters = { chainIds: [8453, '8453'], wallets: [wallet.toLowerCase(), wallet], eventIds: [2, 2, 1] }
  const { status, data, headers } = await send('POST', '', ama, body(filters))
  expect([status, headers['cache-control'], headers.vary]).toEqual([200, 'no-store', 'x-api-key'])
  const { id, secret, ...shown } = data as { id: string; secret: string }
  expect(id).toMatch(/^we_[0-9a-f]{12}$/)
  expect(secret).toMatch(/^whsec_[\w+/]{43}=$/)
  expect(shown).toEqual({
    ...{ url: receiver.url, types: ['settlement.settled', 'settlement.reverted'], state: 'active' },
    ...{ chainIds: [8453], wallets: [getAddress(wallet.toLowerCase())], eventIds: [2, 1] },
    ...{ createdAt: START / 1_000, succeededAt: null, failingSince: null, failure: null, previousSecretUntil: null },
  })
  const stored = await database.run((handle) => readEndpoint(handle, id))
  expect(stored).toMatchObject({
    apiKey: 'ak_ama',
    wallets: [wallet.toLowerCase()],
    chainIds: [8453],
    eventIds: [2, 1],
  })
  expect(vault.decrypt(id, stored?.secret ?? '')).toBe(secret)

  const listed = await send('GET', '', ama)
  const read = await send('GET', `/${id}`, ama)
  expect([listed.data, read.data]).toEqual([[{ id, ...shown }], { id, ...shown }])
  expect(JSON.stringify([listed, read])).not.toContain(secret.slice(6, 20))
})

test('a ping is delivered by a worker, signed, and its result is among the deliveries', async () => {
  const { id, secret } = await register()
  const ping = await send('POST', `/${id}/ping`, ama)
  const waiting = { id: `webhook.ping.${START}`, state: 'waiting', attempts: 0, nextAt: START / 1_000 }
  expect(ping.data).toEqual({ ...waiting, sentAt: null, endedAt: null, failure: null })
  now += 1_000
  // One that waits is not sent twice.
  expect((await send('POST', `/${id}/ping`, ama)).data).toEqual(ping.data)
  await work(id)
  expect(receiver.received).toHaveLength(1)
  expect(verify(secret)).toMatchObject({ type: 'webhook.ping', data: { endpoint: id } })
  const ended = { ...{ state: 'delivered', attempts: 1, nextAt: null }, sentAt: now / 1_000, endedAt: now / 1_000 }
  expect((await send('GET', `/${id}/deliveries`, ama)).data).toEqual([{ ...waiting, ...ended, failure: null }])
  expect((await send('GET', `/${id}/deliveries?state=dead`, ama)).data).toEqual([])
  expect((await send('GET', `/${id}`, ama)).data).toMatchObject({ succeededAt: now / 1_000 })
  expect((await send('POST', `/${id}/ping`, ama)).data).toMatchObject({ id: `webhook.ping.${now}`, state: 'waiting' })
})

test('an integrator pauses and resumes an endpoint, with its dead messages or without', async () => {
  const { id } = await register()
  const dead = async (message: string) => {
    const at = new Date(now - HOUR_MS)
    const row = { endpoint: id, id: message, seq: 1, entity: message, body: '{}', nextAt: at, sentAt: at, endedAt: at }
    await database.run((handle) => handle.insert(deliveries).values({ ...row, state: 'dead', attempt: 10 }))
  }
  const states = async () =>
    ((await send('GET', `/${id}/deliveries`, ama)).data as { id: string; state: string }[]).map((it) => it.state)
  expect((await send('POST', `/${id}/pause`, ama)).data).toMatchObject({ id, state: 'paused' })
  await send('POST', `/${id}/ping`, ama)
  await work(id)
  expect(receiver.received).toEqual([])

  await dead('settlement.settled.1')
  const failing = { failure: 'status 500', failingSince: new Date(now), state: 'disabled' } as const
  await database.run((handle) => changeEndpoint(handle, id, failing))
  expect((await send('GET', `/${id}`, ama)).data).toMatchObject({ ...failing, failingSince: now / 1_000 })
  const refused = await send('POST', `/${id}/resume`, ama, { leaveDead: true })
  expect([refused.status, refused.error?.details?.[0]?.path]).toEqual([400, 'leaveDead'])
  const resumed = await send('POST', `/${id}/resume?leaveDead=true`, ama)
  expect(resumed.data).toMatchObject({ id, state: 'active', failure: null, failingSince: null })
  expect((await states()).sort()).toEqual(['dead', 'waiting'])
  await send('POST', `/${id}/resume`, ama)
  expect(await states()).toEqual(['waiting', 'waiting'])
  now += 1_000
  await work(id)
  expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toHaveLength(2)
})

test('a rotation returns a new secret, both sign for a day, and a second one needs endPrevious', async () => {
  const { id, secret } = await register()
  const rotated = await send('POST', `/${id}/rotate`, ama)
  const { secret: second = '' } = rotated.data as { secret?: string }
  expect(rotated.data).toMatchObject({ id, previousSecretUntil: (START + 24 * HOUR_MS) / 1_000 })
  expect(second).not.toBe(secret)
  await send('POST', `/${id}/ping`, ama)
  await work(id)
  for (const each of [secret, second]) expect(verify(each)).toMatchObject({ type: 'webhook.ping' })

  const again = await send('POST', `/${id}/rotate?endPrevious=false`, ama)
  expect([again.status, again.error?.message]).toEqual([
    409,
    `two secrets sign until ${new Date(START + 24 * HOUR_MS).toISOString()}, and the older one would end: rotate after that, or at once with endPrevious=true`,
  ])
  const { data } = await send('POST', `/${id}/rotate?endPrevious=true`, ama)
  const { secret: third = '' } = data as { secret?: string }
  now += 1
  await send('POST', `/${id}/ping`, ama)
  await work(id)
  for (const each of [second, third]) expect(verify(each)).toMatchObject({ type: 'webhook.ping' })
  expect(() => verify(secret)).toThrow('No matching signature')
  now += 24 * HOUR_MS
  expect((await send('GET', `/${id}`, ama)).data).toMatchObject({ previousSecretUntil: null })
})

test('an endpoint is removed with its deliveries, and then does not exist', async () => {
  const { id } = await register()
  const other = await register()
  await send('POST', `/${id}/ping`, ama)
  expect((await send('DELETE', `/${id}`, ama)).data).toMatchObject({ id, url: receiver.url })
  for (const [method, path] of operations(id))
    expect([method, path, (await send(method, path, ama)).status]).toEqual([method, path, 404])
  expect(await database.run((handle) => handle.select().from(deliveries))).toEqual([])
  expect((await send('GET', '', ama)).data).toMatchObject([{ id: other.id }])
})

test('an endpoint of another key, and one of the operator, do not exist for a key', async () => {
  const { id } = await register(kofi)
  const own = {
    ...{ id: 'we_0123456789ab', url: receiver.url, types: ['event.changed' as const], createdAt: new Date(now) },
  }
  const stored = { ...own, chainIds: null, wallets: null, eventIds: null, secret: vault.encrypt(own.id, 'whsec_AAAA') }
  await addEndpoint(database, stored, 200)
  const before = await database.run(readEndpoints)
  for (const of of [id, own.id])
    for (const [method, path] of operations(of)) {
      const { status, error } = await send(method, path, ama)
      expect([method, path, status, error?.message]).toEqual([
        ...[method, path, 404],
        'the key has no webhook endpoint with this id',
      ])
    }
  expect(await database.run(readEndpoints)).toEqual(before)
  expect(await database.run((handle) => handle.select().from(deliveries))).toEqual([])
  expect((await send('GET', '', ama)).data).toEqual([])
  expect((await send('GET', '', kofi)).data).toMatchObject([{ id }])
})

test('a key has a number of endpoints, also of requests at the same time, and other keys have their own', async () => {
  const all = await Promise.all(Array.from({ length: 6 }, () => send('POST', '', ama, body())))
  expect(all.map(({ status }) => status).sort()).toEqual([200, 200, 200, 409, 409, 409])
  expect((await send('POST', '', ama, body())).error).toMatchObject({
    ...{ code: 'conflict', message: 'the key has 3 endpoints, the most that it may have: remove one first' },
  })
  await register(kofi)
  const { id } = (await database.run((handle) => readEndpoints(handle, 'ak_ama')))[0] ?? {}
  await send('DELETE', `/${id}`, ama)
  await register()
})

test('when workers serve no further endpoint, a registration is a 503 that names the operator', async () => {
  const rows = `SELECT 'we_' || number, '${receiver.url}', '{event.changed}', 's', '', 0, now() FROM generate_series(1, 200) AS number`
  await database.run((handle) =>
    handle.execute(`INSERT INTO webhook_endpoints (id, url, types, secret, epoch, seq, created_at) ${rows}`),
  )
  const { status, error } = await send('POST', '', ama, body())
  expect([status, error?.message]).toEqual([
    503,
    'the service has as many webhook endpoints as it can serve: ask its operator to remove some',
  ])
})

test('a key counts as a client of its own, whose requests are limited from all addresses together', async () => {
  const limited = await openApp({
    databaseUrl,
    limits: { requestsPerMinute: 3, trustedProxies: 1 },
    selfService: { vault, now: () => now },
  })
  const list = async (key: string, address: string) => {
    const headers = { 'x-api-key': key, 'x-forwarded-for': address }
    const { status, error } = await limited.send({ method: 'GET', url: '/v1/webhooks', headers })
    return [status, error?.message]
  }
  for (const address of ['198.51.100.1', '198.51.100.2', '198.51.100.3'])
    expect((await list(ama, address))[0]).toBe(200)
  expect(await list(ama, '198.51.100.4')).toEqual([429, 'rate limit exceeded: at most 3 requests a minute'])
  expect((await list(kofi, '198.51.100.4'))[0]).toBe(200)
  expect(await limited.metrics.metrics()).toContain('fx_http_refused_total{reason="rate"} 1\n')
  await limited.close()
})

test.each([
  [{ url: 'http://hooks.example/' }, 'url', /^expected https, got http/],
  [{ url: 'https://10.0.0.7/' }, 'url', /^10\.0\.0\.7 is not a public address/],
  [{ url: 'https://[::1]/' }, 'url', /not a public address/],
  [{ url: 'https://a:b@hooks.example/' }, 'url', /without user and password/],
  [{ url: 'https://inside.example/' }, 'url', /^inside\.example leads to an address that is not public/],
  [{ types: [] }, 'types', /at least one/],
  [{ types: ['webhook.ping'] }, 'types.0', /expected one of|Invalid option/],
  [{ chainIds: [1] }, 'chainIds.0', /unsupported chainId/],
  [{ eventIds: [1] }, 'eventIds', /expected with one chain in chainIds/],
  [{ eventIds: [1], chainIds: [56, 8453] }, 'eventIds', /expected with one chain in chainIds/],
  [{ types: ['wallet.changed'], eventIds: [1], chainIds: [56] }, 'eventIds', /has no effect on wallet\.changed/],
  [{ wallets: ['0x1'] }, 'wallets.0', /20-byte/],
  [{ owner: 'me' }, 'owner', /unknown field/],
])('a registration with %j is refused with the field %s', async (fault, path, message) => {
  const { status, error } = await send('POST', '', ama, body({ url: 'https://hooks.example/', ...fault }))
  expect([status, error?.details]).toEqual([400, [{ path, message: expect.stringMatching(message) }]])
  expect(await database.run(readEndpoints)).toEqual([])
})

test('a filter has at most 1,000 values', async () => {
  const wallets = Array.from({ length: 1_001 }, () => `0x${'1'.repeat(40)}`)
  const { error } = await send('POST', '', ama, body({ wallets }))
  expect(error?.details).toEqual([{ path: 'wallets', message: 'expected at most 1000 items' }])
  expect(await register(ama, { wallets: wallets.slice(1) })).toMatchObject({ wallets: wallets.slice(0, 1) })
})

test('ids and parameters that no endpoint has are refused', async () => {
  for (const id of ['we_1', 'we_0123456789aB', `we_${'0'.repeat(13)}`, '%00'])
    expect([id, (await send('GET', `/${id}`, ama)).status]).toEqual([id, 400])
  const { id } = await register()
  for (const path of ['rotate?endPrevious=1', 'resume?leaveDead=yes', 'pause?state=active'])
    expect([path, (await send('POST', `/${id}/${path}`, ama)).status]).toEqual([path, 400])
  expect((await send('GET', `/${id}/deliveries?state=new`, ama)).error?.details).toEqual([
    { path: 'state', message: 'expected one of waiting, delivered, dead' },
  ])
})
