import { sql } from 'drizzle-orm'
import { Client } from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import {
  completeRefreshRequests,
  nextRefreshRequests,
  type RefreshSubject,
  requestRefresh,
} from '../../src/db/index/work/refresh-queue.ts'
import { limitConnections } from '../../src/db/limited.ts'
import { createDatabase, type Database, type Handle } from '../../src/db/pool.ts'
import { sleep } from '../../src/lib/lifecycle.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
import { eventually } from '../support/process.ts'

const log = pino({ level: 'silent' })

let test_: TestDatabase
let database: Database

beforeAll(async () => {
  test_ = await createTestDatabase()
  database = openDatabase(test_.url)
})
afterAll(async () => {
  await database?.close()
  await test_?.close()
})

test('a connection that ends between two statements fails only the transaction that uses it', async () => {
  const broken = database.transaction(async (handle) => {
    const { rows } = await handle.execute<{ pid: number }>(sql`SELECT pg_backend_pid() AS pid`)
    await database.run((other) => other.execute(sql`SELECT pg_terminate_backend(${rows[0]?.pid})`))
    // The server's last message arrives while the connection is idle: only a listener receives it.
    await sleep(100)
    await handle.execute(sql`SELECT 1`)
  })
  await expect(broken).rejects.toMatchObject({ code: 'service_unavailable' })
  const { rows } = await database.run((handle) => handle.execute(sql`SELECT 1 AS one`))
  expect(rows).toEqual([{ one: 1 }])
})

test('when the signal of a database aborts, its waiting transactions are given up and their locks are released', async () => {
  const stop = new AbortController()
  const stopping = createDatabase({
    ...{ url: test_.url, log, maxConnections: 2, statementTimeoutMs: 120_000 },
    signal: stop.signal,
  })
  const holder = new Client(test_.url)
  const lock = (handle: Handle, id: number) => handle.execute(sql`SELECT pg_advisory_xact_lock(${id})`)
  const isHeld = async (id: number): Promise<boolean> => {
    const { rows } = await database.run((handle) =>
      handle.execute(sql`SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = ${id} AND granted`),
    )
    return rows.length > 0
  }
  try {
    await holder.connect()
    await holder.query('SELECT pg_advisory_lock(1)')
    const waiting = stopping.transaction(async (handle) => {
      await lock(handle, 2)
      await lock(handle, 1)
    })
    await vi.waitUntil(() => isHeld(2), 5_000)
    stop.abort()
    await expect(waiting).rejects.toMatchObject({ code: 'service_unavailable' })
    // The server releases it by itself, while the other lock is still held.
    await vi.waitUntil(async () => !(await isHeld(2)), 10_000)
    expect(await isHeld(1)).toBe(true)
    await expect(stopping.transaction((handle) => lock(handle, 1))).rejects.toThrow(/aborted/)
  } finally {
    await Promise.all([stopping.close(), holder.end()])
  }
})

test('a subject that is requested repeatedly does not delay the observation of the others', async () => {
  const awaiting: RefreshSubject[] = Array.from({ length: 6 }, (_, at) => ({ subject: 'event', id: BigInt(at) }))
  const position: RefreshSubject = { subject: 'position', id: 1n }
  const mark = (subjects: readonly RefreshSubject[]) =>
    database.transaction((handle) => requestRefresh(handle, 56, subjects))
  const observed: RefreshSubject[] = []
  await mark(awaiting)
  await mark([position])
  for (let step = 0; step < 3; step += 1) {
    const next = await nextRefreshRequests(database, 56, 3)
    observed.push(...next)
    await database.transaction((handle) => completeRefreshRequests(handle, 56, next, 1n))
    await mark(awaiting)
  }
  expect(observed).toContainEqual(expect.objectContaining(position))
  expect(new Set(observed.map(({ subject, id }) => `${subject} ${id}`)).size).toBe(awaiting.length + 1)
})

test('a connection that ends at the start of a transaction or during COPY is replaced in the pool', async () => {
  const one = openDatabase(test_.url, { maxConnections: 1 })
  try {
    const pidOf = async (handle: Handle) =>
      (await handle.execute<{ pid: number }>(sql`SELECT pg_backend_pid() AS pid`)).rows[0]?.pid
    const end = (pid: number | undefined) =>
      database.run((handle) => handle.execute(sql`SELECT pg_terminate_backend(${pid})`))
    for (let time = 0; time < 20; time += 1) {
      const pid = await one.run(pidOf)
      const begun = time % 2 === 0 ? one.snapshot(pidOf) : one.transaction(pidOf)
      await Promise.all([end(pid), begun.catch(() => {})])
      const copied = one.transaction(async (handle, copy) => {
        await end(await pidOf(handle))
        await copy('COPY positions FROM STDIN', [Buffer.from('never\n')])
      })
      await expect(copied).rejects.toMatchObject({ code: 'service_unavailable' })
    }
    expect(await one.snapshot(pidOf)).toBeGreaterThan(0)
  } finally {
    await one.close()
  }
})

test('the server cancels a statement that takes too long, and its connection stays usable', async () => {
  const short = createDatabase({ url: test_.url, log, maxConnections: 1, statementTimeoutMs: 200 })
  try {
    const slow = 'SELECT pg_sleep(30) AS slow'
    await expect(short.rows({ text: slow, values: [] })).rejects.toMatchObject({ code: 'service_unavailable' })
    await expect(short.snapshot((handle) => handle.execute(sql.raw(slow)))).rejects.toMatchObject({
      code: 'service_unavailable',
    })
    const left = `SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query = '${slow}'`
    expect(await short.rows({ text: left, values: [] })).toEqual([['0']])
  } finally {
    await short.close()
  }
})

test('work that waits for one of few connections is given up by the pool, and not by a limit in front of it', async () => {
  const small = createDatabase({
    url: test_.url,
    log,
    maxConnections: 4,
    statementTimeoutMs: 10_000,
    connectTimeoutMs: 300,
  })
  const failuresOf = async (database: Database): Promise<number> => {
    const work = Array.from({ length: 20 }, () => database.run((handle) => handle.execute(sql`SELECT pg_sleep(0.2)`)))
    return (await Promise.allSettled(work)).filter(({ status }) => status === 'rejected').length
  }
  try {
    expect(await failuresOf(small)).toBeGreaterThan(0)
    const limited = failuresOf(limitConnections(small, 2))
    await eventually('work has begun', () => small.connections().total - small.connections().idle > 0)
    expect(small.connections().total - small.connections().idle).toBeLessThanOrEqual(2)
    expect(await limited).toBe(0)
  } finally {
    await small.close()
  }
})

test('the reason why a database is out of reach is logged once, not for each query', async () => {
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) })
  const short = createDatabase({
    ...{ url: test_.url, log, maxConnections: 2 },
    statementTimeoutMs: 200,
    name: 'short',
  })
  try {
    const slow = sql`SELECT pg_sleep(30)`
    const asked = await Promise.allSettled([1, 2, 3].map(() => short.run((handle) => handle.execute(slow))))
    const refused = { status: 'rejected', reason: expect.objectContaining({ code: 'service_unavailable' }) }
    expect(asked).toEqual([refused, refused, refused])
    const logged = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'the database is out of reach')
    expect(logged).toEqual([
      expect.objectContaining({ pool: 'short', fault: expect.stringMatching(/^(?!Failed query).*timeout/) }),
    ])
  } finally {
    await short.close()
  }
})

test.each([
  ['as long as configured', 10_000, 'waited'],
  ['no longer', 100, 'service_unavailable'],
] as const)('a query waits for a connection %s', async (_, connectTimeoutMs, outcome) => {
  const only = createDatabase({
    ...{ url: test_.url, log, maxConnections: 1, connectTimeoutMs },
    statementTimeoutMs: 10_000,
  })
  try {
    // The first connection may take longer than the shorter wait.
    const connect = () => only.run((handle) => handle.execute(sql`SELECT 1`))
    await expect.poll(() => connect().then(() => 'connected', String)).toBe('connected')
    const [first, second] = [1.5, 0].map((seconds) =>
      only
        .run((handle) => handle.execute(sql`SELECT pg_sleep(${seconds})`))
        .then(
          () => 'waited',
          ({ code }: { readonly code: string }) => code,
        ),
    )
    expect([await first, await second]).toEqual(['waited', outcome])
  } finally {
    await only.close()
  }
})
