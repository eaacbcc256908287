import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Database } from '../../src/db/pool.ts'
import {
  depositObservations,
  deposits,
  eventObservations,
  events,
  positionObservations,
  unobserved,
} from '../../src/db/schema.ts'
import {
  clearUnobserved,
  markAwaitingSettlement,
  markChangeable,
  markEventsOf,
  markMembers,
  markUnobserved,
  nextUnobserved,
  observationLag,
  type Subject,
} from '../../src/db/unobserved.ts'
import { sleep } from '../../src/lib/lifecycle.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'

const chainId = 8453
const owner = `0x${'11'.repeat(20)}` as const
const hash = `0x${'22'.repeat(32)}` as const
const at = { blockNumber: 1n, blockHash: hash, blockTimestamp: 1n }
const origin = { ...at, txHash: hash, logIndex: 0 }

let store: TestDatabase
let database: Database

beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url)
  const event = { chainId, creator: owner, underlying: 'USD/GHS', strike: 1n, premiumRate: 1n, ...origin }
  const deposit = { chainId, eventId: 1n, lp: owner, amount: 1n, shares: 1n, ...origin }
  await database.run((handle) =>
    handle.insert(events).values([
      { ...event, id: 1n, expiryDate: 100n, initialLiquidity: 1n },
      { ...event, id: 2n, expiryDate: 200n, initialLiquidity: 1n },
    ]),
  )
  await database.run((handle) =>
    handle.insert(deposits).values([
      { ...deposit, id: 1n },
      { ...deposit, id: 2n },
      { ...deposit, id: 3n },
    ]),
  )
})
afterAll(async () => {
  await database?.close()
  await store?.close()
})
beforeEach(async () => {
  await database.run((handle) => handle.delete(unobserved))
})

const mark = (...all: readonly Subject[]): Promise<void> =>
  database.transaction((handle) => markUnobserved(handle, chainId, all))

/** The notes in order, as subject, id and version. */
const notes = async (): Promise<string[]> =>
  (await nextUnobserved(database, chainId, 100)).map(({ subject, id, version }) => `${subject} ${id} v${version}`)

const event = (id: bigint): Subject => ({ subject: 'event', id })
const deposit = (id: bigint): Subject => ({ subject: 'deposit', id })

test('what happens again raises the version of a note and leaves its place', async () => {
  await mark(event(2n), deposit(1n))
  await mark(event(1n), event(2n), event(2n))
  expect(await notes()).toEqual(['event 2 v2', 'deposit 1 v1', 'event 1 v1'])
  await database.transaction((handle) => markMembers(handle, chainId, 'deposit', [1n, 1n, 2n]))
  // All three are of one event, which is one note.
  await database.transaction((handle) => markEventsOf(handle, chainId, 'deposit', [1n, 2n, 3n]))
  expect(await notes()).toEqual(['event 2 v2', 'deposit 1 v2', 'event 1 v2', 'deposit 2 v1', 'deposit 3 v1'])
})

test('a note is taken back as it was read, and no other of its subject', async () => {
  await mark(event(1n), event(2n))
  const read = await nextUnobserved(database, chainId, 100)
  await mark(event(1n))
  await database.transaction((handle) => clearUnobserved(handle, chainId, read))
  expect(await notes()).toEqual(['event 1 v2'])
  await mark(event(2n))
  await database.transaction((handle) => clearUnobserved(handle, chainId, read))
  expect(await notes()).toEqual(['event 1 v2', 'event 2 v1'])
})

test('looking again from time to time rewrites no note', async () => {
  const view = {
    ...{ name: '', payoutCap: 0n, initialRate: 0n, strikeAbove: true, paymentToken: owner, status: 0, poolOpen: true },
    ...{ allowExternalLp: true, settlementPrice: 0n, triggered: false, settledAt: 0n, creatorEarnings: 0n },
    ...{ totalLiquidity: 0n, totalExposure: 0n, totalPremiums: 0n, lpCount: 0n, hedgerCount: 0n, totalMaxPayout: 0n },
    ...{ availableCapacity: 0n, utilizationPercent: 0n, ...at },
  }
  const claim = { premiumsEarned: 0n, premiumsClaimed: 0n, ...at }
  await database.run((handle) =>
    handle.insert(eventObservations).values([
      { chainId, id: 1n, ...view },
      { chainId, id: 2n, ...view },
    ]),
  )
  await database.run((handle) =>
    handle.insert(depositObservations).values([
      { chainId, id: 1n, ...claim, pending: 0n, withdrawn: true },
      { chainId, id: 2n, ...claim, pending: 5n, withdrawn: true },
    ]),
  )
  for (const now of [99n, 150n, 150n]) {
    await database.transaction((handle) => markAwaitingSettlement(handle, chainId, now))
    expect(await notes()).toEqual(now === 99n ? [] : ['event 1 v1'])
  }
  await markChangeable(database, chainId)
  await markChangeable(database, chainId)
  // Deposit 3 was never seen and comes first. Deposit 1 can change no more by the protocol's rules, and comes last: its code may change.
  expect(await notes()).toEqual([
    'event 1 v1',
    'event 2 v1',
    'deposit 3 v1',
    'deposit 2 v1',
    'deposit 1 v1',
    'chain 0 v1',
  ])
})

test('however many cannot be observed, a sweep notes those that can, and each time others of them', async () => {
  const many = sql`INSERT INTO positions SELECT ${chainId}, n, 1, lp, amount, 0, 0, block_number, block_hash, block_timestamp
    FROM deposits, generate_series(1, 2500) n WHERE deposits.chain_id = ${chainId} AND deposits.id = 1`
  await database.run((handle) => handle.execute(many))
  const seen = { payoutAmount: 0n, status: 0, claimed: false, ...at }
  await database.run((handle) => handle.insert(positionObservations).values({ chainId, id: 2_000n, ...seen }))
  const sweep = async (): Promise<string[]> => {
    await database.run((handle) => handle.delete(unobserved))
    await markChangeable(database, chainId)
    const all = await nextUnobserved(database, chainId, 10_000)
    return all.filter(({ subject }) => subject === 'position').map(({ id }) => String(id))
  }
  const [first, second] = [await sweep(), await sweep()]
  for (const ids of [first, second]) {
    expect(ids).toHaveLength(501)
    expect(ids).toContain('2000')
  }
  expect(new Set([...first, ...second]).size).toBeGreaterThan(700)
})

test('two that note the same in different orders wait for each other', async () => {
  const both = (first: Subject, second: Subject): Promise<void> =>
    database.transaction(async (handle) => {
      await markUnobserved(handle, chainId, [first])
      await sleep(100)
      await markUnobserved(handle, chainId, [second])
    })
  await Promise.all([both(event(1n), event(2n)), both(event(2n), event(1n))])
  expect((await notes()).toSorted()).toEqual(['event 1 v2', 'event 2 v2'])
})

test('the lag is how many wait, and how long the oldest has', async () => {
  expect(await observationLag(database, chainId)).toEqual({ waiting: 0, oldestSeconds: null })
  await mark(event(1n))
  await sleep(300)
  await mark(event(1n), event(2n))
  const { waiting, oldestSeconds } = await observationLag(database, chainId)
  expect(waiting).toBe(2)
  expect(oldestSeconds).toBeGreaterThanOrEqual(0.3)
  expect(oldestSeconds).toBeLessThan(5)
  expect(await observationLag(database, 56)).toEqual({ waiting: 0, oldestSeconds: null })
})
