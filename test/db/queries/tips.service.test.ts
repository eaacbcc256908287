import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { saveHeartbeat } from '../../../src/db/index/work/heartbeat.ts'
import type { Database } from '../../../src/db/pool.ts'
import type { Filters } from '../../../src/db/queries/filters.ts'
import { createListings, type ListQuery, MAX_ROWS } from '../../../src/db/queries/listings.ts'
import { createRefreshState } from '../../../src/db/queries/refresh-state.ts'
import { parseTips, type Tip } from '../../../src/db/queries/tips.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { heartbeatAt } from '../../support/healthy-index.ts'
import { openDatabase } from '../../support/open-database.ts'
import {
  blockOf,
  type Plan,
  seedDeployment,
  seedEvent,
  seedRows,
  seedToken,
  writeSeeded,
} from '../../support/seed-index.ts'

const plan: Plan = { token: seedToken, rowsABlock: 10, wallets: 3, events: 4 }
const COUNT = MAX_ROWS + 3

let store: TestDatabase
let database: Database
beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url)
  await writeSeeded(database, 8453, blockOf(40n), seedRows(plan, { events: 4, positions: COUNT }))
  await writeSeeded(database, 56, blockOf(7n), { events: [seedEvent(1, plan)] })
})
afterAll(async () => {
  await database?.close()
  await store?.close()
})

const execute = (statement: ReturnType<typeof sql>) => database.run((handle) => handle.execute(statement))

beforeEach(async () => {
  await execute(sql`DELETE FROM rollbacks`)
  await execute(sql`DELETE FROM refresh_queue`)
  await execute(sql`DELETE FROM change_counter`)
})

const queryOf = (chainId: number, query: Partial<ListQuery> = {}): ListQuery => ({
  ...{ chainId, after: null, upTo: null, now: null, rollback: null },
  ...query,
})

const page = (queries: readonly ListQuery[], filters: Filters = {}, limit = 3) =>
  createListings(database).page({
    ...{ kind: 'position', queries, filters, limit, sort: 'created', order: 'desc', include: [], count: false },
    deployments: [seedDeployment(8453), seedDeployment(56)],
  })

const tipsOf = async (...asked: Parameters<typeof page>): Promise<readonly Tip[]> => (await page(...asked)).tips

const rollback = async (
  chainId: number,
  ancestor: number,
  { lastRequest = 0, secondsAgo = 0 } = {},
): Promise<bigint> => {
  const { rows } = await execute(sql`INSERT INTO rollbacks (chain_id, ancestor_number, last_request, rolled_back_at)
    VALUES (${chainId}, ${ancestor}, ${lastRequest}, now() - ${secondsAgo} * interval '1 second') RETURNING seq`)
  return BigInt(String(rows[0]?.seq))
}

/** Adds a refresh request and returns its place in the order of arrival. */
const request = async (chainId: number, id = 1, fromBlock: number | null = 0): Promise<number> => {
  const { rows } = await execute(sql`INSERT INTO refresh_queue (chain_id, subject, id, from_block)
    VALUES (${chainId}, 'event', ${id}, ${fromBlock}) RETURNING sequence`)
  return Number(rows[0]?.sequence)
}

test('a tip has the block, the head and the age of the heartbeat of its own chain', async () => {
  await database.run((handle) => saveHeartbeat(handle, 56, heartbeatAt(blockOf(9n))))
  await execute(sql`UPDATE heartbeats SET reported_at = now() - interval '90 seconds' WHERE chain_id = 56`)
  const [first, second] = await tipsOf([queryOf(8453), queryOf(56)])
  expect(first).toMatchObject({ chainId: 8453, block: blockOf(40n), head: { timestamp: blockOf(40n).timestamp } })
  expect(first?.head?.ageSeconds).toBeLessThan(60)
  expect(second).toMatchObject({ chainId: 56, block: blockOf(7n), head: { timestamp: blockOf(9n).timestamp } })
  expect(second?.head?.ageSeconds).toBeGreaterThanOrEqual(90)
  expect(second?.head?.ageSeconds).toBeLessThan(150)
})

test('a chain without a heartbeat has no head, and keeps its tip', async () => {
  await execute(sql`DELETE FROM heartbeats WHERE chain_id = 56`)
  expect(await tipsOf([queryOf(56)])).toEqual([
    { chainId: 56, block: blockOf(7n), head: null, rollback: 0n, reorged: false, isRefreshing: false },
  ])
})

test('texts without a tip parse to none', () => {
  for (const text of [null, undefined, '']) expect(parseTips(text)).toEqual([])
})

describe('a list that is bounded by block 30', () => {
  const isReorged = async (since: bigint, upTo = 30n): Promise<boolean | undefined> =>
    (await tipsOf([queryOf(8453, { upTo, rollback: since })]))[0]?.reorged

  test('was reorganized by a later rollback to below its bound, on its chain only', async () => {
    const before = await rollback(8453, 3)
    expect(await isReorged(before)).toBe(false)
    await rollback(56, 3)
    expect(await isReorged(before)).toBe(false)
    const at = await rollback(8453, 30)
    expect(await isReorged(before)).toBe(false)
    const below = await rollback(8453, 29)
    expect(await isReorged(before)).toBe(true)
    expect(await isReorged(at)).toBe(true)
    expect(await isReorged(below)).toBe(false)
    expect(await isReorged(before, 29n)).toBe(false)
    const [tip, other] = await tipsOf([queryOf(8453), queryOf(56)])
    expect([tip?.rollback, tip?.reorged]).toEqual([below, false])
    expect(other?.rollback).toBeLessThan(below)
  })

  test('was reorganized also while the index is still at or below the block of the rollback', async () => {
    await rollback(8453, 29)
    for (const tip of [29, 20]) {
      await execute(sql`UPDATE cursors SET block_number = ${tip} WHERE chain_id = 8453`)
      expect(await isReorged(0n)).toBe(true)
    }
    await execute(sql`UPDATE cursors SET block_number = 40 WHERE chain_id = 8453`)
  })
})

describe('a filter on observations', () => {
  const isRefreshing = async (filters: Filters = { claimed: true }): Promise<boolean | undefined> =>
    (await tipsOf([queryOf(8453)], filters))[0]?.isRefreshing

  test('misses rows while a request up to the last rollback waits', async () => {
    await request(56, 1)
    const last = await request(8453, 1)
    expect(await isRefreshing()).toBe(false)
    await rollback(8453, 3, { lastRequest: last, secondsAgo: 3_600 })
    expect(await isRefreshing()).toBe(true)
    // Filters on facts alone need no observations.
    expect(await isRefreshing({ eventId: 1n })).toBe(false)
    await request(8453, 2)
    await execute(sql`DELETE FROM refresh_queue WHERE sequence = ${last}`)
    expect(await isRefreshing()).toBe(false)
  })

  test.each([
    [0, true],
    [8, true],
    [12, false],
  ])('misses rows while any request waits %i s after a rollback: %s', async (secondsAgo, expected) => {
    await rollback(8453, 3, { secondsAgo: 100 })
    await rollback(8453, 3, { secondsAgo })
    await request(56, 1)
    expect(await isRefreshing()).toBe(false)
    await request(8453, 1)
    expect(await isRefreshing()).toBe(expected)
  })

  test('depends on the newest rollback of the chain only', async () => {
    const waiting = await request(8453, 1)
    await rollback(8453, 3, { lastRequest: waiting, secondsAgo: 3_600 })
    await rollback(8453, 3, { lastRequest: waiting - 1, secondsAgo: 3_600 })
    await rollback(56, 3, { lastRequest: waiting, secondsAgo: 0 })
    expect(await isRefreshing()).toBe(false)
  })
})

test('the refresh state of a chain has its oldest block and the newest change of the index', async () => {
  const state = createRefreshState(database)
  expect(await state(8453)).toEqual({ oldestBlock: null, newestChange: 0 })
  await execute(sql`INSERT INTO change_counter (one, last, before) VALUES (1, 77, 70)`)
  await request(56, 1, 3)
  await request(8453, 1, null)
  expect(await state(8453)).toEqual({ oldestBlock: null, newestChange: 77 })
  await request(8453, 2, 12)
  await request(8453, 3, 0)
  expect((await state(8453)).oldestBlock).toBe(0n)
  expect((await state(56)).oldestBlock).toBe(3n)
})

test('a page has as many rows as its limit, up to one more than the most rows of a page', async () => {
  const lengths = async (limit: number, filters: Filters = {}) =>
    (await page([queryOf(8453), queryOf(56)], filters, limit)).rows.length
  expect(await lengths(MAX_ROWS)).toBe(MAX_ROWS)
  expect(await lengths(MAX_ROWS + 1)).toBe(MAX_ROWS + 1)
})
