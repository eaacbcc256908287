import { pino } from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { announce, newestChange } from '../../src/db/changes/changes.ts'
import { createReader } from '../../src/db/changes/reader.ts'
import { touching } from '../../src/db/changes/scopes.ts'
import { createDatabase, type Database, type Reader } from '../../src/db/pool.ts'
import { createClosers } from '../../src/lib/lifecycle.ts'
import { startGate } from '../faults/gate.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/process.ts'

const log = pino({ level: 'silent' })
const RETURN_AFTER_MS = 100

/** Two databases. The second one gets the state of the first one when a test replicates, as a replica with a lag. */
let origin: Database
let copy: Database
let gate: Awaited<ReturnType<typeof startGate>>
let reader: Reader
let closers: ReturnType<typeof createClosers>

beforeEach(async () => {
  closers = createClosers()
  const open = async (through: (url: string) => Promise<string>): Promise<Database> => {
    const store = closers.add('store', await createTestDatabase(), (it) => it.close())
    const url = await through(store.url)
    const database = createDatabase({ url, log, maxConnections: 4, statementTimeoutMs: 1_000 })
    return closers.add('database', database, (it) => it.close())
  }
  origin = await open(async (url) => url)
  copy = await open(async (url) => {
    gate = closers.add('gate', await startGate(new URL(url)), (it) => it.close())
    return gate.url
  })
  reader = createReader({ copy, origin, log, returnAfterMs: RETURN_AFTER_MS })
})
afterEach(() => closers.close())

const change = (): Promise<number> => origin.transaction((handle) => announce(handle, 8453, touching('event:1')))

/** Replicates the state. */
const replicate = async (): Promise<void> => {
  const [[last, before] = []] = await origin.rows({ text: 'SELECT last, before FROM change_counter', values: [] })
  await copy.rows({
    text: `INSERT INTO change_counter (one, last, before) VALUES (1, $1, $2)
      ON CONFLICT (one) DO UPDATE SET last = excluded.last, before = excluded.before`,
    values: [last, before],
  })
}

const seen = (): Promise<number> => reader.run(newestChange)

/** The name of the database that was read. */
const source = async (): Promise<string> => {
  const [[name] = []] = await reader.rows({ text: 'SELECT current_database()', values: [] })
  const [[own] = []] = await origin.rows({ text: 'SELECT current_database()', values: [] })
  return name === own ? 'origin' : 'copy'
}

test('reads use the replica while it is in reach, whatever its lag', async () => {
  const first = await change()
  await replicate()
  await change()
  expect([await source(), await seen()]).toEqual(['copy', first])
})

test('reads use the primary while the replica is out of reach, and never go back in time afterwards', async () => {
  await change()
  await replicate()
  await gate.shut()
  expect(await source()).toBe('origin')
  const second = await change()
  expect(await seen()).toBe(second)
  await gate.open()
  // The replica is back, but lacks what was read from the primary.
  for (let times = 0; times < 30; times += 1) {
    expect([await source(), await seen()]).toEqual(['origin', second])
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  await replicate()
  await eventually('the copy is read again', async () => (await source()) === 'copy')
  expect(await seen()).toBe(second)
})

test('continuous reads never go back in time while the replica becomes unreachable and returns', async () => {
  const ending = new AbortController()
  const read = async (): Promise<number> => {
    let [newest, times] = [0, 0]
    for (; !ending.signal.aborted; times += 1) {
      const now = await seen()
      expect(now).toBeGreaterThanOrEqual(newest)
      newest = now
    }
    return times
  }
  const readers = Array.from({ length: 3 }, read)
  for (let round = 0; round < 4; round += 1) {
    await change()
    await replicate()
    await gate.shut()
    await eventually('the origin is read', async () => (await source()) === 'origin')
    for (let times = 0; times < 20; times += 1) await change()
    await gate.open()
    await replicate()
    await eventually('the copy is read again', async () => (await source()) === 'copy')
  }
  ending.abort()
  expect(Math.min(...(await Promise.all(readers)))).toBeGreaterThan(20)
})

test('a rejected statement does not count as an outage of the replica', async () => {
  await expect(reader.rows({ text: 'SELECT 1/0', values: [] })).rejects.toMatchObject({ code: '22012' })
  expect(await source()).toBe('copy')
})

test('a read fails with service_unavailable when both databases are out of reach', async () => {
  await gate.shut()
  const nowhere = createDatabase({
    url: 'postgres://127.0.0.1:9/none',
    log,
    maxConnections: 1,
    statementTimeoutMs: 100,
  })
  closers.add('nowhere', nowhere, (it) => it.close())
  await expect(createReader({ copy, origin: nowhere, log }).run(newestChange)).rejects.toMatchObject({
    code: 'service_unavailable',
  })
})
