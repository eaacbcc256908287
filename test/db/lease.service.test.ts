import { sql } from 'drizzle-orm'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { extendLease, holdLease, type Lease, LeaseLost, releaseLease, takeLease } from '../../src/db/index/lease.ts'
import { nextRefreshRequests, requestRefresh } from '../../src/db/index/refresh-queue.ts'
import { createDatabase, type Database } from '../../src/db/pool.ts'
import { sleep } from '../../src/lib/lifecycle.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { ranMs } from '../support/stopwatch.ts'

const log = pino({ level: 'silent' })
const TTL_MS = 2_000
/** Longer than any stall of a machine, so that the lease does not expire and its holder does not seem silent. */
const LONG_MS = 12_000

let store: TestDatabase
let database: Database
/** The sessions of the leader and of the standby. */
let session: Database
let standby: Database

const open = (maxConnections: number): Database =>
  createDatabase({ url: store.url, log, maxConnections, statementTimeoutMs: 5_000 })

beforeAll(async () => {
  store = await createTestDatabase()
  database = open(4)
  standby = open(1)
})
beforeEach(async () => {
  await database.run((handle) => handle.execute(sql`DELETE FROM leases`))
  session = open(1)
})
afterAll(async () => {
  await Promise.all([database?.close(), standby?.close()])
  await store?.close()
})

afterEach(() => session.close())

const lead = async (ttlMs = TTL_MS): Promise<Lease> => {
  const lease = await takeLease(session, 8453, 'leader', ttlMs)
  if (lease === null) throw new Error('another worker has the lease')
  return lease
}

const stand = (ttlMs = TTL_MS): Promise<Lease | null> => takeLease(standby, 8453, 'standby', ttlMs)

/** The seconds until the lease expires. */
const left = async (): Promise<number> => {
  const { rows } = await database.run((handle) =>
    handle.execute<{ left: string }>(sql`SELECT extract(epoch FROM expires_at - now()) AS left FROM leases`),
  )
  return Number(rows[0]?.left)
}

/** Tries until the standby has the lease, and returns the seconds that the old lease had left. */
const untilTaken = async (ttlMs?: number): Promise<number> => {
  for (;;) {
    const [at, before] = [performance.now(), await left()]
    if ((await stand(ttlMs)) !== null) return before - (performance.now() - at) / 1_000
    await sleep(20)
  }
}

/** Ends the leader's connection on the server. The leader itself continues. */
const cut = async (): Promise<void> => {
  await database.run((handle) =>
    handle.execute(sql`SELECT pg_terminate_backend(session_pid, 1000) FROM leases WHERE session_pid IS NOT NULL`),
  )
}

test('the next worker that takes a lease gets a higher epoch, and the first one cannot write any more', async () => {
  const first = await lead()
  expect(await stand()).toBeNull()
  await database.transaction((handle) => holdLease(handle, first, 1))
  await sleep(5)
  expect((await stand())?.epoch).toBe(first.epoch + 1n)
  await expect(
    database.transaction(async (handle) => {
      await holdLease(handle, first, TTL_MS)
      await requestRefresh(handle, 8453, [{ subject: 'event', id: 1n }])
    }),
  ).rejects.toBeInstanceOf(LeaseLost)
  expect(await nextRefreshRequests(database, 8453, 10)).toEqual([])
})

test('only the holder can release a lease, and the next worker can take it at once', async () => {
  const old = await lead()
  const holder = await lead()
  await releaseLease(session, old)
  expect(await stand()).toBeNull()
  await releaseLease(session, holder)
  await sleep(5)
  expect((await stand())?.epoch).toBe(holder.epoch + 1n)
})

test('the lease of a leader whose process has ended is taken before it expires', async () => {
  const dead = await lead(LONG_MS)
  // A killed process shows on the server only by the end of its connections.
  await session.close()
  session = open(1)
  expect(await untilTaken(LONG_MS)).toBeGreaterThan(LONG_MS / 2_000)
  await expect(database.transaction((handle) => holdLease(handle, dead, TTL_MS))).rejects.toBeInstanceOf(LeaseLost)
})

test('a silent leader with an open session keeps its lease until it expires', async () => {
  await lead()
  expect(await untilTaken()).toBeLessThan(0.2)
})

test('another process with the process id of the dead leader is not taken for it', async () => {
  await lead(LONG_MS)
  await database.run((handle) =>
    handle.execute(sql`UPDATE leases SET session_since = session_since - interval '1 day'`),
  )
  expect(await untilTaken(LONG_MS)).toBeGreaterThan(LONG_MS / 2_000)
})

test('a leader that repeatedly loses its connection keeps its lease under its new session', async () => {
  const lease = await lead(LONG_MS)
  for (let times = 0; times < 10; times += 1) {
    await cut()
    expect(await stand(LONG_MS)).toBeNull()
    // As the follower does: one attempt fails with the old connection, the next one uses a new connection.
    await extendLease(session, lease, LONG_MS).catch(() => {})
    await extendLease(session, lease, LONG_MS)
    await sleep(100)
  }
  const { rows } = await database.run((handle) =>
    handle.execute(
      sql`SELECT pid FROM pg_stat_activity JOIN leases ON pid = session_pid AND backend_start = session_since`,
    ),
  )
  expect(rows).toHaveLength(1)
  await database.transaction((handle) => holdLease(handle, lease, LONG_MS))
})

test('a lease without a known session is valid until it expires', async () => {
  await lead()
  await database.run((handle) => handle.execute(sql`UPDATE leases SET session_pid = NULL, session_since = NULL`))
  expect(await untilTaken()).toBeLessThan(0.2)
})

test('a leader that freezes inside a transaction is replaced, and its transaction is rolled back', async () => {
  const lease = await lead(500)
  let thaw = (): void => {}
  const frozen = database.transaction(async (handle) => {
    await holdLease(handle, lease, 500)
    await requestRefresh(handle, 8453, [{ subject: 'event', id: 2n }])
    await new Promise<void>((resolve) => {
      thaw = resolve
    })
  })
  const ended = expect(frozen).rejects.toMatchObject({ code: 'service_unavailable' })
  const began = ranMs()
  while ((await stand()) === null) await sleep(50)
  expect(ranMs() - began).toBeLessThan(5_000)
  thaw()
  await ended
  expect(await nextRefreshRequests(database, 8453, 10)).toEqual([])
})
