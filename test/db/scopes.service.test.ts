import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  aspects,
  ofEvent,
  ofWallet,
  type Touched,
  touchedAbove,
  touchedByEvents,
  touchedByIds,
  touchedByLedgerWhere,
  touchedByMembers,
  touching,
} from '../../src/db/changes/scopes.ts'
import type { Database, Handle } from '../../src/db/pool.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
import {
  blockOf,
  type Plan,
  seedDeposit,
  seedEvent,
  seedPosition,
  seedToken,
  walletOf,
  writeSeeded,
} from '../support/seed-index.ts'

const chainId = 8453
/** Two rows of each kind per block. The other chain has the same ids, of other wallets and events. */
const plan: Plan = { token: seedToken, rowsABlock: 2, wallets: 50, events: 3 }
const otherPlan = { ...plan, wallets: 3, events: 1 }

let store: TestDatabase
let database: Database

beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url, { maxConnections: 2 })
  for (const [chain, of] of [
    [chainId, plan],
    [56, otherPlan],
  ] as const)
    await writeSeeded(database, chain, blockOf(10n), {
      events: [1, 2, 3].map((id) => seedEvent(id, of)),
      deposits: [1, 2, 3, 4].map((id) => seedDeposit(id, of)),
      positions: [1, 2, 3, 4].map((id) => seedPosition(id, of)),
    })
})
afterAll(async () => {
  await database?.close()
  await store?.close()
})

const touched = async (work: (handle: Handle) => Promise<Touched>) => {
  const { scopes, all, reset } = await database.run(work)
  return all || reset !== null ? { all, reset } : Object.fromEntries(scopes)
}

const { events, deposits, positions, claimables } = aspects
/** What the creator's event, the deposits and the positions of these ids touch. */
const scopesOf = (ids: { readonly events?: number[]; readonly deposits?: number[]; readonly positions?: number[] }) => {
  const found: Record<string, number> = {}
  const add = (scope: string, bits: number): void => {
    found[scope] = (found[scope] ?? 0) | bits
  }
  for (const id of ids.events ?? []) {
    add('events', 0)
    add(ofEvent(id), events)
    add(ofWallet(walletOf((id * 7) % 50)), events | claimables)
  }
  for (const id of ids.deposits ?? []) {
    add('deposits', 0)
    add(ofEvent(1 + (id % 3)), deposits)
    add(ofWallet(walletOf((id * 11) % 50)), deposits | claimables)
  }
  for (const id of ids.positions ?? []) {
    add('positions', 0)
    add(ofEvent(1 + (id % 3)), positions)
    add(ofWallet(walletOf((id * 13) % 50)), positions | claimables)
  }
  return found
}

test('stored entities touch their kind, their events and their owners, on their chain alone', async () => {
  expect(await touched((it) => touchedByIds(it, chainId, 'event', [2n, 99n]))).toEqual(scopesOf({ events: [2] }))
  expect(await touched((it) => touchedByIds(it, chainId, 'deposit', [1n, 4n]))).toEqual(scopesOf({ deposits: [1, 4] }))
  expect(await touched((it) => touchedByIds(it, chainId, 'position', [3n]))).toEqual(scopesOf({ positions: [3] }))
  expect(await touched((it) => touchedByIds(it, chainId, 'event', []))).toEqual({})
})

test('the members of an event touch it and their owners, deposits and positions alike', async () => {
  const members = scopesOf({ deposits: [1, 4], positions: [1, 4] })
  expect(await touched((it) => touchedByMembers(it, chainId, [2n]))).toEqual(members)
  expect(await database.run((it) => touchedByMembers(it, chainId, []))).toEqual(touching())
})

test('a change of events touches them and all of their members', async () => {
  const expected = scopesOf({ events: [2], deposits: [1, 4], positions: [1, 4] })
  expect(await touched((it) => touchedByEvents(it, chainId, sql`events.id = 2`))).toEqual(expected)
  expect(await touched((it) => touchedByEvents(it, chainId, sql`false`))).toEqual({})
})

test('an event that was not observed counts too', async () => {
  const undo = new Error('undo')
  const tried = database.transaction(async (handle) => {
    await handle.execute(sql`DELETE FROM event_observations WHERE id = 2`)
    const found = await touchedByEvents(handle, chainId, sql`events.id = 2`)
    expect(Object.fromEntries(found.scopes)).toEqual(scopesOf({ events: [2], deposits: [1, 4], positions: [1, 4] }))
    throw undo
  })
  await expect(tried).rejects.toBe(undo)
})

test.each([
  [3, false],
  [2, true],
])('three events with a limit of %i touch everything: %s', async (most, all) => {
  const found = await database.run((it) => touchedByEvents(it, chainId, sql`true`, most))
  expect([found.all, found.reset]).toEqual([all, all ? 'many_changes' : null])
})

test('the facts above a block touch their scopes, not those in the block', async () => {
  expect(await touched((it) => touchedAbove(it, chainId, 1n))).toEqual(
    scopesOf({ events: [3], deposits: [3, 4], positions: [3, 4] }),
  )
  expect(await touched((it) => touchedAbove(it, chainId, 2n))).toEqual({})
  expect(await touched((it) => touchedAbove(it, chainId, -1n))).toEqual(
    scopesOf({ events: [1, 2, 3], deposits: [1, 2, 3, 4], positions: [1, 2, 3, 4] }),
  )
})

/** Adds a row to the ledger of a chain for the time of some work. */
const withRow = (chain: number, block: number, eventId: number | null, work: (handle: Handle) => Promise<void>) => {
  const undo = new Error('undo')
  const tried = database.transaction(async (handle) => {
    await handle.execute(sql`INSERT INTO ledger (chain_id, block_number, block_hash, block_timestamp, log_index, tx_hash, topics, data, type, event_id, wallet)
      VALUES (${chain}, ${block}, '', 0, 0, '', '', '', 0, ${eventId}, ${sql.raw(`'\\x${'ab'.repeat(20)}'`)})`)
    await work(handle)
    throw undo
  })
  return expect(tried).rejects.toBe(undo)
}
const actor = ofWallet(`0x${'ab'.repeat(20)}`)
const { activity } = aspects

test('the rows of the ledger above a block touch the activity of their events and wallets', async () => {
  const above = async (handle: Handle, number: bigint) =>
    Object.fromEntries((await touchedAbove(handle, chainId, number)).scopes)
  await withRow(chainId, 7, 9, async (handle) => {
    expect(await above(handle, 6n)).toEqual({ activity: 0, 'event:9': activity, [actor]: activity })
    expect(await above(handle, 7n)).toEqual({})
  })
  await withRow(56, 7, 9, async (handle) => expect(await above(handle, 6n)).toEqual({}))
})

test('more stored rows of the ledger than the limit touch everything', async () => {
  await withRow(chainId, 7, null, async (handle) => {
    const found = async (most: number) => (await touchedByLedgerWhere(handle, chainId, sql`true`, most)).reset
    expect([await found(2), await found(0)]).toEqual([null, 'many_changes'])
  })
})

test.each([
  [4, false],
  [3, true],
])('four deposits above a block with a limit of %i touch everything: %s', async (most, all) => {
  const found = await database.run((it) => touchedAbove(it, chainId, -1n, most))
  expect([found.all, found.reset]).toEqual([all, all ? 'many_changes' : null])
})
