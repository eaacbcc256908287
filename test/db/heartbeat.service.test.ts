import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  deleteProof,
  type Heartbeat,
  noteUnknownLogs,
  readHeartbeat,
  saveHeartbeat,
} from '../../src/db/index/work/heartbeat.ts'
import type { Database } from '../../src/db/pool.ts'
import { logTopics } from '../../src/protocol/abi/logs.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
import { blockOf } from '../support/seed-index.ts'

const [chainId, other] = [8453, 56]

let store: TestDatabase
let database: Database

beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url, { maxConnections: 2 })
})
afterAll(async () => {
  await database?.close()
  await store?.close()
})
beforeEach(() => run('DELETE FROM heartbeats'))

const run = (statement: string) => database.run((handle) => handle.execute(sql.raw(statement)))
const save = (heartbeat: Heartbeat, chain = chainId) =>
  database.transaction((handle) => saveHeartbeat(handle, chain, heartbeat))
const read = (chain = chainId) => database.run((handle) => readHeartbeat(handle, chain))
const dropProof = (number: bigint) => database.transaction((handle) => deleteProof(handle, chainId, number))

const endpoint = {
  ...{ index: 0, rank: 'used', height: 2n ** 60n, timestamp: 5n, heightAgeSeconds: 1.5, width: 2_000n },
  ...{ missing: ['logs'], fault: 'no answer' },
}
const heartbeat: Heartbeat = {
  ...{ head: blockOf(20n), isQuiet: true, proven: blockOf(18n), source: 'logs', problem: 'the head is old' },
  jobsFault: 'DENIED',
  nodes: { endpoints: [endpoint, { ...endpoint, index: 1, height: null }], halted: true, hasLogs: false },
}
const { jobsFault: _, ...working } = heartbeat
const quiet: Heartbeat = { ...working, isQuiet: false, proven: null, source: 'ids', problem: null }
/** As it is read: without the hash of the head. */
const stored = ({ head: { number, timestamp }, ...rest }: Heartbeat) => ({
  jobsFault: null,
  ...rest,
  unknownLogs: null,
  head: { number, timestamp },
})

test('a heartbeat is read as it was stored, with its time and its age, by its chain', async () => {
  expect(await read()).toBeNull()
  await save(heartbeat)
  await save(quiet, other)
  const found = await read()
  expect(found).toEqual({ ...stored(heartbeat), at: expect.any(Date), ageSeconds: expect.any(Number) })
  expect(found?.ageSeconds).toBeLessThan(30)
  expect(await read(other)).toMatchObject(stored(quiet))
  await run(`UPDATE heartbeats SET reported_at = now() - interval '90 seconds'`)
  const later = await read()
  expect(later?.ageSeconds).toBeGreaterThanOrEqual(90)
  expect(later?.ageSeconds).toBeLessThan(120)
  expect((found?.at.getTime() ?? 0) - (later?.at.getTime() ?? 0)).toBeGreaterThan(80_000)
})

test('the next heartbeat replaces the last one and its time, but keeps the proof if it has none', async () => {
  await save(heartbeat)
  await save(heartbeat, other)
  await run(`UPDATE heartbeats SET reported_at = now() - interval '90 seconds'`)
  await save({ ...quiet, head: blockOf(21n) })
  expect(await read()).toMatchObject({ ...stored({ ...quiet, head: blockOf(21n) }), proven: blockOf(18n) })
  expect((await read())?.ageSeconds).toBeLessThan(30)
  expect((await read(other))?.ageSeconds).toBeGreaterThan(80)
  await save({ ...heartbeat, proven: blockOf(19n) })
  expect((await read())?.proven).toEqual(blockOf(19n))
})

test('a proof is deleted when a rollback goes below its block, on its chain', async () => {
  await save(heartbeat)
  await save(heartbeat, other)
  await dropProof(18n)
  expect((await read())?.proven).toEqual(blockOf(18n))
  await dropProof(17n)
  expect(await read()).toMatchObject({ ...stored(heartbeat), proven: null })
  expect((await read(other))?.proven).toEqual(blockOf(18n))
  const { rows } = await run(
    `SELECT proven_number, proven_hash, proven_timestamp FROM heartbeats WHERE chain_id = ${chainId}`,
  )
  expect(Object.values(rows[0] ?? {})).toEqual([null, null, null])
})

test('unknown logs are counted by their chain, and the newest one is kept, also without a topic', async () => {
  await save(heartbeat)
  await save(heartbeat, other)
  const note = (...logs: Parameters<typeof noteUnknownLogs>[2]) =>
    database.run((handle) => noteUnknownLogs(handle, chainId, logs))
  await note()
  expect((await read())?.unknownLogs).toBeNull()
  await note({ topics: ['0xab'], blockNumber: 6n }, { topics: ['0xcd', '0xef'], blockNumber: 7n })
  expect((await read())?.unknownLogs).toEqual({ many: 2n, topic: '0xcd', block: 7n })
  // One with another number of topics than the ABI has.
  const [known = '0x'] = logTopics
  await note({ topics: [known], blockNumber: 7n })
  expect((await read())?.unknownLogs).toEqual({ many: 3n, topic: null, block: 7n })
  await note({ topics: [], blockNumber: 8n })
  await save(heartbeat)
  expect((await read())?.unknownLogs).toEqual({ many: 4n, topic: null, block: 8n })
  expect((await read(other))?.unknownLogs).toBeNull()
})

test('a heartbeat of an older version has endpoints without time and age', async () => {
  await save(heartbeat)
  await run(
    `UPDATE heartbeats SET endpoints = endpoints #- '{endpoints,0,timestamp}' #- '{endpoints,0,heightAgeSeconds}'`,
  )
  const { timestamp: _, heightAgeSeconds: __, ...older } = endpoint
  expect((await read())?.nodes.endpoints[0]).toEqual(older)
})
