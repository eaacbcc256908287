import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addApiKey, readApiKeys } from '../../src/db/api-keys.ts'
import { carry } from '../../src/db/carry/carry.ts'
import type { Database } from '../../src/db/pool.ts'
import { readEndpoints } from '../../src/db/webhooks/endpoints.ts'
import { hashApiKey, newApiKey } from '../../src/identity/api-keys.ts'
import { openApp } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { rowsOf } from '../support/index-writes.ts'
import { openDatabase } from '../support/open-database.ts'

/* What integrators and the operator change in the previous database, around the moment in which it is carried over. */

let stores: readonly [previous: TestDatabase, rebuilt: TestDatabase]
let previous: Database
let rebuilt: Database
let api: Awaited<ReturnType<typeof openApp>>

beforeAll(async () => {
  stores = [await createTestDatabase(), await createTestDatabase()]
  previous = openDatabase(stores[0].url)
  rebuilt = openDatabase(stores[1].url)
  const begin = (epoch: string) => `INSERT INTO change_counter (one, last, before, epoch) VALUES (1, 0, 0, '${epoch}')`
  await rowsOf(previous, begin('first'))
  await rowsOf(rebuilt, begin('second'))
  api = await openApp({ databaseUrl: stores[0].url, selfService: {} })
})
afterAll(async () => {
  await api?.close()
  await previous?.close()
  await rebuilt?.close()
  for (const store of stores ?? []) await store.close()
})

const urls = () => ({ previous: stores[0].url, rebuilt: stores[1].url })

const register = (key: string, path: string) =>
  api.send({
    ...{ method: 'POST', url: '/v1/webhooks', headers: { 'x-api-key': key } },
    payload: { url: `https://receiver.example/${path}`, types: ['settlement.settled', 'settlement.reverted'] },
  })

const pathsIn = async (database: Database): Promise<string[]> =>
  (await database.run(readEndpoints)).map(({ url }) => new URL(url).pathname)

/** Resolves when a statement of another connection waits for a lock of a table. */
const untilOneWaits = (table: string) =>
  expect
    .poll(() =>
      rowsOf(
        previous,
        `SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = database
          WHERE datname = current_database() AND relation = '${table}'::regclass AND NOT granted`,
      ),
    )
    .toHaveLength(1)

test('a registration is carried over or refused, and never lost', async () => {
  const key = newApiKey()
  const own = { id: 'ak_ama', name: 'Ama', hash: hashApiKey(key), createdAt: new Date() }
  await previous.run((handle) => addApiKey(handle, own))
  expect(await register(key, 'before')).toMatchObject({ status: 200 })

  // A carry that fails refuses nothing.
  await rowsOf(
    previous,
    "INSERT INTO cursors (chain_id, block_number, block_hash, block_timestamp) VALUES (56, 7, '\\x07', 7)",
  )
  await expect(carry(urls())).rejects.toThrow('chain 56: the rebuilt index is at block none')
  await rowsOf(previous, 'DELETE FROM cursors')
  expect(await register(key, 'after-failure')).toMatchObject({ status: 200 })

  // One that began before the carry is committed after it has begun, and one begins during it.
  const slow = new Client(stores[0].url)
  await slow.connect()
  await slow.query('BEGIN')
  await slow.query(`INSERT INTO webhook_endpoints (id, api_key, url, types, secret, epoch, seq, created_at)
    SELECT 'we_slow', api_key, 'https://receiver.example/slow', types, secret, epoch, seq, now() FROM webhook_endpoints LIMIT 1`)
  const carrying = carry(urls())
  await untilOneWaits('webhook_endpoints')
  await slow.query('COMMIT')
  await slow.end()
  expect(await carrying).toMatchObject({ keys: 1, endpoints: 3 })
  expect(await pathsIn(rebuilt)).toEqual(['/before', '/after-failure', '/slow'])

  // An API that was not restarted yet.
  expect(await register(key, 'late')).toMatchObject({ status: 503, error: { code: 'service_unavailable' } })
  const [{ id } = { id: '' }] = await previous.run(readEndpoints)
  const headers = { 'x-api-key': key }
  expect(await api.send({ method: 'DELETE', url: `/v1/webhooks/${id}`, headers })).toMatchObject({ status: 503 })
  expect(await api.send({ method: 'POST', url: `/v1/webhooks/${id}/ping`, headers })).toMatchObject({ status: 503 })
  expect(await api.send({ method: 'GET', url: '/v1/webhooks', headers })).toMatchObject({ status: 200 })
  const late = { ...own, id: 'ak_kofi', hash: hashApiKey(newApiKey()) }
  await expect(previous.run((handle) => addApiKey(handle, late))).rejects.toMatchObject({
    code: 'service_unavailable',
    cause: { message: 'MV001 this database was carried over to another one' },
  })
  expect(await previous.run(readApiKeys)).toHaveLength(1)
  expect(await pathsIn(previous)).toEqual(['/before', '/after-failure', '/slow'])

  // The new database takes what the previous one refused.
  await rebuilt.run((handle) => addApiKey(handle, late))

  // The way back.
  await rowsOf(previous, 'DROP FUNCTION refuse_carried CASCADE')
  expect(await register(key, 'back')).toMatchObject({ status: 200 })
})
