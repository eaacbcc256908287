import { Client } from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openApi } from '../../src/compose/api.ts'
import { createDrain } from '../../src/compose/drain.ts'
import { openEngineService } from '../../src/compose/engine.ts'
import { openWorker } from '../../src/compose/worker.ts'
import { environments } from '../../src/config/environments.ts'
import { load } from '../../src/config/load.ts'
import { addApiKey, removeApiKey } from '../../src/db/api-keys.ts'
import { databaseStatements } from '../../src/db/pool.ts'
import { readEndpoint } from '../../src/db/webhooks/endpoints.ts'
import { hashApiKey } from '../../src/identity/api-keys.ts'
import { type Closers, createClosers } from '../../src/lib/lifecycle.ts'
import { freePort } from '../../src/sandbox/parts/ports.ts'
import { createVault } from '../../src/webhooks/secrets.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { chainsAt } from '../support/environment.ts'
import { openDatabase } from '../support/open-database.ts'

/*
 * The processes as they are composed, in the process of the test, without a chain that answers: what each opens, that
 * it closes in the order that a stop needs, and that nothing is left open.
 */

let store: TestDatabase
beforeAll(async () => {
  store = await createTestDatabase()
})
const all: Closers[] = []
// Fails if a connection to the database is left open.
afterAll(async () => {
  for (const closers of all) await closers.close()
  await store?.close()
})

const log = pino({ level: 'silent' })
const NOWHERE = 'http://127.0.0.1:9'
const address = (digit: string) => `0x${digit.repeat(40)}`

const environment = async () => {
  const [port, metricsPort] = await Promise.all([freePort(), freePort()])
  const env = {
    ...{ DATABASE_URL: store.url, NODE_TIMEOUT_MS: '200', API_QUERY_TIMEOUT_MS: '10000', METRICS_HOST: '127.0.0.1' },
    ...chainsAt({ 8453: NOWHERE, 56: NOWHERE }, { diamond: address('1'), usdc: address('2'), startBlock: 0n }),
    ...{ HOST: '127.0.0.1', PORT: `${port}`, ENGINE_PORT: `${port}`, METRICS_PORT: `${metricsPort}`, DRAIN_MS: '0' },
    ...{ ENGINE_PRIVATE_KEY: `0x${'ab'.repeat(32)}`, ENGINE_SYNTHETIC: 'true', WEBHOOKS_KEY: 'ab'.repeat(32) },
  }
  return { env, url: `http://127.0.0.1:${port}`, metricsUrl: `http://127.0.0.1:${metricsPort}/metrics` }
}

/** Closers that record the names of what was opened, and of what was closed. */
const recording = () => {
  const closers = createClosers()
  all.push(closers)
  const [opened, closed]: [string[], string[]] = [[], []]
  const add: Closers['add'] = (name, resource, close) => {
    opened.push(name)
    return closers.add(name, resource, async (it) => {
      await close(it)
      closed.push(name)
    })
  }
  return { closers: { ...closers, add }, opened, closed }
}

const statusOf = (url: string): Promise<number> =>
  fetch(url).then(
    ({ status }) => status,
    () => 0,
  )

test('an API opens what it needs before it listens, reports that it stops first, and closes what it opened', async () => {
  const { env, url, metricsUrl } = await environment()
  const config = load(environments.api, { ...env, DATABASE_READ_URL: store.url, RATE_LIMIT_PER_MINUTE: '0' })
  const pools = new Set<string>()
  onTestFinished(databaseStatements.subscribe({ onEnd: ({ pool }) => void pools.add(pool) }))
  const drain = createDrain({ ms: 0, log })
  /** What the API answers about its connections while it drains. */
  const connections: (string | null)[] = []
  const begin = async () => {
    await drain.begin()
    const { headers } = await fetch(`${url}/livez`)
    expect(await (await fetch(`${url}/readyz`)).text()).toContain('this process is about to stop')
    connections.push(headers.get('connection'))
  }
  const { closers, opened, closed } = recording()
  await openApi(config, { ...drain, begin }, log, closers)
  const parts = ['metrics', 'database', 'version', 'database', 'changes', 'chain 8453', 'chain 56', 'identity provider']
  expect(opened).toEqual([...parts, 'pricing engine', 'http server', 'checks', 'lags', 'drain'])
  expect([await statusOf(`${url}/livez`), await statusOf(metricsUrl)]).toEqual([200, 200])
  const metrics = await (await fetch(metricsUrl)).text()
  for (const pool of ['reads', 'copy'])
    expect(metrics).toMatch(new RegExp(`^fx_database_connections\\{.*pool="${pool}"`, 'm'))
  // The change log is read from the replica.
  await expect.poll(() => [...pools].toSorted()).toEqual(['copy', 'reads'])
  expect(drain.signal.aborted).toBe(false)
  await closers.close()
  expect([drain.signal.aborted, connections, closed]).toEqual([true, ['close'], opened.toReversed()])
  expect([await statusOf(`${url}/livez`), await statusOf(metricsUrl)]).toEqual([0, 0])
})

test('an API with self-service encrypts the secrets of webhooks with the key of the workers', async () => {
  const { env, url } = await environment()
  const config = load(environments.api, { ...env, WEBHOOKS_SELF_SERVICE: 'true', METRICS_PORT: 'off' })
  const { closers } = recording()
  await openApi(config, createDrain({ ms: 0, log }), log, closers)
  const database = openDatabase(store.url)
  const key = { id: 'ak_1', name: 'a', hash: hashApiKey('fxk_a'), createdAt: new Date() }
  await database.run((handle) => addApiKey(handle, key))
  const response = await fetch(`${url}/v1/webhooks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': 'fxk_a' },
    body: JSON.stringify({ url: 'https://8.8.8.8/', types: ['event.changed'] }),
  })
  const { data } = (await response.json()) as { data: { id: string; secret: string; createdAt: number } }
  const endpoint = await database.run((handle) => readEndpoint(handle, data.id))
  const [workers] = config.WEBHOOKS_KEY ?? []
  expect(workers).toBeDefined()
  expect(createVault([workers ?? Buffer.alloc(32)]).decrypt(data.id, endpoint?.secret ?? '')).toBe(data.secret)
  expect(Math.abs(data.createdAt - Date.now() / 1_000)).toBeLessThan(3_600)
  // Its endpoint is removed with it.
  await database.run((handle) => removeApiKey(handle, key.id))
  await database.close()
  await closers.close()
})

test('jobs of a worker wait for a connection in turn, however long another one is busy', async () => {
  const { env } = await environment()
  const lines: { readonly job?: string; readonly msg: string; readonly fault?: string }[] = []
  const seen = pino({ level: 'warn' }, { write: (line: string) => lines.push(JSON.parse(line)) })
  // Deliveries wait for this lock until the server cancels their statement. That is longer than a connection may take.
  const locking = new Client(store.url)
  await locking.connect()
  await locking.query('BEGIN; LOCK TABLE webhook_endpoints')
  const { closers } = recording()
  const config = load(environments.worker, { ...env, WORKER_POOL_SIZE: '1', METRICS_PORT: 'off' })
  await openWorker(config, seen, closers, { statementTimeoutMs: 4_000, connectTimeoutMs: 2_000 })
  const dropped = (job: string) => lines.filter((it) => it.msg === 'job dropped' && it.job === job)
  await expect.poll(() => dropped('dispatch').length, { timeout: 60_000 }).toBeGreaterThan(0)
  expect(dropped('observe')).toEqual([])
  await locking.end()
  await closers.close()
}, 90_000)

test('an engine opens its database and its chains, and closes them after its server', async () => {
  const { env, url, metricsUrl } = await environment()
  const drain = createDrain({ ms: 0, log })
  const { closers, opened, closed } = recording()
  await openEngineService(load(environments.engine, env), drain, log, closers)
  expect(opened).toEqual([
    'database',
    'version',
    'chain 8453',
    'chain 56',
    'metrics',
    'http server',
    'refresh',
    'drain',
  ])
  expect([await statusOf(`${url}/livez`), await statusOf(metricsUrl)]).toEqual([200, 200])
  await closers.close()
  expect([drain.signal.aborted, closed]).toEqual([true, opened.toReversed()])
  expect([await statusOf(`${url}/livez`), await statusOf(metricsUrl)]).toEqual([0, 0])
})

test('an engine without a key reads no chain, and one without a database opens none', async () => {
  const { env } = await environment()
  const { closers, opened } = recording()
  const config = load(environments.engine, { ...env, ENGINE_PRIVATE_KEY: '', DATABASE_URL: '', METRICS_PORT: 'off' })
  await openEngineService(config, createDrain({ ms: 0, log }), log, closers)
  expect(opened).toEqual(['metrics', 'http server', 'refresh', 'drain'])
  await closers.close()
})

test('a worker stops its followers first, then its jobs, and its databases after them', async () => {
  const { env, metricsUrl } = await environment()
  const { closers, opened, closed } = recording()
  await openWorker(load(environments.worker, env), log, closers)
  const parts = ['metrics', 'database', 'version', 'chain 8453', 'chain 56', 'database', 'jobs', 'demands']
  expect(opened).toEqual([...parts, 'database', 'database', 'followers'])
  const metrics = await (await fetch(metricsUrl)).text()
  for (const pool of ['jobs', 'index'])
    expect(metrics).toMatch(new RegExp(`^fx_database_connections\\{.*pool="${pool}"`, 'm'))
  expect(metrics).toContain('fx_webhook_endpoints 0\n')
  await closers.close()
  expect([closed, await statusOf(metricsUrl)]).toEqual([opened.toReversed(), 0])
})
