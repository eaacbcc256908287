import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  completeRefreshRequests,
  nextRefreshRequests,
  type RefreshSubject,
  refreshLag,
  requestEventRefresh,
  requestFollowUps,
  requestMemberRefresh,
  requestRefresh,
  requestSettlementRefresh,
  requestSweep,
} from '../../src/db/index/work/refresh-queue.ts'
import type { Database } from '../../src/db/pool.ts'
import { refreshQueue } from '../../src/db/schema/index-state.ts'
import {
  depositObservations,
  deposits,
  eventObservations,
  events,
  positionObservations,
} from '../../src/db/schema/records.ts'
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
  await database.run((handle) => handle.delete(refreshQueue))
})

const mark = (...all: readonly RefreshSubject[]): Promise<void> =>
  database.transaction((handle) => requestRefresh(handle, chainId, all))

/** The requests in order, as subject, id and version. */
const notes = async (): Promise<string[]> =>
  (await nextRefreshRequests(database, chainId, 100)).map(({ subject, id, version }) => `${subject} ${id} v${version}`)

const event = (id: bigint): RefreshSubject => ({ subject: 'event', id })
const deposit = (id: bigint): RefreshSubject => ({ subject: 'deposit', id })

test('a repeated change raises the version of its request and keeps its place in the queue', async () => {
  await mark(event(2n), deposit(1n))
  await mark(event(1n), event(2n), event(2n))
  expect(await notes()).toEqual(['event 2 v2', 'deposit 1 v1', 'event 1 v1'])
  await database.transaction((handle) => requestMemberRefresh(handle, chainId, 'deposit', [1n, 1n, 2n], 1n))
  // All three are of one event, so there is one request.
  await database.transaction((handle) => requestEventRefresh(handle, chainId, 'deposit', [1n, 2n, 3n], 1n))
  expect(await notes()).toEqual(['event 2 v2', 'deposit 1 v2', 'event 1 v2', 'deposit 2 v1', 'deposit 3 v1'])
})

test('completing a request deletes exactly the version that was read', async () => {
  await mark(event(1n), event(2n))
  const read = await nextRefreshRequests(database, chainId, 100)
  await mark(event(1n))
  await database.transaction((handle) => completeRefreshRequests(handle, chainId, read, 1n))
  expect(await notes()).toEqual(['event 1 v2'])
  await mark(event(2n))
  await database.transaction((handle) => completeRefreshRequests(handle, chainId, read, 1n))
  expect(await notes()).toEqual(['event 1 v2', 'event 2 v1'])
})

/** The requests in order, as subject, id and the block that they are from. */
const blocks = async (): Promise<string[]> => {
  const { subject, id, fromBlock } = refreshQueue
  const rows = await database.run((handle) =>
    handle.select({ subject, id, fromBlock }).from(refreshQueue).orderBy(refreshQueue.sequence),
  )
  return rows.map((row) => `${row.subject} ${row.id} from ${row.fromBlock}`)
}

test('a request is from its oldest block until it is observed, and from later blocks if it was raised meanwhile', async () => {
  const markAt = (subject: RefreshSubject, fromBlock: bigint | null): Promise<void> =>
    database.transaction((handle) => requestRefresh(handle, chainId, [subject], fromBlock))
  await markAt(event(1n), 7n)
  await markAt(event(1n), 9n)
  await markAt(event(2n), null)
  expect(await blocks()).toEqual(['event 1 from 7', 'event 2 from null'])
  await markAt(event(2n), 8n)
  const read = await nextRefreshRequests(database, chainId, 100)
  await markAt(event(1n), 12n)
  await markAt(deposit(1n), 12n)
  expect(await blocks()).toEqual(['event 1 from 7', 'event 2 from 8', 'deposit 1 from 12'])
  await database.transaction((handle) => completeRefreshRequests(handle, chainId, read, 10n))
  // An observation at block 10 shows what changed until then.
  expect(await blocks()).toEqual(['event 1 from 11', 'deposit 1 from 12'])
})

test('follow-up requests are from the oldest block of the requests that contain their event', async () => {
  const follow = (block: bigint, except: readonly bigint[] = []): Promise<void> =>
    database.transaction((handle) =>
      requestFollowUps(handle, chainId, 'deposit', { eventIds: [1n, 1n, 2n], block, except }),
    )
  await follow(5n, [2n, 3n])
  expect(await blocks()).toEqual(['deposit 1 from 5'])
  const range = { subject: 'event', id: 0n, many: 2 } as const
  await database.transaction((handle) => requestRefresh(handle, chainId, [range], 3n))
  await database.transaction((handle) => requestRefresh(handle, chainId, [event(1n)], 4n))
  await database.transaction((handle) => requestRefresh(handle, chainId, [event(2n)], 1n))
  await follow(6n, [3n])
  expect((await blocks()).filter((it) => it.startsWith('deposit'))).toEqual(['deposit 1 from 3', 'deposit 2 from 3'])
})

test('a routine refresh does not change existing requests', async () => {
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
    await database.transaction((handle) => requestSettlementRefresh(handle, chainId, { number: 1n, timestamp: now }))
    expect(await notes()).toEqual(now === 99n ? [] : ['event 1 v1'])
  }
  expect(await blocks()).toEqual(['event 1 from 1'])
  await requestSweep(database, chainId)
  await requestSweep(database, chainId)
  // Deposit 3 was never observed and comes first. Deposit 1 cannot change by the protocol's rules and comes last.
  expect(await notes()).toEqual([
    'event 1 v1',
    'event 2 v1',
    'deposit 3 v1',
    'deposit 2 v1',
    'deposit 1 v1',
    'chain 0 v1',
  ])
  // No block caused a sweep. Reads wait for the event that may have been settled.
  expect((await blocks()).slice(0, 2)).toEqual(['event 1 from 1', 'event 2 from null'])
  await database.transaction((handle) => requestSettlementRefresh(handle, chainId, { number: 2n, timestamp: 250n }))
  expect((await blocks()).slice(0, 2)).toEqual(['event 1 from 1', 'event 2 from 2'])
})

test('a sweep requests all observable entities, however many cannot be observed, and picks others of these each time', async () => {
  const many = sql`INSERT INTO positions
    (chain_id, id, event_id, hedger, notional, premium_paid, platform_fee, block_number, block_hash, block_timestamp)
    SELECT ${chainId}, n, 1, lp, amount, 0, 0, block_number, block_hash, block_timestamp
    FROM deposits, generate_series(1, 2500) n WHERE deposits.chain_id = ${chainId} AND deposits.id = 1`
  await database.run((handle) => handle.execute(many))
  const seen = { payoutAmount: 0n, status: 0, claimed: false, ...at }
  await database.run((handle) => handle.insert(positionObservations).values({ chainId, id: 2_000n, ...seen }))
  const sweep = async (): Promise<string[]> => {
    await database.run((handle) => handle.delete(refreshQueue))
    await requestSweep(database, chainId)
    const all = await nextRefreshRequests(database, chainId, 10_000)
    return all.filter(({ subject }) => subject === 'position').map(({ id }) => String(id))
  }
  const [first, second] = [await sweep(), await sweep()]
  for (const ids of [first, second]) {
    expect(ids).toHaveLength(501)
    expect(ids).toContain('2000')
  }
  expect(new Set([...first, ...second]).size).toBeGreaterThan(700)
})

test('two transactions that request the same subjects in different orders do not deadlock', async () => {
  const both = (first: RefreshSubject, second: RefreshSubject): Promise<void> =>
    database.transaction(async (handle) => {
      await requestRefresh(handle, chainId, [first])
      await sleep(100)
      await requestRefresh(handle, chainId, [second])
    })
  await Promise.all([both(event(1n), event(2n)), both(event(2n), event(1n))])
  expect((await notes()).toSorted()).toEqual(['event 1 v2', 'event 2 v2'])
})

test('the lag is the number of waiting subjects and the age of the oldest request', async () => {
  expect(await refreshLag(database, chainId)).toEqual({ waiting: 0, oldestSeconds: null })
  await mark(event(1n))
  await sleep(300)
  await mark(event(1n), event(2n))
  const { waiting, oldestSeconds } = await refreshLag(database, chainId)
  expect(waiting).toBe(2)
  expect(oldestSeconds).toBeGreaterThanOrEqual(0.3)
  expect(oldestSeconds).toBeLessThan(5)
  expect(await refreshLag(database, 56)).toEqual({ waiting: 0, oldestSeconds: null })
})
