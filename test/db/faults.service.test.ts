import { sql } from 'drizzle-orm'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { holdLease, LeaseLost, releaseLease, takeLease } from '../../src/db/lease.ts'
import { createDatabase, type Database } from '../../src/db/pool.ts'
import { clearUnobserved, markUnobserved, nextUnobserved, type Subject } from '../../src/db/unobserved.ts'
import { sleep } from '../../src/lib/lifecycle.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

const log = pino({ level: 'silent' })

let test_: TestDatabase
let database: Database

beforeAll(async () => {
  test_ = await createTestDatabase()
  database = createDatabase({ url: test_.url, log, maxConnections: 4, statementTimeoutMs: 5_000 })
})
afterAll(async () => {
  await database?.close()
  await test_?.close()
})

test('one worker leads; the next one gets a higher epoch and the first one cannot write any more', async () => {
  const first = await takeLease(database, 8453, 'first', 300)
  if (first === null) throw new Error('nobody else holds it')
  expect(await takeLease(database, 8453, 'second', 300)).toBeNull()
  await database.transaction((handle) => holdLease(handle, first, 300))

  await sleep(400)
  const second = await takeLease(database, 8453, 'second', 60_000)
  expect(second?.epoch).toBe(first.epoch + 1n)
  await expect(
    database.transaction(async (handle) => {
      await holdLease(handle, first, 300)
      await markUnobserved(handle, 8453, [{ subject: 'event', id: 1n }])
    }),
  ).rejects.toBeInstanceOf(LeaseLost)
  expect(await nextUnobserved(database, 8453, 10)).toEqual([])
})

test('giving a lease up lets the next worker in at once, and only the holder can', async () => {
  const old = await takeLease(database, 56, 'old', 0)
  const holder = await takeLease(database, 56, 'holder', 60_000)
  if (old === null || holder === null) throw new Error('the lease was free both times')
  await releaseLease(database, old)
  expect(await takeLease(database, 56, 'next', 60_000)).toBeNull()
  await releaseLease(database, holder)
  await sleep(5)
  expect((await takeLease(database, 56, 'next', 60_000))?.epoch).toBe(holder.epoch + 1n)
})

test('a leader that freezes inside a transaction is passed over, and nothing of that transaction stays', async () => {
  await database.run((handle) => handle.execute(sql`DELETE FROM leases`))
  const lease = await takeLease(database, 8453, 'frozen', 500)
  if (lease === null) throw new Error('the lease was free')
  let thaw = (): void => {}
  const frozen = database.transaction(async (handle) => {
    await holdLease(handle, lease, 500)
    await markUnobserved(handle, 8453, [{ subject: 'event', id: 2n }])
    await new Promise<void>((resolve) => {
      thaw = resolve
    })
  })
  const ended = expect(frozen).rejects.toMatchObject({ code: 'service_unavailable' })
  const began = Date.now()
  let taken = await takeLease(database, 8453, 'standby', 500)
  while (taken === null) {
    await sleep(50)
    taken = await takeLease(database, 8453, 'standby', 500)
  }
  expect(Date.now() - began).toBeLessThan(5_000)
  thaw()
  await ended
  expect(await nextUnobserved(database, 8453, 10)).toEqual([])
})

test('a connection that ends between two statements of a transaction is a fault of that transaction alone', async () => {
  const broken = database.transaction(async (handle) => {
    const { rows } = await handle.execute<{ pid: number }>(sql`SELECT pg_backend_pid() AS pid`)
    await database.run((other) => other.execute(sql`SELECT pg_terminate_backend(${rows[0]?.pid})`))
    // The server's farewell arrives while nothing is asked: nobody but a listener hears it.
    await sleep(100)
    await handle.execute(sql`SELECT 1`)
  })
  await expect(broken).rejects.toMatchObject({ code: 'service_unavailable' })
  const { rows } = await database.run((handle) => handle.execute(sql`SELECT 1 AS one`))
  expect(rows).toEqual([{ one: 1 }])
})

test('what is noted over and over does not keep the rest from being observed', async () => {
  const awaiting: Subject[] = Array.from({ length: 6 }, (_, at) => ({ subject: 'event', id: BigInt(at) }))
  const position: Subject = { subject: 'position', id: 1n }
  const mark = (subjects: readonly Subject[]) => database.transaction((handle) => markUnobserved(handle, 56, subjects))
  const observed: Subject[] = []
  await mark(awaiting)
  await mark([position])
  for (let step = 0; step < 3; step += 1) {
    const next = await nextUnobserved(database, 56, 3)
    observed.push(...next)
    await database.transaction((handle) => clearUnobserved(handle, 56, next))
    await mark(awaiting)
  }
  expect(observed).toContainEqual(expect.objectContaining(position))
  expect(new Set(observed.map(({ subject, id }) => `${subject} ${id}`)).size).toBe(awaiting.length + 1)
})
