import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { storeObservations } from '../../src/db/index/observations.ts'
import { finalizeSettlements } from '../../src/db/index/settlements.ts'
import { storeTokens } from '../../src/db/index/tokens.ts'
import {
  completeRefreshRequests,
  lockRefreshQueue,
  nextRefreshRequests,
  requestEventRefresh,
  requestFollowUps,
  requestMemberRefresh,
  requestRefresh,
  requestSettlementRefresh,
} from '../../src/db/index/work/refresh-queue.ts'
import type { Database, Handle } from '../../src/db/pool.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
import { eventually } from '../support/process.ts'
import { blockOf, type Plan, seedRows, seedToken, writeSeeded } from '../support/seed-index.ts'

const [chainId, other] = [8453, 56]
const plan: Plan = { token: seedToken, rowsABlock: 10, wallets: 7, events: 4 }

let store: TestDatabase
let database: Database
let holder: Client

beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url)
  holder = new Client(store.url)
  await holder.connect()
  await writeSeeded(database, chainId, blockOf(10n), seedRows(plan, { events: 4, deposits: 3 }))
  const token = { token: `0x${'ab'.repeat(20)}`, symbol: 'A', decimals: 6 } as const
  await database.transaction((handle) => storeTokens(handle, chainId, [token]))
})
afterAll(async () => {
  await holder?.end()
  await database?.close()
  await store?.close()
})

const inOne = (work: (handle: Handle) => Promise<unknown>) => (): Promise<unknown> => database.transaction(work)
const none = { events: [], deposits: [], positions: [], protocol: null }

/** What has to wait while another transaction holds the lock of the refresh queue. */
const works: readonly (readonly [string, () => Promise<unknown>])[] = [
  ['lockRefreshQueue', inOne((it) => lockRefreshQueue(it, chainId))],
  ['requestRefresh', inOne((it) => requestRefresh(it, chainId, [{ subject: 'event', id: 1n }]))],
  ['requestMemberRefresh', inOne((it) => requestMemberRefresh(it, chainId, 'deposit', [1n], 1n))],
  ['requestEventRefresh', inOne((it) => requestEventRefresh(it, chainId, 'deposit', [1n], 1n))],
  [
    'requestFollowUps',
    inOne((it) => requestFollowUps(it, chainId, 'deposit', { eventIds: [1n], block: 1n, except: [] })),
  ],
  ['requestSettlementRefresh', inOne((it) => requestSettlementRefresh(it, chainId, { number: 1n, timestamp: 1n }))],
  [
    'completeRefreshRequests',
    async () => {
      const read = await nextRefreshRequests(database, chainId, 1)
      expect(read).toHaveLength(1)
      return inOne((it) => completeRefreshRequests(it, chainId, read, 1n))()
    },
  ],
  ['storeObservations', inOne((it) => storeObservations(it, chainId, blockOf(11n), none))],
  ['finalizeSettlements', () => finalizeSettlements(database, chainId, blockOf(10n))],
]

/** Whether a transaction waits for the lock of the refresh queue of a chain. */
const waits = async (chain: number): Promise<boolean> => {
  const { rowCount } = await holder.query(
    `SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = ${chain} AND NOT granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  )
  return rowCount !== 0
}

test.each(works)('%s waits for the transaction that holds the lock of its chain', async (_, work) => {
  await holder.query(`SELECT pg_advisory_lock(7201, ${chainId})`)
  let isOver = false
  const working = work().then(() => {
    isOver = true
  })
  await eventually('it waits or is over', async () => isOver || (await waits(chainId)))
  const waited = !isOver
  await holder.query('SELECT pg_advisory_unlock_all()')
  await working
  expect(waited).toBe(true)
})

test.each(works)('%s does not wait for the lock of another chain', async (_, work) => {
  await holder.query(`SELECT pg_advisory_lock(7201, ${other})`)
  try {
    await work()
  } finally {
    await holder.query('SELECT pg_advisory_unlock_all()')
  }
})
