import { sql } from 'drizzle-orm'
import { Client } from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { announce } from '../../src/db/changes/changes.ts'
import { resumeFeed, suspendFeed } from '../../src/db/changes/feed.ts'
import { aspects, type Touched, touching, touchingAll, touchingProtocol, union } from '../../src/db/changes/scopes.ts'
import { moveCursor } from '../../src/db/index/write.ts'
import type { Database } from '../../src/db/pool.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
import { eventually } from '../support/process.ts'
import { blockOf } from '../support/seed-index.ts'

const [chainId, other] = [8453, 56]

/** The lock that a statement of this database waits for. */
const WAITING =
  'SELECT FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND datname = current_database()'

let store: TestDatabase
let database: Database
/** A connection apart from the pool, whose connections may all wait. */
let watcher: Client

beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url, { maxConnections: 2 })
  watcher = new Client(store.url)
  await watcher.connect()
})
afterAll(async () => {
  await watcher?.end()
  await database?.close()
  await store?.close()
})
beforeEach(async () => {
  await run(
    ['feed', 'feed_floors', 'feed_epochs', 'changes', 'change_counter', 'cursors']
      .map((table) => `DELETE FROM ${table}`)
      .join(';'),
  )
  for (const [chain, number] of [
    [chainId, 10n],
    [other, 20n],
  ] as const)
    await database.transaction((handle) => moveCursor(handle, chain, blockOf(number)))
})

const run = (statement: string) => database.run((handle) => handle.execute(sql.raw(statement)))
const resume = (chain = chainId) => database.transaction((handle) => resumeFeed(handle, chain))
const suspend = (reason: 'backfill' | 'rebuilt', chain = chainId) =>
  database.transaction((handle) => suspendFeed(handle, chain, reason))
const commit = (touched: Touched, many?: number, chain = chainId): Promise<number> =>
  database.transaction((handle) => announce(handle, chain, touched, many))
const withBits = (scopes: Readonly<Record<string, number>>): Touched => ({
  ...touching(),
  scopes: new Map(Object.entries(scopes)),
})

/** The rows of the feed: subject, the distance of each aspect's number from `last` (null for none), and their block. */
const rows = async (last: number) => {
  const found = await run('SELECT * FROM feed ORDER BY chain_id DESC, seq')
  const distance = (value: unknown): number | null => (Number(value) === 0 ? null : Number(value) - last)
  return found.rows.map((row) => [
    `${row.chain_id} ${row.type}:${row.key}`,
    [row.events, row.deposits, row.positions, row.claimables].map(distance),
    Number(row.seq) - last,
    Number(row.block_number),
  ])
}
/** The floor of each chain: its number, if any, and its reason. */
const floors = async () => {
  const found = await run('SELECT chain_id, seq, reason FROM feed_floors ORDER BY chain_id DESC')
  return found.rows.map((row) => [row.chain_id, row.seq === null ? null : Number(row.seq), row.reason])
}

test('a chain without a feed gets no rows, and the feed of another chain none of its changes', async () => {
  await resume(other)
  await commit(withBits({ 'event:1': aspects.events }))
  expect(await rows(0)).toEqual([])
  await resume()
  const last = await commit(withBits({ 'event:1': aspects.events }))
  expect(await rows(last)).toEqual([[`${chainId} event:1`, [0, null, null, null], 0, 10]])
})

test('the rows of a change have the numbers before those of its numbered things, in order, and the block of the chain', async () => {
  await resume()
  const touched = union([withBits({ 'wallet:0xaa': 6, 'event:1': 1, deposits: 0, 'event:2': 8 }), touchingProtocol])
  const last = await commit(touched, 3)
  expect(await rows(last)).toEqual([
    [`${chainId} wallet:0xaa`, [null, -6, -6, null], -6, 10],
    [`${chainId} event:1`, [-5, null, null, null], -5, 10],
    [`${chainId} event:2`, [null, null, null, -4], -4, 10],
    [`${chainId} protocol:`, [null, null, null, null], -3, 10],
  ])
})

test('a later change keeps the numbers of the other aspects and moves the row to its block', async () => {
  await resume()
  const first = await commit(withBits({ 'event:1': 3 }))
  await database.transaction((handle) => moveCursor(handle, chainId, blockOf(11n)))
  const last = await commit(withBits({ 'event:1': 6 }))
  expect(await rows(last)).toEqual([[`${chainId} event:1`, [first - last, 0, 0, null], 0, 11]])
  const { rows: hashes } = await run(`SELECT encode(block_hash, 'hex') AS hash FROM feed`)
  expect(hashes).toEqual([{ hash: blockOf(11n).hash.slice(2) }])
})

test('a reset raises the floor of its chain to its number, and has no rows', async () => {
  await resume()
  await resume(other)
  const last = await commit({ ...withBits({ 'event:1': 1 }), all: true, reset: 'repaired' })
  expect(await floors()).toEqual([
    [chainId, last, 'repaired'],
    [other, 0, 'backfill'],
  ])
  expect(await rows(last)).toEqual([])
  await commit(touchingAll(null))
  expect((await floors())[0]).toEqual([chainId, last, 'repaired'])
  // A chain whose feed never began gets a floor too.
  await run(`DELETE FROM feed_floors`)
  const next = await commit(touchingAll('rebuilt'))
  expect(await floors()).toEqual([[chainId, next, 'rebuilt']])
})

test('a suspended feed gets neither rows nor a floor, and continues with the reason of its suspension', async () => {
  expect(await resume()).toBe('backfill')
  expect(await resume()).toBeNull()
  const floor = await commit(touchingAll('operator'))
  expect(await resume()).toBeNull()
  expect(await floors()).toEqual([[chainId, floor, 'operator']])
  await resume(other)
  await suspend('rebuilt')
  // The first reason stays.
  await suspend('backfill')
  const suspended = [
    [chainId, null, 'rebuilt'],
    [other, 0, 'backfill'],
  ]
  expect(await floors()).toEqual(suspended)
  await commit(withBits({ 'event:1': 1 }))
  await commit(touchingAll('many_changes'))
  expect([await rows(0), await floors()]).toEqual([[], suspended])
  expect(await resume()).toBe('rebuilt')
  expect((await floors())[0]).toEqual([chainId, 0, 'rebuilt'])
})

test('a chain that never had a feed is suspended before its first one', async () => {
  await suspend('backfill')
  expect(await floors()).toEqual([[chainId, null, 'backfill']])
})

test('numbers that were taken without the feed raise the floors of all chains that have one', async () => {
  for (const chain of [chainId, other]) await resume(chain)
  await suspend('backfill', 1)
  await commit(withBits({ 'event:1': 1 }))
  const before = await floors()
  const last = await commit(withBits({ 'event:2': 1 }))
  expect(await floors()).toEqual(before)
  await run('UPDATE change_counter SET last = last + 1')
  const after = await commit(withBits({ 'event:3': 1 }))
  expect(await floors()).toEqual([
    [chainId, after, 'unannounced'],
    [other, after, 'unannounced'],
    [1, null, 'backfill'],
  ])
  expect((await rows(last)).length).toBe(3)
  await run('UPDATE change_counter SET last = last + 1')
  const reset = await commit(touchingAll('operator'))
  expect(await floors()).toEqual([
    [chainId, reset, 'operator'],
    [other, reset, 'unannounced'],
    [1, null, 'backfill'],
  ])
})

test('of two changes at once, only the first raises the floors for numbers that were taken without the feed', async () => {
  await resume()
  await commit(withBits({ 'event:1': 1 }))
  await run('UPDATE change_counter SET last = last + 1')
  let release = (): void => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  let first = 0
  const slow = database.transaction(async (handle) => {
    first = await announce(handle, chainId, withBits({ 'event:2': 1 }))
    await held
  })
  await eventually('the first one has its number', () => first > 0)
  const fast = commit(withBits({ 'event:3': 1 }))
  const isWaiting = async () => (await watcher.query(WAITING)).rowCount === 1
  await eventually('the second one waits', isWaiting)
  release()
  await slow
  expect(await fast).toBeGreaterThan(first)
  expect(await floors()).toEqual([[chainId, first, 'unannounced']])
})

const epoch = async () => (await run('SELECT epoch FROM change_counter')).rows[0]?.epoch

test('another server ends the epoch at the last number of it, and begins a new one', async () => {
  await commit(withBits({ 'event:1': 1 }))
  const first = await epoch()
  expect(first).toMatch(/^[0-9a-f]{12}$/)
  const last = await commit(withBits({ 'event:1': 1 }))
  expect([await epoch(), (await run('SELECT FROM feed_epochs')).rows.length]).toEqual([first, 0])
  await run(`UPDATE change_counter SET server = 'another'`)
  await commit(withBits({ 'event:1': 1 }))
  const second = await epoch()
  expect(second).toMatch(/^[0-9a-f]{12}$/)
  expect(second).not.toBe(first)
  expect((await run('SELECT epoch, last FROM feed_epochs')).rows).toEqual([{ epoch: first, last: String(last) }])
  await commit(withBits({ 'event:1': 1 }))
  expect(await epoch()).toBe(second)
  // A counter of an older version has no epoch to end.
  await run(`UPDATE change_counter SET server = '', epoch = ''`)
  await commit(withBits({ 'event:1': 1 }))
  expect(await epoch()).toMatch(/^[0-9a-f]{12}$/)
  expect((await run('SELECT FROM feed_epochs')).rows).toHaveLength(1)
})
