import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { z } from 'zod'
import { migrationsOf } from '../../src/db/versions.ts'
import { Health } from '../../src/pricing/messages.ts'
import type { ChainId } from '../../src/protocol/chains.ts'
import { chainVariables, deployOn } from '../../src/sandbox/chain.ts'
import { startAnvil } from '../../src/sandbox/parts/anvil.ts'
import { type Child, startChild } from '../../src/sandbox/parts/child.ts'
import { claimPorts, freePort } from '../../src/sandbox/parts/ports.ts'
import { createAccounts } from '../../src/sandbox/story/accounts.ts'
import { cloneDatabase, type TestDatabase } from '../support/clone-database.ts'
import { readCompose } from '../support/compose.ts'
import { ENGINE_KEY } from '../support/engine.ts'
import { buildImage, type Image, releaseOf } from '../support/image.ts'
import { chainIds, factsOf } from '../support/known-chains.ts'
import { longTimeouts } from '../support/long-timeouts.ts'
import { eventually } from '../support/process.ts'
import { byForm } from '../support/repetitions.ts'
import { startTestRedis, type TestService } from '../support/services.ts'

/*
 * The deployment as its files say, without Docker: a folder as the Dockerfile makes it, and in it each service of the
 * compose file by its exact command, with its own variables and secrets. Only names and ports are other ones: there is
 * one machine.
 */

const run = promisify(execFile)
const Journal = z.looseObject({ entries: z.array(z.looseObject({})) })
const compose = readCompose()
const scratch = mkdtempSync(join(tmpdir(), 'fx-secrets-'))

let image: Image
let database: TestDatabase
let redis: TestService
const nodes: { close: () => Promise<void> }[] = []
const children: Child[] = []
const releases: Image[] = []
/** The values of `deployment.env`, and the addresses that replace the rest of the network. */
let deployment: Readonly<Record<string, string>>
let enginePort = 0

const startChain = async (chainId: ChainId) => {
  const node = await startAnvil({ chainId })
  nodes.push(node)
  return chainVariables(await deployOn(node.url, { chainId, ...factsOf(chainId) }, createAccounts()))
}

/** Roles belong to the server of the database. */
const onServer = async (statement: string): Promise<void> => {
  const client = new Client(inject('postgresUrl'))
  await client.connect()
  await client.query(statement)
  await client.end()
}

beforeAll(async () => {
  image = buildImage()
  const empty = cloneDatabase(inject('postgresUrl'), 'template0')
  ;[database, redis] = await Promise.all([empty, startTestRedis()])
  await onServer("CREATE ROLE fx_api LOGIN PASSWORD 'reads'")
  const chains = Object.assign({}, ...(await Promise.all(chainIds.map(startChain)))) as Record<string, string>
  ;[enginePort = 0] = await claimPorts([{ variable: 'ENGINE_PORT', port: 0 }])
  const { RPC_URLS_8453 = '', RPC_URLS_56 = '', ...addresses } = chains
  deployment = { ...addresses, JOBS_PREFIX: `fx-${process.pid}` }
  const secrets: Readonly<Record<string, string>> = {
    database_url: database.url,
    api_database_url: Object.assign(new URL(database.url), { username: 'fx_api', password: 'reads' }).href,
    rpc_urls_8453: RPC_URLS_8453,
    rpc_urls_56: RPC_URLS_56,
    engine_private_key: ENGINE_KEY,
    webhooks_key: 'ab'.repeat(32),
  }
  for (const [name, secret] of Object.entries(secrets)) writeFileSync(join(scratch, name), `${secret}\n`)
}, 120_000)

afterAll(async () => {
  await Promise.all(children.map((child) => child.stop()))
  await Promise.all([...nodes, database, redis].map((it) => it?.close()))
  await onServer('DROP ROLE fx_api')
  for (const each of [image, ...releases]) each?.remove()
  rmSync(scratch, { recursive: true, force: true })
})

const serviceOf = (name: string) => {
  const service = compose.services[name]
  if (service?.command === undefined) throw new Error(`there is no service ${name} with a command`)
  return { ...service, command: service.command }
}

/** The environment of one replica. The ports of the services' own variables become free ones. */
const environmentOf = async (name: string): Promise<Record<string, string>> => {
  const [port, metricsPort] = await claimPorts(['PORT', 'METRICS_PORT'].map((variable) => ({ variable, port: 0 })))
  const here = (value: string): string =>
    value
      .replace('/run/secrets/', `${scratch}/`)
      .replace('redis://redis:6379', redis.url)
      .replace(/http:\/\/(engine|127\.0\.0\.1):3100/, `http://127.0.0.1:${enginePort}`)
      .replace('http://127.0.0.1:3000', `http://127.0.0.1:${port}`)
      .replace('http://127.0.0.1:9464', `http://127.0.0.1:${metricsPort}`)
  const own = { ...image.environment, ...serviceOf(name).environment }
  const ports = { PORT: String(port), ENGINE_PORT: String(enginePort), METRICS_PORT: String(metricsPort) }
  const mapped = Object.fromEntries(Object.entries(own).map(([variable, value]) => [variable, here(value)]))
  return { PATH: process.env.PATH ?? '', ...longTimeouts, ...deployment, ...ports, ...mapped }
}

const commandOf = (name: string): [string, string[]] => {
  const [program = '', ...words] = [...image.entrypoint, ...serviceOf(name).command]
  return [program, words]
}

const start = async (name: string, release = image) => {
  const env = await environmentOf(name)
  const [command, args] = commandOf(name)
  const child = await startChild({ name, command, args, env, cwd: release.folder, graceMs: 15_000 })
  children.push(child)
  return { name, env, child }
}

/** Runs a service that ends by itself. */
const once = async (name: string, release: Image) => {
  const [command, args] = commandOf(name)
  return run(command, args, { env: await environmentOf(name), cwd: release.folder })
}

/**
 * The exit code and the output of a service that refuses to start: on stderr, or in its log if its database was late.
 */
const refusalOf = (name: string, release: Image) =>
  once(name, release).then(
    () => ({ code: 0, said: '' }),
    ({ code, stdout, stderr }) => ({ code, said: `${stdout}${stderr}` }),
  )

/**
 * Runs the image's health check against a process that serves its health URL. The check is a process of its own, so this
 * waits for the URL first.
 */
const healthy = async ({ name, env, child }: Awaited<ReturnType<typeof start>>): Promise<void> => {
  await eventually(`${name} serves its health URL`, async () => {
    if (child.hasExited()) throw new Error(`${name} ended: ${child.output()}`)
    return (await fetch(env.HEALTH_URL ?? '').catch(() => undefined))?.ok === true
  })
  const [program = '', ...args] = image.healthCheck
  await run(program, args, { env, cwd: image.folder })
}

test('a service that starts before the migration exits with an error that names the migrate command', async () => {
  const refusal = { code: 1, said: expect.stringMatching(/lacks 0017_.*migrate command/) }
  expect(await refusalOf('api', image)).toMatchObject(refusal)
})

// When a start checks the version is tested in `test/db/versions.test.ts`; here by a process, in the long form.
test.runIf(inject('form') === 'long')(
  'a service that starts before its database does not wait for it, and exits in order when the database does not support it',
  async () => {
    const port = await freePort()
    const { hostname, port: serverPort } = new URL(database.url)
    const away = new URL(database.url)
    away.host = `127.0.0.1:${port}`
    const env = { ...(await environmentOf('api')), DATABASE_URL_FILE: '', DATABASE_URL: away.href, DRAIN_MS: '0' }
    const [command, args] = commandOf('api')
    const child = await startChild({ name: 'api', command, args, env, cwd: image.folder })
    children.push(child)
    await healthy({ name: 'api', env, child })
    const server = createServer((client) => {
      const connection = connect(Number(serverPort), hostname)
      for (const socket of [client, connection]) socket.on('error', () => {})
      client.pipe(connection).pipe(client)
    }).listen(port, '127.0.0.1')
    try {
      expect(await child.exited).toMatch(/code 1/)
      expect(child.output()).toContain('lacks 0017_')
    } finally {
      server.close()
    }
  },
)

test('the migration succeeds, and in the long form a second one, which has nothing to do', async () => {
  for (let runs = 0; runs < byForm(1, 2); runs += 1) {
    expect((await once('migrate', image)).stdout).toContain('serves this version')
  }
})

test('engine, workers and APIs start by their commands, pass their health checks and serve', async () => {
  const replicas = ['engine', 'worker', 'api'].flatMap((name) =>
    Array.from({ length: serviceOf(name).deploy.replicas }, () => name),
  )
  expect(replicas).toEqual(['engine', 'worker', 'worker', 'api', 'api'])
  // Replicas have the same command and variables: one of each service by default.
  const started = await Promise.all(byForm([...new Set(replicas)], replicas).map((name) => start(name)))
  await Promise.all(started.map(healthy))

  const signer = '0x1a642f0E3c3aF545E7AcBD38b07251B3990914F1'
  for (const { env } of started.filter(({ name }) => name === 'api')) {
    const origin = `http://127.0.0.1:${env.PORT}`
    const get = async (path: string) => z.object({ data: z.unknown() }).parse(await (await fetch(origin + path)).json())
    await eventually('the API is ready', async () => (await fetch(`${origin}/readyz`)).status === 200)
    expect(await get('/v1/hedge/events')).toMatchObject({ data: [] })
    expect(await get('/v1/pricing/signer')).toEqual({ data: { signerAddress: signer } })
    // What is read from files of the image: the log of changes, the guide, the rates.
    expect(await get('/v1/changelog')).toMatchObject({ data: expect.anything() })
    expect((await fetch(`${origin}/v1/docs/guide/quick-start`)).status).toBe(200)
    const { pairs } = Health.parse((await get('/v1/pricing/health')).data)
    expect(pairs.length).toBeGreaterThan(10)
  }
}, 90_000)

test('the audit runs in the image and finds no difference', async () => {
  const env = { ...(await environmentOf('worker')) }
  const [program = '', ...words] = image.entrypoint
  const { stdout } = await run(program, [...words, 'audit'], { env, cwd: image.folder })
  expect(stdout.match(/no differences/g)).toHaveLength(2)
})

/** A later release: one more migration, which its files alone show. */
const withMigration = (release: Image, name: string, statement: string): Image => {
  const last = migrationsOf(join(release.folder, 'migrations')).at(-1)
  if (last === undefined) throw new Error('no migration')
  const tag = `${String(Number(last.tag.slice(0, 4)) + 1).padStart(4, '0')}_${name}`
  const later = releaseOf(release, (folder) => {
    const journal = join(folder, 'migrations/meta/_journal.json')
    const kept = Journal.parse(JSON.parse(readFileSync(journal, 'utf8')))
    const entry = { idx: kept.entries.length, version: '7', when: last.when + 1, tag, breakpoints: true }
    writeFileSync(journal, JSON.stringify({ ...kept, entries: [...kept.entries, entry] }))
    writeFileSync(join(folder, `migrations/${tag}.sql`), statement)
  })
  releases.push(later)
  return later
}

const serves = async (started: Awaited<ReturnType<typeof start>>): Promise<void> => {
  await eventually('the API is ready', async () => {
    if (started.child.hasExited()) throw new Error(started.child.output())
    const answer = await fetch(`http://127.0.0.1:${started.env.PORT}/v1/hedge/events?limit=1`).catch(() => undefined)
    return answer?.status === 200
  })
}

// Which versions a database serves is tested in `test/db/versions.test.ts`; here by processes, in the long form.
test.runIf(inject('form') === 'long')(
  'two versions run together after an expanding migration, and the older one does not start after a contracting one',
  async () => {
    const running = children.filter((child) => !child.hasExited())
    const next = withMigration(image, 'expand', 'ALTER TABLE "events" ADD COLUMN "remark" text;')
    // The newer version refuses to start before its migration, which then runs while the older version serves.
    expect(await refusalOf('api', next)).toMatchObject({ code: 1, said: expect.stringMatching(/lacks \d{4}_expand/) })
    await once('migrate', next)
    // The older version can still start and migrate, as after a restart or a return to it.
    await once('migrate', image)
    const [older, newer] = await Promise.all([start('api', image), start('api', next)])
    await Promise.all([older, newer].map(serves))
    expect(running.every((child) => !child.hasExited())).toBe(true)

    const [, number] = /^(\d{4})/.exec(migrationsOf(join(next.folder, 'migrations')).at(-1)?.tag ?? '') ?? []
    const floor = withMigration(next, 'floor', `INSERT INTO "schema_floors" VALUES (${Number(number)});`)
    const last = withMigration(floor, 'contract', 'ALTER TABLE "events" DROP COLUMN "remark";')
    await once('migrate', last)
    const refusal = { code: 1, said: expect.stringMatching(/newer than this version.*start the newer version/) }
    for (const name of ['api', 'worker', 'engine', 'migrate']) {
      // An engine with a slow database check goes on to open its port, which the running engine holds. So this polls.
      await expect.poll(() => refusalOf(name, image), { message: name }).toMatchObject(refusal)
    }
    await Promise.all([await start('api', next), await start('api', last)].map(serves))
  },
  90_000,
)

test('each service stops in order on the signal that Docker sends', async () => {
  expect(image.instructions).toContainEqual({ name: 'STOPSIGNAL', rest: 'SIGTERM' })
  expect(readdirSync(join(image.folder, 'dist'))).not.toContain('sandbox')
  const running = children.filter((child) => !child.hasExited())
  expect(running.length).toBeGreaterThanOrEqual(byForm(3, 5))
  await Promise.all(running.map((child) => child.stop()))
  expect(await Promise.all(running.map(({ exited }) => exited))).toEqual(
    running.map(() => expect.stringMatching(/code 0/)),
  )
})
