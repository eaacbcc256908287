import { sql } from 'drizzle-orm'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { extendLease, holdLease, type Lease, LeaseLost, releaseLease, takeLease } from '../../src/db/lease.ts'
import { createDatabase, type Database } from '../../src/db/pool.ts'
import { markUnobserved, nextUnobserved } from '../../src/db/unobserved.ts'
import { sleep } from '../../src/lib/lifecycle.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { ranMs } from '../support/stopwatch.ts'

const log = pino({ level: 'silent' })
const TTL_MS = 2_000
/** No machine stands still for so long that it expires by itself, or its holder seems silent. */
const LONG_MS = 12_000

let store: TestDatabase
let database: Database
/** Of the one that leads, and of the one that stands by. */
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
  if (lease === null) throw new Error('the lease was not free')
  return lease
}

const stand = (ttlMs = TTL_MS): Promise<Lease | null> => takeLease(standby, 8453, 'standby', ttlMs)

/** Seconds until the lease expires by itself. */
const left = async (): Promise<number> => {
  const { rows } = await database.run((handle) =>
    handle.execute<{ left: string }>(sql`SELECT extract(epoch FROM expires_at - now()) AS left FROM leases`),
  )
  return Number(rows[0]?.left)
}

/** Tries until the stand-by has the lease; gives how long it would have lived then, in seconds. */
const untilTaken = async (ttlMs?: number): Promise<number> => {
  for (;;) {
    const [at, before] = [performance.now(), await left()]
    if ((await stand(ttlMs)) !== null) return before - (performance.now() - at) / 1_000
    await sleep(20)
  }
}

/** Ends the leader's connection on the server's side: the leader itself lives on. */
const cut = async (): Promise<void> => {
  await database.run((handle) =>
    handle.execute(sql`SELECT pg_terminate_backend(session_pid, 1000) FROM leases WHERE session_pid IS NOT NULL`),
  )
}

test('one worker leads; the next one gets a higher epoch and the first one cannot write any more', async () => {
  const first = await lead()
  expect(await stand()).toBeNull()
  await database.transaction((handle) => holdLease(handle, first, 1))
  await sleep(5)
  expect((await stand())?.epoch).toBe(first.epoch + 1n)
  await expect(
    database.transaction(async (handle) => {
      await holdLease(handle, first, TTL_MS)
      await markUnobserved(handle, 8453, [{ subject: 'event', id: 1n }])
    }),
  ).rejects.toBeInstanceOf(LeaseLost)
  expect(await nextUnobserved(database, 8453, 10)).toEqual([])
})

test('giving a lease up lets the next worker in at once, and only the holder can', async () => {
  const old = await lead()
  const holder = await lead()
  await releaseLease(session, old)
  expect(await stand()).toBeNull()
  await releaseLease(session, holder)
  await sleep(5)
  expect((await stand())?.epoch).toBe(holder.epoch + 1n)
})

test('a leader whose process is gone is not waited for until its lease expires', async () => {
  const dead = await lead(LONG_MS)
  // All that the server sees of a process that was killed: its connections end.
  await session.close()
  session = open(1)
  expect(await untilTaken(LONG_MS)).toBeGreaterThan(LONG_MS / 2_000)
  await expect(database.transaction((handle) => holdLease(handle, dead, TTL_MS))).rejects.toBeInstanceOf(LeaseLost)
})

test('a leader that says nothing for a while but is there keeps its lease as long as it lives', async () => {
  await lead()
  expect(await untilTaken()).toBeLessThan(0.2)
})

test('another process that got the id of the dead leader is not taken for it', async () => {
  await lead(LONG_MS)
  await database.run((handle) =>
    handle.execute(sql`UPDATE leases SET session_since = session_since - interval '1 day'`),
  )
  expect(await untilTaken(LONG_MS)).toBeGreaterThan(LONG_MS / 2_000)
})

test('a leader that loses its connection over and over is not robbed, and is known by its new one', async () => {
  const lease = await lead(LONG_MS)
  for (let times = 0; times < 10; times += 1) {
    await cut()
    expect(await stand(LONG_MS)).toBeNull()
    // As the follower does: one that fails with the old connection, the next with a new one.
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

test('a lease of which no session is known lives until it expires', async () => {
  await lead()
  await database.run((handle) => handle.execute(sql`UPDATE leases SET session_pid = NULL, session_since = NULL`))
  expect(await untilTaken()).toBeLessThan(0.2)
})

test('a leader that freezes inside a transaction is passed over, and nothing of that transaction stays', async () => {
  const lease = await lead(500)
  let thaw = (): void => {}
  const frozen = database.transaction(async (handle) => {
    await holdLease(handle, lease, 500)
    await markUnobserved(handle, 8453, [{ subject: 'event', id: 2n }])
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
  expect(await nextUnobserved(database, 8453, 10)).toEqual([])
})
