import { sql } from 'drizzle-orm'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { extendLease, holdLease, type Lease, LeaseLost, takeLease } from '../../src/db/index/work/lease.ts'
import { nextRefreshRequests, requestRefresh } from '../../src/db/index/work/refresh-queue.ts'
import { createDatabase, type Database } from '../../src/db/pool.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/process.ts'
import { byForm } from '../support/repetitions.ts'

/* Leases of processes that end, lose their connection or freeze. `lease-states.service.test.ts` has the states. */

const log = pino({ level: 'silent' })
/** Longer than any stall of a machine. */
const TTL_MS = 600_000

let store: TestDatabase
let database: Database
/** The sessions of the leader and of the standby. */
let session: Database
let standby: Database

const open = (maxConnections: number, idleInTransactionMs = 20_000): Database =>
  createDatabase({ url: store.url, log, maxConnections, statementTimeoutMs: 20_000, idleInTransactionMs })

beforeAll(async () => {
  store = await createTestDatabase()
  database = open(4)
  standby = open(1)
})
beforeEach(async () => {
  await database.run((handle) => handle.execute(sql`DELETE FROM leases`))
  session = open(1)
})
afterEach(() => session.close())
afterAll(async () => {
  await Promise.all([database?.close(), standby?.close()])
  await store?.close()
})

const lead = async (ttlMs = TTL_MS): Promise<Lease> => {
  const lease = await takeLease(session, 8453, 'leader', ttlMs)
  if (lease === null) throw new Error('another worker has the lease')
  return lease
}
const stand = (): Promise<Lease | null> => takeLease(standby, 8453, 'standby', TTL_MS)
const isTaken = async (): Promise<boolean> => (await stand()) !== null

/** Makes the leader seem silent: less is left of its lease than after a missed renewal. */
const fallSilent = () =>
  database.run((handle) => handle.execute(sql`UPDATE leases SET expires_at = expires_at - interval '300 seconds'`))

/** Ends the leader's connection on the server. The leader itself continues. */
const cut = async (): Promise<void> => {
  await database.run((handle) =>
    handle.execute(sql`SELECT pg_terminate_backend(session_pid, 1000) FROM leases WHERE session_pid IS NOT NULL`),
  )
}

test('the lease of a silent leader is taken once its process has ended, long before it expires', async () => {
  const dead = await lead()
  await fallSilent()
  expect(await stand()).toBeNull()
  // A killed process shows on the server only by the end of its connections.
  await session.close()
  session = open(1)
  await eventually('the standby has the lease', isTaken)
  await expect(database.transaction((handle) => holdLease(handle, dead, TTL_MS))).rejects.toBeInstanceOf(LeaseLost)
})

test('a leader that repeatedly loses its connection keeps its lease under its new session', async () => {
  const lease = await lead()
  for (let times = 0; times < byForm(3, 20); times += 1) {
    await cut()
    expect(await stand()).toBeNull()
    // As the follower does: one attempt fails with the old connection, the next one uses a new connection.
    await extendLease(session, lease, TTL_MS).catch(() => {})
    await extendLease(session, lease, TTL_MS)
    await fallSilent()
    expect(await stand()).toBeNull()
    await extendLease(session, lease, TTL_MS)
  }
  const { rows } = await database.run((handle) =>
    handle.execute(
      sql`SELECT pid FROM pg_stat_activity JOIN leases ON pid = session_pid AND backend_start = session_since`,
    ),
  )
  expect(rows).toHaveLength(1)
  await database.transaction((handle) => holdLease(handle, lease, TTL_MS))
})

test('a leader that freezes inside a transaction is replaced, and its transaction is rolled back', async () => {
  // Over before its holder freezes, and locked until then.
  const lease = await lead(1)
  const freezing = open(1, 200)
  let isFrozen = false
  let thaw = (): void => {}
  const frozen = freezing.transaction(async (handle) => {
    await holdLease(handle, lease, 1)
    await requestRefresh(handle, 8453, [{ subject: 'event', id: 2n }])
    await new Promise<void>((resolve) => {
      isFrozen = true
      thaw = resolve
    })
  })
  const ended = expect(frozen).rejects.toMatchObject({ code: 'service_unavailable' })
  await eventually('the leader is frozen', () => isFrozen)
  await eventually('the standby has the lease', isTaken)
  thaw()
  await ended
  await freezing.close()
  expect(await nextRefreshRequests(database, 8453, 10)).toEqual([])
})
