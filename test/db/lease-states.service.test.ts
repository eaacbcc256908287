import { sql } from 'drizzle-orm'
import { Client } from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  EXTENDED_EVERY,
  extendLease,
  holdLease,
  type Lease,
  LeaseLost,
  releaseLease,
  takeLease,
} from '../../src/db/index/work/lease.ts'
import type { Database } from '../../src/db/pool.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'

const [chainId, other] = [8453, 56]
const TTL_MS = 1_000_000

let store: TestDatabase
let database: Database
/** The sessions of the leader and of the standby, of one connection each. */
let session: Database
let standby: Database

beforeAll(async () => {
  store = await createTestDatabase()
  ;[database, session, standby] = [2, 1, 1].map((maxConnections) => openDatabase(store.url, { maxConnections })) as [
    Database,
    Database,
    Database,
  ]
})
afterAll(async () => {
  await Promise.all([database?.close(), session?.close(), standby?.close()])
  await store?.close()
})
beforeEach(() => run('DELETE FROM leases'))

const run = (statement: string) => database.run((handle) => handle.execute(sql.raw(statement)))
const lead = async (chain = chainId): Promise<Lease> => {
  const lease = await takeLease(session, chain, 'leader', TTL_MS)
  if (lease === null) throw new Error('another worker has the lease')
  return lease
}
const stand = () => takeLease(standby, chainId, 'standby', TTL_MS)
/** The seconds until the lease of a chain expires. */
const left = async (chain = chainId): Promise<number> =>
  Number(
    (await run(`SELECT extract(epoch FROM expires_at - now()) AS it FROM leases WHERE chain_id = ${chain}`)).rows[0]
      ?.it,
  )
const setLeft = (share: number) =>
  run(`UPDATE leases SET expires_at = now() + ${(share * TTL_MS) / 1_000} * interval '1 second'`)
/** Makes the recorded session one that does not exist: another start, or no process with the id. */
const endSession = () => run(`UPDATE leases SET session_since = session_since - interval '1 day'`)

test('a free lease has the first epoch, and lasts for its lifetime from now on', async () => {
  expect(await stand()).toEqual({ chainId, holder: 'standby', epoch: 1n })
  const seconds = await left()
  expect(seconds).toBeGreaterThan(990)
  expect(seconds).toBeLessThanOrEqual(1_000)
  const { rows } = await run('SELECT holder, epoch, session_pid > 0 AS pid, session_since < now() AS since FROM leases')
  expect(rows).toEqual([{ holder: 'standby', epoch: '1', pid: true, since: true }])
})

test('the holder takes its own lease again under the next epoch, and its old one is lost', async () => {
  const old = await lead()
  const now = await lead()
  expect(now.epoch).toBe(old.epoch + 1n)
  await expect(database.transaction((it) => holdLease(it, old, TTL_MS))).rejects.toBeInstanceOf(LeaseLost)
  await database.transaction((it) => holdLease(it, now, TTL_MS))
})

test('the lease of each chain is another one', async () => {
  await lead(other)
  expect((await stand())?.epoch).toBe(1n)
  const { rows } = await run('SELECT chain_id, holder FROM leases ORDER BY chain_id')
  expect(rows.map((row) => Object.values(row))).toEqual([
    [other, 'leader'],
    [chainId, 'standby'],
  ])
})

test.each([
  ['with an open session, just renewed', 1, false, false],
  ['with an open session, silent', 0.01, false, false],
  ['with an open session, expired', -0.001, false, true],
  ['whose session has ended, just renewed', 1, true, false],
  ['whose session has ended, renewed recently', 0.75, true, false],
  ['whose session has ended, silent', 0.65, true, true],
  ['whose session has ended, expired', -0.001, true, true],
])('the lease of a leader %s (%f of its lifetime is left) is taken: %s, %s', async (_, share, hasEnded, isTaken) => {
  const lease = await lead()
  if (hasEnded) await endSession()
  await setLeft(share)
  const taken = await stand()
  expect(taken).toEqual(isTaken ? { chainId, holder: 'standby', epoch: lease.epoch + 1n } : null)
  const { rows } = await run('SELECT holder, epoch FROM leases')
  expect(rows).toEqual([isTaken ? { holder: 'standby', epoch: '2' } : { holder: 'leader', epoch: '1' }])
})

test('a session that no server process has any more has ended, and an unknown one has not', async () => {
  await lead()
  await setLeft(0.5)
  for (const since of ['NULL', `now() - interval '1 day'`]) {
    await run(`UPDATE leases SET session_pid = NULL, session_since = ${since}`)
    expect(await stand()).toBeNull()
  }
  await run('UPDATE leases SET session_pid = 999999999, session_since = now()')
  expect((await stand())?.epoch).toBe(2n)
})

test('a session whose start is not recorded counts as open while its process exists', async () => {
  await lead()
  await setLeft(0.5)
  await run('UPDATE leases SET session_since = NULL')
  expect(await stand()).toBeNull()
})

test('a lease is extended with the session that extends it, by its epoch and its chain', async () => {
  const lease = await lead()
  await lead(other)
  await run(`UPDATE leases SET session_pid = 1, session_since = now()`)
  await setLeft(0.1)
  await extendLease(session, { ...lease, epoch: lease.epoch + 1n }, TTL_MS)
  expect(await left()).toBeLessThan(101)
  await extendLease(session, lease, TTL_MS)
  expect([(await left()) > 990, (await left(other)) < 101]).toEqual([true, true])
  const { rows } = await run(`SELECT chain_id, session_pid > 1 AS own, EXISTS (SELECT FROM pg_stat_activity
    WHERE pid = session_pid AND backend_start = session_since) AS open FROM leases ORDER BY chain_id DESC`)
  expect(rows).toEqual([
    { chain_id: chainId, own: true, open: true },
    { chain_id: other, own: false, open: false },
  ])
})

test('a lease that a transaction holds is not extended meanwhile, and no process waits for it', async () => {
  const lease = await lead()
  await setLeft(0.1)
  const client = new Client(store.url)
  await client.connect()
  try {
    await client.query('BEGIN')
    await client.query(`SELECT FROM leases WHERE chain_id = ${chainId} FOR UPDATE`)
    await extendLease(session, lease, TTL_MS)
    await client.query('COMMIT')
  } finally {
    await client.end()
  }
  expect(await left()).toBeLessThan(101)
})

test('holding a lease extends and locks it, on its chain and under its epoch', async () => {
  const lease = await lead()
  await lead(other)
  await setLeft(0.1)
  await expect(database.transaction((it) => holdLease(it, { ...lease, epoch: 9n }, TTL_MS))).rejects.toThrow(
    `another worker took the lease of chain ${chainId} after epoch 9`,
  )
  await database.transaction(async (it) => {
    await holdLease(it, lease, TTL_MS / 2)
    const locked = database.transaction((another) =>
      another.execute(sql`SELECT FROM leases WHERE chain_id = ${chainId} FOR UPDATE NOWAIT`),
    )
    await expect(locked).rejects.toThrow(/55P03/)
  })
  expect([(await left()) > 490, (await left()) <= 500, (await left(other)) < 101]).toEqual([true, true, true])
})

test('a released lease can be taken at once, and only its holder releases it', async () => {
  const old = await lead()
  const lease = await lead()
  await lead(other)
  await releaseLease(session, old)
  expect(await left()).toBeGreaterThan(900)
  await releaseLease(session, lease)
  expect([(await left()) <= 0, (await left(other)) > 900]).toEqual([true, true])
  expect((await stand())?.epoch).toBe(lease.epoch + 1n)
})

test('a lease with the same epoch that another worker holds is neither held, extended nor released', async () => {
  const lost = await lead()
  // An asynchronous failover loses the commit. On the promoted server another worker takes the same epoch.
  await run('DELETE FROM leases')
  expect((await stand())?.epoch).toBe(lost.epoch)
  await setLeft(0.1)
  await expect(database.transaction((it) => holdLease(it, lost, TTL_MS))).rejects.toBeInstanceOf(LeaseLost)
  await extendLease(session, lost, TTL_MS)
  expect(await left()).toBeLessThan(101)
  await releaseLease(session, lost)
  expect(await left()).toBeGreaterThan(50)
})

test('a lease is extended well before its holder seems silent', () => {
  expect(EXTENDED_EVERY).toBe(0.1)
})
