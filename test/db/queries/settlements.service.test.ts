import { type Address, numberToHex } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Database } from '../../../src/db/pool.ts'
import { createSettlementQueries, type SettlementFilter } from '../../../src/db/queries/settlements.ts'
import { changeCounter, settlements } from '../../../src/db/schema/index-state.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { openDatabase } from '../../support/open-database.ts'
import {
  blockOf,
  type Plan,
  seedDeposit,
  seedEvent,
  seedPosition,
  seedToken,
  walletOf,
  writeSeeded,
} from '../../support/seed-index.ts'

type Row = typeof settlements.$inferSelect

const hash = numberToHex(7, { size: 32 })

const row = (seq: number, own: Partial<Row> = {}): Row => ({
  ...{ seq, type: 'settled', chainId: 8453, eventId: BigInt(seq), settledAt: 5n, triggered: false },
  ...{ settlementPrice: 6n, blockNumber: 1n, blockHash: hash, txHash: null, finalizedSeq: null },
  ...own,
})

/** Numbers of both feeds: they become final in another order, and not all do. */
const rows: readonly Row[] = [
  row(10, { eventId: 1n, finalizedSeq: 51 }),
  row(11, { eventId: 2n, triggered: true }),
  row(12, { eventId: 1n, chainId: 56, triggered: true, finalizedSeq: 50 }),
  row(13, { eventId: 3n, triggered: true, finalizedSeq: 53 }),
  row(14, { eventId: 3n, triggered: true, type: 'reverted', finalizedSeq: 54 }),
  row(15, { eventId: 2n, chainId: 56 }),
  row(16, { eventId: 4n, finalizedSeq: 52 }),
]

const plan: Plan = { token: seedToken, rowsABlock: 5, wallets: 100, events: 100 }

let store: TestDatabase
let database: Database
beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url)
  const [creator, lp, hedger] = [walletOf(1), walletOf(2), walletOf(3)]
  const [event, deposit, position] = [seedEvent(1, plan), seedDeposit(1, plan), seedPosition(1, plan)]
  // Created, deposited into and bought protection from, by a wallet each; on the other chain another event.
  await writeSeeded(database, 8453, blockOf(1n), {
    events: [{ ...event, fact: { ...event.fact, creator } }],
    deposits: [{ ...deposit, fact: { ...deposit.fact, id: 77n, eventId: 2n, lp } }],
    positions: [{ ...position, fact: { ...position.fact, id: 88n, eventId: 4n, hedger } }],
  })
  await writeSeeded(database, 56, blockOf(1n), {
    events: [{ ...event, fact: { ...event.fact, id: 2n, creator: lp } }].map((it) => ({
      ...it,
      seen: { ...it.seen, core: { ...it.seen.core, id: 2n } },
    })),
  })
  // Afterwards, because observing an open event reverts its settlement.
  await database.run((handle) => handle.insert(settlements).values([...rows]))
})
afterAll(async () => {
  await database?.close()
  await store?.close()
})

const after = async (seq: number, filter: Partial<SettlementFilter> = {}, limit = 100) => {
  const found = await createSettlementQueries(database).after(seq, { chainIds: [8453, 56], ...filter }, limit)
  return found.map((it) => it.seq)
}

const ALL = rows.map(({ seq }) => seq)
const [creator, lp, hedger, stranger] = [1, 2, 3, 4].map(walletOf) as [Address, Address, Address, Address]

test.each<[string, Partial<SettlementFilter>, readonly number[]]>([
  ['nothing', {}, ALL],
  ['a chain', { chainIds: [56] }, [12, 15]],
  ['no chain', { chainIds: [] }, []],
  ['events', { chainIds: [8453], eventIds: [1n, 3n] }, [10, 13, 14]],
  ['triggered ones', { triggered: true }, [11, 12, 13, 14]],
  ['ones that are not triggered', { triggered: false }, [10, 15, 16]],
  ['a creator of one chain', { wallets: [creator] }, [10, 14]],
  ['an LP of one chain, who created an event of the other', { wallets: [lp] }, [11, 14, 15]],
  ['a hedger', { wallets: [hedger] }, [14, 16]],
  ['two wallets', { wallets: [creator, hedger] }, [10, 14, 16]],
  ['a stranger, who gets the reversals', { wallets: [stranger] }, [14]],
  ['a wallet and a result', { wallets: [creator, lp], triggered: false }, [10, 15]],
  ['a wallet, events and a chain', { wallets: [lp], chainIds: [8453], eventIds: [2n] }, [11]],
])('settlements by %s are in the order of their numbers', async (_, filter, expected) => {
  expect(await after(0, filter)).toEqual(expected)
})

test('a page starts after a number, has its limit, and the next one continues', async () => {
  expect(await after(10)).toEqual(ALL.slice(1))
  expect(await after(9)).toEqual(ALL)
  expect(await after(16)).toEqual([])
  for (const limit of [1, 2, 3, 7]) {
    const seen: number[] = []
    for (let page = await after(0, {}, limit); page.length > 0; page = await after(seen.at(-1) ?? 0, {}, limit)) {
      expect(page.length).toBeLessThanOrEqual(limit)
      seen.push(...page)
      expect(seen.length).toBeLessThanOrEqual(ALL.length)
    }
    expect(seen).toEqual(ALL)
  }
})

test('final settlements have numbers of their own, and those that are not final are not there', async () => {
  expect(await after(0, { isFinal: true })).toEqual([50, 51, 52, 53, 54])
  expect(await after(51, { isFinal: true }, 2)).toEqual([52, 53])
  expect(await after(0, { isFinal: true, chainIds: [56] })).toEqual([50])
  const found = await createSettlementQueries(database).after(49, { chainIds: [56], isFinal: true }, 1)
  expect(found).toMatchObject([{ seq: 50, chainId: 56, eventId: 1n, isFinal: true }])
  const [first] = await createSettlementQueries(database).after(0, { chainIds: [8453] }, 1)
  expect(first).toEqual(rows[0])
})

describe('the end of the feed', () => {
  const queries = () => createSettlementQueries(database)
  const clear = () => database.run((handle) => handle.delete(changeCounter))

  test('is 0 before the first change, and any greater number is of the future', async () => {
    await clear()
    expect(await queries().position()).toBe(0)
    expect([await queries().isFuture(0), await queries().isFuture(1)]).toEqual([false, true])
  })

  test('is the newest change, and a number above it and above the clock is of the future', async () => {
    await clear()
    const last = (Date.now() + 3_600_000) * 1_000
    await database.run((handle) => handle.insert(changeCounter).values({ one: 1, last, before: 1 }))
    expect(await queries().position()).toBe(last)
    expect([await queries().isFuture(last), await queries().isFuture(last + 1)]).toEqual([false, true])
    // A copy of the database may not have the newest changes yet.
    await database.run((handle) => handle.update(changeCounter).set({ last: 5 }))
    expect(await queries().isFuture(6)).toBe(false)
    expect(await queries().isFuture(last)).toBe(true)
  })
})
