import { Client } from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { storeObservations } from '../../src/db/index/observations.ts'
import { readHeartbeat, saveHeartbeat } from '../../src/db/index/work/heartbeat.ts'
import { completeRefreshRequests, nextRefreshRequests, requestRefresh } from '../../src/db/index/work/refresh-queue.ts'
import { rollBack } from '../../src/db/index/write.ts'
import { migrate } from '../../src/db/migrate.ts'
import type { Database } from '../../src/db/pool.ts'
import { readEndpoint } from '../../src/db/webhooks/endpoints.ts'
import { cloneDatabase } from '../support/clone-database.ts'
import type { TestDatabase } from '../support/database.ts'
import { heartbeatAt } from '../support/healthy-index.ts'
import { openDatabase } from '../support/open-database.ts'
import { release } from '../support/release-0.1.0.ts'
import { blockOf, seedRows, seedToken, writeSeeded } from '../support/seed-index.ts'

/*
 * Processes of release 0.1.0 on a database of this version, which came from 0.1.0. `former` runs statements of 0.1.0 as
 * they are in its code, with values in place of parameters.
 */

const chainId = 8453
const rows = seedRows({ token: seedToken, rowsABlock: 10, wallets: 5, events: 4 }, { events: 4, positions: 4 })

let store: TestDatabase
let database: Database
let client: Client
const former = async (statement: string) => (await client.query(statement)).rows

beforeAll(async () => {
  store = await cloneDatabase(inject('postgresUrl'), 'template0')
  client = new Client(store.url)
  await client.connect()
  await migrate({ databaseUrl: store.url, folder: release })
  await former(`INSERT INTO rollbacks (chain_id, ancestor_number, last_note) VALUES (56, 1, 7)`)
  await migrate({ databaseUrl: store.url })
  database = openDatabase(store.url)
})
afterAll(async () => {
  await database.close()
  await client.end()
  await store.close()
})

test('both report and read heartbeats', async () => {
  await database.transaction((handle) => saveHeartbeat(handle, chainId, heartbeatAt(blockOf(5n))))
  expect(
    await former(`SELECT head_number, trouble, extract(epoch FROM clock_timestamp() - "looked_at") < 60 AS "isRecent" FROM looks
      WHERE chain_id = ${chainId}`),
  ).toEqual([{ head_number: '5', trouble: null, isRecent: true }])
  const nodes = `'{"endpoints": [], "halted": false, "hasLogs": true}'`
  const heartbeat = `"looked_at" = now(), "head_number" = 6, "head_timestamp" = 9, "source" = 'logs', "trouble" = 'no node', "endpoints" = ${nodes}`
  for (const chain of [chainId, 56])
    await former(`insert into "looks" ("chain_id", "looked_at", "head_number", "head_timestamp", "proven_number", "proven_hash",
        "proven_timestamp", "source", "trouble", "endpoints")
      values (${chain}, default, 6, 9, default, default, default, 'logs', 'no node', ${nodes})
      on conflict ("chain_id") do update set ${heartbeat}`)
  await former(`update "looks" set "proven_number" = null, "proven_hash" = null, "proven_timestamp" = null
    where ("looks"."chain_id" = ${chainId} and "looks"."proven_number" > 4)`)
  for (const chain of [chainId, 56] as const)
    expect(await database.run((handle) => readHeartbeat(handle, chain))).toMatchObject({
      ...{ head: { number: 6n, timestamp: 9n }, problem: 'no node', source: 'logs', proven: null },
      // The head that this release checked is not that of the heartbeat.
      isQuiet: false,
    })
})

test('both request refreshes, and complete those of the other', async () => {
  const refresh = (id: number, block: number) =>
    former(`INSERT INTO "unobserved" (chain_id, subject, id, from_block) VALUES (${chainId}, 'event', ${id}, ${block})
      ON CONFLICT (chain_id, subject, id) DO UPDATE SET version = "unobserved"."version" + 1,
        many = greatest("unobserved"."many", excluded.many), from_block = least("unobserved"."from_block", excluded.from_block)`)
  const next = () => nextRefreshRequests(database, chainId, 10)
  await refresh(1, 5)
  await refresh(2, 5)
  await database.transaction((handle) => requestRefresh(handle, chainId, [{ subject: 'event', id: 1n }], 4n))
  const [first, second] = await next()
  expect([first, second]).toMatchObject([
    { subject: 'event', id: 1n, version: 2 },
    { subject: 'event', id: 2n, version: 1 },
  ])
  expect(await former(`SELECT min(from_block) AS block FROM unobserved WHERE chain_id = ${chainId}`)).toEqual([
    { block: '4' },
  ])
  await former(`WITH completed AS (
      SELECT * FROM unnest('{${first?.sequence},${second?.sequence}}'::bigint[], '{1,1}'::integer[]) AS completed (noted, version)
    ), deleted AS (
      DELETE FROM "unobserved" AS request USING completed
      WHERE chain_id = ${chainId} AND request.noted = completed.noted AND request.version = completed.version
    ) UPDATE "unobserved" AS request SET from_block = 9 FROM completed
    WHERE chain_id = ${chainId} AND request.noted = completed.noted AND request.version <> completed.version
      AND request.from_block <= 8`)
  const left = await next()
  expect(left).toMatchObject([{ id: 1n, version: 2 }])
  expect(await former('SELECT id, from_block FROM unobserved ORDER BY noted')).toEqual([{ id: '1', from_block: '9' }])
  await database.transaction((handle) => completeRefreshRequests(handle, chainId, left, 9n))
  expect(await former('SELECT FROM unobserved')).toEqual([])
})

test('both see which requests were waiting at a rollback', async () => {
  const last = (column: string) => former(`SELECT ${column} AS last FROM rollbacks ORDER BY seq DESC LIMIT 1`)
  expect([await last('last_note'), await last('last_request')]).toEqual([[{ last: '7' }], [{ last: '7' }]])
  await former(`insert into "rollbacks" ("chain_id", "seq", "ancestor_number", "last_note", "rolled_back_at")
    values (${chainId}, default, 1, coalesce((SELECT max(noted) + 100 FROM "unobserved"), 41), default)`)
  expect([await last('last_note'), await last('last_request')]).toEqual([[{ last: '41' }], [{ last: '41' }]])
  await database.transaction((handle) => rollBack(handle, chainId, null))
  const [[newest], [seen]] = [await last('last_note'), await last('last_request')]
  expect(Number(newest?.last)).toBeGreaterThan(0)
  expect(newest).toEqual(seen)
})

test('a webhook endpoint that 0.1.0 registers belongs to no key', async () => {
  await former(`insert into "webhook_endpoints" ("id", "url", "types", "secret", "epoch", "seq", "created_at")
    values ('we_1', 'https://hooks.example/', '{settlement.settled}', 's', '', 0, now())`)
  expect(await database.run((handle) => readEndpoint(handle, 'we_1'))).toMatchObject({ apiKey: null, state: 'active' })
})

test('an observation of this release clears the text of a row, and 0.1.0 stores it again', async () => {
  await writeSeeded(database, chainId, blockOf(10n), rows)
  const [seen] = rows.positions
  const texts = () =>
    former('SELECT id::int, row_text FROM position_observations WHERE row_text IS NOT NULL ORDER BY id')
  const render = `UPDATE position_observations AS seen SET row_text = '{}', render_key = 1, render_flip = NOT seen.render_flip WHERE id < 3`
  await former(render)
  const observe = (position: object) =>
    database.transaction((handle) =>
      storeObservations(handle, chainId, blockOf(11n), {
        ...{ events: [], deposits: [], protocol: null },
        positions: [
          { position: { ...seen?.seen.position, ...position } as NonNullable<typeof seen>['seen']['position'] },
        ],
      }),
    )
  await observe({ status: 2 })
  expect(await texts()).toEqual([{ id: 2, row_text: '{}' }])
  await former(render)
  expect(await texts()).toHaveLength(2)
})

test('an event that 0.1.0 observes has its token with its fact', async () => {
  await former(`UPDATE events SET payment_token = NULL; CREATE TEMP TABLE seen AS TABLE event_observations;
    DELETE FROM event_observations WHERE id > 1`)
  await former(`INSERT INTO event_observations SELECT * FROM seen ON CONFLICT (chain_id, id) DO UPDATE
    SET payment_token = '\\x${'ab'.repeat(20)}', render_flip = NOT event_observations.render_flip`)
  expect(await former(`SELECT id::int, encode(payment_token, 'hex') AS token FROM events ORDER BY id`)).toEqual(
    [1, 2, 3, 4].map((id) => ({ id, token: id === 1 ? 'ab'.repeat(20) : seedToken.slice(2).toLowerCase() })),
  )
})
