import { sql } from 'drizzle-orm'
import { Client } from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { announce, changesAfter, greatestNumber, newestChange, reached } from '../../src/db/changes/changes.ts'
import { CHANNEL } from '../../src/db/changes/channel.ts'
import { type Touched, touching, touchingAll } from '../../src/db/changes/scopes.ts'
import { saveHeartbeat } from '../../src/db/index/work/heartbeat.ts'
import { moveCursor } from '../../src/db/index/write.ts'
import type { Database, Handle } from '../../src/db/pool.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { heartbeatAt } from '../support/healthy-index.ts'
import { openDatabase } from '../support/open-database.ts'
import { eventually } from '../support/process.ts'
import { blockOf } from '../support/seed-index.ts'

const chainId = 8453

let store: TestDatabase
let database: Database

beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url)
})
afterAll(async () => {
  await database?.close()
  await store?.close()
})
beforeEach(() =>
  database.run((handle) =>
    handle.execute('DELETE FROM changes; DELETE FROM change_counter; DELETE FROM cursors; DELETE FROM heartbeats'),
  ),
)

const commit = (touched: Touched, many?: number, chain = chainId): Promise<number> =>
  database.transaction((handle) => announce(handle, chain, touched, many))
const after = (seq: number) => database.run((handle) => changesAfter(handle, seq))
const newest = (): Promise<number> => database.run(newestChange)
const run = (statement: string) => database.run((handle) => handle.execute(statement))

/** Sets the last number to one that no clock reaches, so that the next numbers are known. */
const setLast = (last: number) => run(`UPDATE change_counter SET last = ${last}, fed = ${last}`)
const FUTURE = 8_000_000_000_000_000

const events = (count: number, bits = 1): Touched => ({
  ...touching(),
  scopes: new Map(Array.from({ length: count }, (_, at) => [`event:${at}`, bits])),
})

test('a change has the number of the clock, and the log has it with its chain and its scopes', async () => {
  expect(await newest()).toBe(0)
  const before = Date.now() - 60_000
  const first = await commit(touching('event:1', 'deposits'))
  expect(first / 1_000).toBeGreaterThan(before)
  expect(first / 1_000).toBeLessThan(Date.now() + 60_000)
  const second = await commit(touchingAll(null), undefined, 56)
  expect(second).toBeGreaterThan(first)
  expect(await newest()).toBe(second)
  const rows = [
    { seq: first, before: 0, chainId, scopes: ['event:1', 'deposits'] },
    { seq: second, before: first, chainId: 56, scopes: null },
  ]
  expect(await after(0)).toEqual(rows)
  expect(await after(first - 1)).toEqual(rows)
  expect(await after(first)).toEqual(rows.slice(1))
  expect(await after(second)).toEqual([])
})

test.each([
  ['one scope without an aspect', events(1, 0), 0, 1],
  ['three scopes with aspects', events(3), 0, 3],
  ['three scopes and two numbered things', events(3), 2, 5],
  ['numbered things alone', touching(), 2, 2],
  ['everything, with a reset', { ...events(3), all: true, reset: 'repaired' }, 2, 2],
  ['everything', touchingAll(null), 0, 1],
] as const)('%s take as many numbers as they need', async (_, touched, many, taken) => {
  await commit(touching('event:1'))
  await setLast(FUTURE)
  expect(await commit(touched, many)).toBe(FUTURE + taken)
  expect(await newest()).toBe(FUTURE + taken)
  expect((await after(FUTURE)).map(({ seq, before }) => [seq, before])).toEqual([[FUTURE + taken, FUTURE]])
})

test('the first change of a database takes as many numbers too', async () => {
  const last = await commit(events(3), 2)
  const rows = await run('SELECT last - before AS since, fed = last AS fed FROM change_counter')
  expect(rows.rows).toEqual([{ since: String(last), fed: true }])
})

test('a commit that touched nothing notifies and takes no number', async () => {
  const client = new Client(store.url)
  let notified = 0
  client.on('notification', ({ channel }) => {
    if (channel === CHANNEL) notified += 1
  })
  await client.connect()
  try {
    await client.query(`LISTEN ${CHANNEL}`)
    expect(await commit(touching())).toBe(0)
    await eventually('a notification of no change', () => notified === 1)
    expect([await newest(), await after(0)]).toEqual([0, []])
    await commit(touching('event:1'))
    await eventually('a notification of a change', () => notified === 2)
  } finally {
    await client.end()
  }
})

test.each([
  [1_000, 1_000],
  [1_001, null],
])('of a change of %i scopes the log has %s of them', async (count, logged) => {
  const seq = await commit(events(count, 0))
  const [change] = await after(seq - 1)
  expect(change?.scopes?.length ?? null).toBe(logged)
})

test('the log keeps the changes of the last minute', async () => {
  const clock = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint'
  await run(
    `INSERT INTO changes SELECT ${clock} - age * 1000000, 0, age FROM unnest(ARRAY[30, 58, 61, 200]) AS of (age)`,
  )
  await commit(touching('event:1'))
  expect((await after(0)).map((change) => change.chainId)).toEqual([58, 30, chainId])
})

test('transactions that announce one after another have numbers in the order of their commits', async () => {
  let release = (): void => {}
  const order: string[] = []
  let first = 0
  const slow = database.transaction(async (handle) => {
    first = await announce(handle, chainId, touching('event:1'))
    await new Promise<void>((resolve) => {
      release = resolve
    })
    order.push('slow')
  })
  await eventually('the first one has its number', () => first > 0)
  let waiting: Promise<number> | undefined
  const fast = database.transaction(async (handle) => {
    waiting = announce(handle, chainId, touching('event:2'))
    const number = await waiting
    order.push('fast')
    return number
  })
  await eventually('the second one waits', async () => {
    const { rows } = await run(
      `SELECT FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND datname = current_database()`,
    )
    return rows.length > 0
  })
  release()
  await slow
  expect(await fast).toBeGreaterThan(first)
  expect(order).toEqual(['slow', 'fast'])
})

const greatest = async (last: string): Promise<number> => {
  const { rows } = await database.run((handle) =>
    handle.execute<{ it: string; now: string }>(
      sql`SELECT ${greatestNumber(sql.raw(`${last}::bigint`))} AS it, extract(epoch FROM clock_timestamp()) * 1000000 AS now`,
    ),
  )
  return Number(rows[0]?.it) - (Number(last) > 1 ? 0 : Number(rows[0]?.now))
}

test('a reader may have a number of five seconds after the clock, or the last one', async () => {
  const ahead = await greatest('1')
  expect(ahead).toBeGreaterThan(4_000_000)
  expect(ahead).toBeLessThanOrEqual(5_000_000)
  expect(await greatest(String(FUTURE))).toBe(FUTURE)
})

const heartbeat = (handle: Handle, chain: number, source: 'logs' | 'ids') =>
  saveHeartbeat(handle, chain, heartbeatAt(blockOf(20n), { source }))

test('the progress of each chain has its own cursor and its own heartbeat', async () => {
  expect(await database.run(reached)).toEqual([])
  await database.transaction(async (handle) => {
    await moveCursor(handle, chainId, blockOf(10n))
    await moveCursor(handle, 56, blockOf(12n))
    await heartbeat(handle, chainId, 'ids')
    await heartbeat(handle, 1, 'logs')
  })
  const progress = async () => (await database.run(reached)).toSorted((a, b) => b.chainId - a.chainId)
  const [base, bnb] = await progress()
  expect([base, bnb]).toEqual([
    {
      ...{ chainId, block: blockOf(10n) },
      heartbeat: {
        ...{ ageSeconds: expect.any(Number), head: { number: 20n, timestamp: blockOf(20n).timestamp }, byLogs: false },
        ...{ isQuiet: false, stored: { block: blockOf(20n), ageMs: expect.any(Number) } },
      },
    },
    { chainId: 56, block: blockOf(12n), heartbeat: null },
  ])
  await database.transaction((handle) => heartbeat(handle, 56, 'logs'))
  await run(`UPDATE heartbeats SET reported_at = now() - interval '40 seconds' WHERE chain_id = 56`)
  const later = (await progress())[1]?.heartbeat
  expect(later).toMatchObject({ byLogs: true })
  expect(later?.ageSeconds).toBeGreaterThanOrEqual(40)
  expect(later?.ageSeconds).toBeLessThan(100)
})
