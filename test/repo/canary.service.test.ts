import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { type Child, startChild } from '../../src/sandbox/parts/child.ts'
import { freePort } from '../../src/sandbox/parts/ports.ts'
import { builtCommand } from '../support/built.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { longTimeouts } from '../support/long-timeouts.ts'
import { startNodeProxy } from '../support/node-proxy.ts'
import { startWorld } from '../support/world.ts'

/*
 * Plants a secret in each place where the service takes one, and searches all its output for them: answers with their
 * headers, `/status`, metrics, logs at the most verbose level, and the output of a failed start, with healthy and with
 * failing dependencies.
 */

/** A text that is found nowhere but where it was planted. */
const canary = (of: string): string => `canary${of}${randomBytes(6).toString('hex')}`

const planted = {
  node: canary('node'),
  key: canary('key'),
  host: canary('host'),
  database: canary('database'),
  redis: canary('redis'),
  identity: canary('identity'),
  rates: canary('rates'),
  bearer: canary('bearer'),
  cookie: canary('cookie'),
  apiKey: canary('apikey'),
  query: canary('query'),
  signer: randomBytes(32).toString('hex'),
  webhooks: randomBytes(32).toString('hex'),
  signedTx: randomBytes(40).toString('hex'),
}

/** The service's role in its database. PostgreSQL names it in errors, and it is not a secret. */
const role = `service_${randomBytes(6).toString('hex')}`

const outputs: { readonly of: string; readonly text: string }[] = []
const keep = (of: string, text: string): void => void outputs.push({ of, text })

const children: Child[] = []
const run = async (command: string, env: Readonly<Record<string, string>>): Promise<Child> => {
  const child = await startChild({
    name: command,
    ...builtCommand(command),
    env: { PATH: process.env.PATH, HOME: process.env.HOME, LOG_LEVEL: 'trace', ...env },
    onLine: (line) => keep(`log of ${command}`, line),
  })
  children.push(child)
  return child
}

let world: Awaited<ReturnType<typeof startWorld>>
let database: TestDatabase
let administrator: Client
let proxy: Awaited<ReturnType<typeof startNodeProxy>>
let env: Record<string, string>

beforeAll(async () => {
  ;[world, database] = await Promise.all([startWorld(), createTestDatabase()])
  proxy = await startNodeProxy(world.anvil.url)
  administrator = new Client(database.url)
  await administrator.connect()
  await administrator.query(`CREATE ROLE ${role} SUPERUSER LOGIN PASSWORD '${planted.database}'`)
  const url = new URL(database.url)
  url.username = role
  url.password = planted.database
  const { deployment } = world
  const node = `${proxy.url}/v3/${planted.node}?apikey=${planted.key}`
  env = {
    DATABASE_URL: url.href,
    REDIS_URL: `redis://:${planted.redis}@127.0.0.1:9/0`,
    RPC_URLS_8453: `http://${planted.host}.invalid:8545/, ${node}`,
    RPC_URLS_56: `http://127.0.0.1:9/v3/${planted.node}?apikey=${planted.key}`,
    PUBLIC_RPC_URL_8453: 'https://base.example',
    PUBLIC_RPC_URL_56: 'https://bnb.example',
    ...Object.fromEntries([8453, 56].map((id) => [`DIAMOND_ADDRESS_${id}`, deployment.diamond])),
    ...Object.fromEntries([8453, 56].map((id) => [`USDC_ADDRESS_${id}`, deployment.usdc])),
    ...Object.fromEntries([8453, 56].map((id) => [`START_BLOCK_${id}`, '0'])),
    USDT_ADDRESS_56: deployment.usdc,
    IDENTITY_USERINFO_URL: `http://127.0.0.1:9/userinfo?secret=${planted.identity}`,
    ENGINE_FRED_URL: `http://127.0.0.1:9/rates?api_key=${planted.rates}`,
    ENGINE_USD_RATE_URL: `http://127.0.0.1:9/bills?api_key=${planted.rates}`,
    ENGINE_SYNTHETIC: 'true',
    ENGINE_PRIVATE_KEY: `0x${planted.signer}`,
    WEBHOOKS_KEY: planted.webhooks,
    RATE_LIMIT_PER_MINUTE: '100000',
    ...longTimeouts,
    NODE_TIMEOUT_MS: '3000',
    ENGINE_TIMEOUT_MS: '1000',
    IDENTITY_TIMEOUT_MS: '1000',
    HOST: '127.0.0.1',
    METRICS_HOST: '127.0.0.1',
  }
})
afterAll(async () => {
  await Promise.all(children.map((child) => child.stop()))
  await administrator?.query(`REASSIGN OWNED BY ${role} TO CURRENT_USER; DROP ROLE ${role}`)
  await administrator?.end()
  await proxy?.close()
  await database?.close()
  await world?.close()
})

const statuses = new Set<number>()

const Body = z.object({ content: z.object({ 'application/json': z.object({ example: z.unknown() }) }) })
const Paths = z.object({
  paths: z.record(z.string(), z.record(z.string(), z.object({ requestBody: Body.optional() }))),
})

const wallet = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const values: Readonly<Record<string, string>> = { chainId: '8453', addr: wallet, proposalId: `0x${'5f'.repeat(32)}` }

/** Asks every documented route, and some that are none, with every credential there is. */
const askAll = async (base: string): Promise<void> => {
  const ask = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const headers = {
      authorization: `Bearer ${planted.bearer}`,
      cookie: `session=${planted.cookie}`,
      'x-api-key': planted.apiKey,
      'x-admin-token': planted.apiKey,
      'content-type': 'application/json',
    }
    const response = await fetch(`${base}${path}`, { ...init, headers, signal: AbortSignal.timeout(20_000) })
    statuses.add(response.status)
    const said = [...response.headers].map(([name, value]) => `${name}: ${value}`).join('\n')
    keep(`${init.method ?? 'GET'} ${path.split('?')[0]}`, `${said}\n${await response.clone().text()}`)
    return response
  }
  const described = await ask('/v1/openapi.json')
  const text = await described.text()
  expect(described.status, text).toBe(200)
  const { paths } = Paths.parse(JSON.parse(text))
  const requests = Object.entries(paths).flatMap(([template, methods]) =>
    Object.entries(methods).map(([method, { requestBody }]) => {
      const path = template.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '1')
      const query = `?notional=1&hypoSettlement=1&unknown=${planted.query}`
      const body = requestBody && JSON.stringify(requestBody.content['application/json'].example)
      return () => ask(path + (method === 'get' ? query : ''), { method: method.toUpperCase(), ...(body && { body }) })
    }),
  )
  expect(requests.length).toBeGreaterThan(60)
  const others = [
    () => ask('/status'),
    () => ask(`/v1/nothing?${planted.query}`),
    () => ask(`/v1/chains/%zz?${planted.query}`),
    () => ask('/v1/me'),
    () =>
      ask('/v1/tx/broadcast', {
        method: 'POST',
        body: JSON.stringify({ chainId: 8453, signedTx: `0x02${planted.signedTx}` }),
      }),
    () => ask('/v1/tx/broadcast', { method: 'POST', body: `{"chainId":8453,"signedTx":"${planted.signedTx}` }),
  ]
  const queue = [...requests, ...others].values()
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (const request of queue) await request()
    }),
  )
}

const scrape = async (port: number): Promise<void> => {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`)
  expect(answer.status).toBe(200)
  keep('metrics', await answer.text())
}

test('no output of a process contains a secret, with healthy and with failing dependencies', {
  timeout: 180_000,
}, async () => {
  const [api, apiMetrics, workerMetrics, engine, engineMetrics] = await Promise.all(Array.from({ length: 5 }, freePort))
  const base = `http://127.0.0.1:${api}`
  await Promise.all([
    run('engine', { ...env, ENGINE_PORT: String(engine), METRICS_PORT: String(engineMetrics) }),
    run('worker', { ...env, METRICS_PORT: String(workerMetrics) }),
    run('api', {
      ...env,
      PORT: String(api),
      METRICS_PORT: String(apiMetrics),
      ENGINE_URL: `http://127.0.0.1:${engine}`,
    }),
  ])
  const ports = [apiMetrics, workerMetrics, engineMetrics]
  const answers = async (path: string): Promise<number> =>
    (await fetch(base + path).catch(() => undefined))?.status ?? 0
  await expect.poll(() => answers('/livez')).toBe(200)
  await expect.poll(() => answers('/v1/hedge/events/8453/1')).toBe(200)
  await expect.poll(() => answers('/v1/pricing/signer')).toBe(200)
  await askAll(base)

  // A node whose errors repeat its URL with the key.
  const words = `forbidden for ${planted.key} at ${proxy.url}/v3/${planted.node}?apikey=${planted.key}`
  proxy.say((asked) => ({
    body: JSON.stringify(asked.map(({ id }) => ({ jsonrpc: '2.0', id, error: { code: -32_000, message: words } }))),
  }))
  // On a busy machine these answers can be late, and a late node is a 503.
  await expect
    .poll(
      async () => {
        await askAll(base)
        return [...statuses]
      },
      { timeout: 90_000 },
    )
    .toContain(502)
  proxy.say(() => ({ status: 403, body: words }))
  await askAll(base)
  proxy.honest()

  await administrator.query(`ALTER ROLE ${role} NOLOGIN`)
  await administrator.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [role])
  await askAll(base)
  await sleep(1_000)
  await Promise.all(ports.map((port) => scrape(Number(port))))
  for (const status of [200, 404, 503]) expect(statuses).toContain(status)
  await Promise.all(children.map((child) => child.stop()))

  // Starts that fail say what is wrong and not what they were given.
  const broken: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
    ['migrate', { ...env }],
    ['migrate', { DATABASE_URL: `postgres://u:${planted.database}@127.0.0.1:9/none` }],
    ['api', { ...env, DATABASE_URL: `postgres://u:${planted.database}@127.0.0.1:port/none` }],
    ['api', { ...env, RPC_URLS_8453: `https://u:${planted.key}@node.example/${planted.node}` }],
    ['engine', { ...env, ENGINE_PRIVATE_KEY: `0x${planted.signer}ff` }],
    ['worker', { ...env, REDIS_URL: `http://:${planted.redis}@127.0.0.1` }],
  ]
  for (const [command, environment] of broken) {
    const child = await run(command, { METRICS_PORT: 'off', ...environment })
    await child.exited
    expect(child.output()).not.toBe('')
  }

  // The searches below prove something only if there is much output.
  const logged = outputs.filter(({ of }) => of.startsWith('log of'))
  expect(logged.length).toBeGreaterThan(200)
  expect(logged.some(({ text }) => text.includes('node failed'))).toBe(true)
  const leaks = outputs.flatMap(({ of, text }) =>
    Object.entries(planted).flatMap(([what, secret]) => (text.includes(secret) ? [`${what} in ${of}: ${text}`] : [])),
  )
  console.log(
    `canaries: ${Object.keys(planted).length} secrets looked for in ${outputs.length} answers and lines of logs, found ${leaks.length} times`,
  )
  expect(leaks).toEqual([])
})
