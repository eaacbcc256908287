import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { migrate } from '../../src/db/migrate.ts'
import { requireVersion } from '../../src/db/versions.ts'
import { startIndexed } from '../support/indexing.ts'
import { openDatabase } from '../support/open-database.ts'
import { eventually } from '../support/process.ts'

/** Roles belong to the server, which other tests use too. */
const role = `fx_api_${randomBytes(6).toString('hex')}`
let indexed: Awaited<ReturnType<typeof startIndexed>>
let owner: Client
/** The URL of the database for the role. */
let url: string

beforeAll(async () => {
  indexed = await startIndexed([8453])
  owner = new Client(indexed.url)
  await owner.connect()
  await owner.query(`CREATE ROLE ${role} LOGIN PASSWORD 'reads'`)
  url = Object.assign(new URL(indexed.url), { username: role, password: 'reads' }).href
})
afterAll(async () => {
  await owner.end()
  await indexed.close()
  const server = new Client(inject('postgresUrl'))
  await server.connect()
  await server.query(`DROP ROLE ${role}`)
  await server.end()
})

test('a role that does not exist is refused with the remedy', async () => {
  await expect(migrate({ databaseUrl: indexed.url, readRole: 'no_such_role' })).rejects.toThrow(
    'the role no_such_role of DATABASE_READ_ROLE does not exist: create it with CREATE ROLE no_such_role',
  )
})

test('the role that migrates is refused, because it needs all rights', async () => {
  const { username } = new URL(indexed.url)
  await expect(migrate({ databaseUrl: indexed.url, readRole: username })).rejects.toThrow(
    `DATABASE_READ_ROLE is ${username}, the role of DATABASE_URL: name another role, or unset it`,
  )
})

/** The rights of the role by table. */
const rightsOf = async (): Promise<Readonly<Record<string, readonly string[]>>> => {
  const { rows: tables } = await owner.query<{ name: string; rights: string[] }>(
    `SELECT tablename AS name, ARRAY(
        SELECT privilege FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE']) AS privilege
        WHERE has_table_privilege($1, format('%I.%I', schemaname, tablename), privilege)) AS rights
      FROM pg_tables WHERE schemaname IN ('public', 'drizzle')`,
    [role],
  )
  expect(tables.length).toBeGreaterThan(20)
  return Object.fromEntries(tables.map(({ name, rights }) => [name, rights]))
}

test('a migration allows its role to read every table, and to write those of webhooks only with self-service', async () => {
  await migrate({ databaseUrl: indexed.url, readRole: role, selfService: true })
  const { webhook_endpoints, deliveries, ...others } = await rightsOf()
  expect(webhook_endpoints).toEqual(['SELECT', 'INSERT', 'UPDATE', 'DELETE'])
  expect(deliveries).toEqual(['SELECT', 'INSERT', 'UPDATE'])
  expect(Object.keys(others)).toContain('api_keys')
  for (const [name, rights] of Object.entries(others)) expect([name, rights]).toEqual([name, ['SELECT']])

  await migrate({ databaseUrl: indexed.url, readRole: role })
  for (const [name, rights] of Object.entries(await rightsOf())) expect([name, rights]).toEqual([name, ['SELECT']])
})

test('an API process answers everything with the role', async () => {
  const database = openDatabase(url, { maxConnections: 1 })
  await requireVersion(database)
  await database.close()
  const api = await indexed.open({ databaseUrl: url })
  await indexed.quiet()
  const wallet = indexed.world.creator.account.address
  const paths = [
    ...[
      'events?include=stats,utilization&',
      'positions?',
      'deposits?include=valuation&',
      'settlements?',
      'events?at=2&',
    ].map((list) => `/v1/hedge/${list}chainId=8453`),
    ...['portfolio', 'series'].map((read) => `/v1/wallets/${wallet}/${read}?chainId=8453`),
    ...['/v1/series?chainId=8453', '/v1/activity?chainId=8453', '/v1/changes?chainId=8453', '/status'],
    ...['', '/stats', '/positions', '/series'].map((read) => `/v1/hedge/events/8453/1${read}`),
  ]
  for (const path of paths) {
    const { statusCode, body } = await api.app.inject(path)
    expect([path, statusCode], body).toEqual([path, 200])
  }
  // A wait asks the worker for fast polls by a notification, which is no write.
  await indexed.world.actions.createEvent(indexed.world.creator, indexed.world.upward)
  const { number } = await indexed.world.actions.client.getBlock()
  await eventually('the list has the block', async () => {
    const { statusCode } = await api.app.inject(`/v1/hedge/events?chainId=8453&minBlock=${number}`)
    return statusCode === 200
  })
})
