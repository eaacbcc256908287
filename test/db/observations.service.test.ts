import { sql } from 'drizzle-orm'
import { getAddress } from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { aspects, ofEvent, ofWallet } from '../../src/db/changes/scopes.ts'
import { type Observations, storeObservations } from '../../src/db/index/observations.ts'
import { nextRefreshRequests, requestRefresh } from '../../src/db/index/work/refresh-queue.ts'
import type { Database } from '../../src/db/pool.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
import {
  blockOf,
  type Plan,
  seedDeposit,
  seedEvent,
  seedPosition,
  seedRows,
  seedToken,
  walletOf,
  writeSeeded,
} from '../support/seed-index.ts'

const [chainId, other] = [8453, 56]
/** Deposits and positions 2 and 5 belong to event 3, which is not settled; 3 and 6 to event 1. */
const plan: Plan = { token: seedToken, rowsABlock: 10, wallets: 50, events: 3 }
const ids = [1, 2, 3, 4, 5, 6]
const changing = ['event_observations', 'deposit_observations', 'position_observations']
const filled = ['chain_observations', 'settlements', 'refresh_queue', 'upgrades', 'changes', 'feed_floors', 'feed']

let store: TestDatabase
let database: Database

beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url, { maxConnections: 2 })
  for (const chain of [chainId, other])
    await writeSeeded(
      database,
      chain,
      blockOf(10n),
      seedRows(plan, { events: 3, deposits: ids.length, positions: ids.length }),
    )
  for (const table of changing) await run(`CREATE TABLE kept_${table} AS TABLE ${table}`)
})
afterAll(async () => {
  await database?.close()
  await store?.close()
})
beforeEach(() =>
  run(
    [
      ...[...changing, ...filled].map((table) => `DELETE FROM ${table}`),
      ...changing.map((table) => `INSERT INTO ${table} SELECT * FROM kept_${table}`),
    ].join(';'),
  ),
)

const run = (statement: string) => database.run((handle) => handle.execute(sql.raw(statement)))
const value = async (statement: string): Promise<unknown> => Object.values((await run(statement)).rows[0] ?? {})[0]

type Stats = Partial<Observations['events'][number]['stats']>
const event = (id: number, stats: Stats = {}) => {
  const { seen } = seedEvent(id, plan)
  const { totalLiquidity = seen.stats.totalLiquidity } = stats
  return { ...seen, stats: { ...seen.stats, ...stats }, utilization: { ...seen.utilization, totalLiquidity } }
}
const deposit = (id: number, more: object = {}) => {
  const { seen } = seedDeposit(id, plan)
  return { ...seen, deposit: { ...seen.deposit, ...more } }
}
const position = (id: number, more: object = {}) => ({ position: { ...seedPosition(id, plan).seen.position, ...more } })

const store_ = (number: bigint, seen: Partial<Observations>, requests?: Parameters<typeof storeObservations>[4]) =>
  database.transaction((handle) =>
    storeObservations(
      ...([handle, chainId, blockOf(number)] as const),
      { ...{ events: [], deposits: [], positions: [], protocol: null }, ...seen },
      requests,
    ),
  )
/** The scopes of the changes since the start of the test: `all` for everything, null for none. */
const announced = async (): Promise<unknown> => {
  const { rows } = await run('SELECT chain_id, scopes FROM changes ORDER BY seq')
  expect(rows.every((row) => row.chain_id === chainId)).toBe(true)
  return rows.length === 0
    ? null
    : rows.map(({ scopes }) => (scopes === null ? 'all' : (scopes as string[]).toSorted()))
}
const sorted = (...scopes: string[]): string[] => scopes.toSorted()
/** The requests of the chain, as subject, id and oldest block. */
const queued = async (): Promise<string[]> => {
  const { rows } = await run(
    `SELECT format('%s %s from %s', subject, id, from_block) AS it FROM refresh_queue WHERE chain_id = ${chainId} ORDER BY subject, id`,
  )
  return rows.map(({ it }) => String(it))
}
const creator = (id: number) => ofWallet(walletOf((id * 7) % 50))
const lp = (id: number) => ofWallet(walletOf((id * 11) % 50))
const hedger = (id: number) => ofWallet(walletOf((id * 13) % 50))

test('observations that repeat what is stored get the new block and announce nothing', async () => {
  await store_(11n, { events: [event(3)], deposits: [deposit(2)], positions: [position(2)] })
  expect([await announced(), await queued()]).toEqual([null, []])
  for (const kind of ['event', 'deposit', 'position']) {
    const row = (chain: number) =>
      value(
        `SELECT block_number FROM ${kind}_observations WHERE chain_id = ${chain} AND id = ${kind === 'event' ? 3 : 2}`,
      )
    expect([kind, await row(chainId), await row(other)]).toEqual([kind, '11', '10'])
  }
})

test.each([
  [9n, '0'],
  [10n, '77'],
  [11n, '77'],
])('an observation at block %i, after one at block 10, leaves the pending premiums %s', async (number, pending) => {
  await store_(number, { deposits: [{ ...deposit(2), pending: 77n }] })
  expect(await value(`SELECT pending FROM deposit_observations WHERE chain_id = ${chainId} AND id = 2`)).toBe(pending)
  expect(await value(`SELECT pending FROM deposit_observations WHERE chain_id = ${other} AND id = 2`)).toBe('0')
  const scopes = sorted('deposits', ofEvent(3), lp(2))
  expect(await announced()).toEqual(pending === '0' ? null : [scopes])
})

describe('the token of an event', () => {
  const tokens = async (chain = chainId) =>
    (
      await run(`SELECT id, encode(payment_token, 'hex') AS token FROM events WHERE chain_id = ${chain} ORDER BY id`)
    ).rows.map(({ token }) => token && getAddress(`0x${token}`))

  test('is stored with its fact, also by an observation that changes nothing', async () => {
    await run('UPDATE events SET payment_token = NULL')
    await store_(11n, { events: [event(2)] })
    expect([await tokens(), await tokens(other)]).toEqual([
      [null, seedToken, null],
      [null, null, null],
    ])
    await store_(11n, { events: [event(1), event(3)] })
    expect(await tokens()).toEqual([seedToken, seedToken, seedToken])
  })

  test('that becomes another one is a change of the activity of its event and of the wallets in it', async () => {
    await run(`INSERT INTO feed_floors VALUES (${chainId}, 0, 'backfill');
      INSERT INTO ledger (chain_id, block_number, block_hash, block_timestamp, log_index, tx_hash, topics, data, type, event_id, wallet)
      VALUES (${chainId}, 9, '', 0, 0, '', '', '', 5, 2, '\\x${hedger(2).slice(9)}')`)
    const active = async () =>
      (await run('SELECT type, key FROM feed WHERE activity > 0 ORDER BY type')).rows.map(({ key }) => key)
    await store_(11n, { events: [event(2)] })
    expect(await active()).toEqual([])
    await run('UPDATE events SET payment_token = NULL WHERE id = 2')
    await store_(12n, { events: [event(2)] })
    expect(await active()).toEqual(['2', hedger(2).slice(7)])
    await run('DELETE FROM ledger')
  })

  test('is that of the newest observation, and stays when a rollback deletes the observation', async () => {
    await store_(11n, { events: [{ ...event(2), paymentToken: walletOf(7) }] })
    await store_(10n, { events: [event(2)] })
    expect(await tokens()).toEqual([seedToken, walletOf(7), seedToken])
    await run('DELETE FROM event_observations')
    expect(await tokens()).toEqual([seedToken, walletOf(7), seedToken])
    await store_(9n, { events: [event(2)] })
    expect(await tokens()).toEqual([seedToken, seedToken, seedToken])
  })
})

test('a new observation announces its entity', async () => {
  await run(`DELETE FROM position_observations WHERE id = 2 AND chain_id = ${chainId}`)
  await store_(11n, { positions: [position(2), position(5)] })
  expect(await announced()).toEqual([sorted('positions', ofEvent(3), hedger(2))])
})

const members = (kind: string, ...of: number[]) => of.map((id) => `${kind} ${id} from 11`)

test.each([
  ['premiums', { totalPremiums: 9n }, members('deposit', 2, 5)],
  ['liquidity', { totalLiquidity: 9n }, []],
  ['maximal payout before the settlement', { totalMaxPayout: 9n }, []],
  ['time of settlement', { settledAt: 9n }, [...members('deposit', 2, 5), ...members('position', 2, 5)]],
] as const)('another value of %s requests the members of the event that depend on it', async (_, stats, requests) => {
  await store_(11n, { events: [event(3, stats), event(1)] })
  expect(await queued()).toEqual(requests)
})

test('a lower payout of a settled event requests its members, as a sweep of unclaimed payouts lowers it', async () => {
  await run(`UPDATE event_observations SET settled_at = 9 WHERE id = 3`)
  await store_(11n, { events: [event(3, { settledAt: 9n, totalMaxPayout: 5n })] })
  expect(await queued()).toEqual([...members('deposit', 2, 5), ...members('position', 2, 5)])
})

test('members that were observed with their event are not requested again, and a request of the event dates theirs', async () => {
  await database.transaction((it) => requestRefresh(it, chainId, [{ subject: 'event', id: 3n }], 4n))
  const requests = await nextRefreshRequests(database, chainId, 9)
  const seen = { events: [event(3, { settledAt: 9n })], deposits: [deposit(5)], positions: [position(2)] }
  await store_(11n, seen, requests)
  // The request is complete.
  expect(await queued()).toEqual(['deposit 2 from 4', 'position 5 from 4'])
})

test('a request that was raised meanwhile stays for later blocks', async () => {
  const request = () => database.transaction((it) => requestRefresh(it, chainId, [{ subject: 'event', id: 3n }], 4n))
  await request()
  const requests = await nextRefreshRequests(database, chainId, 9)
  await request()
  await store_(11n, { events: [event(3)] }, requests)
  expect(await queued()).toEqual(['event 3 from 12'])
})

const touched = {
  event: ['events', ofEvent(3), creator(3)],
  members: ['deposits', 'positions', lp(2), lp(5), hedger(2), hedger(5)],
}

test('a settlement is stored, and touches the event and all of its members', async () => {
  await store_(11n, { events: [event(3, { settledAt: 9n, triggered: true, settlementPrice: 7n })] })
  expect(await announced()).toEqual([sorted('settlements', ...touched.event, ...touched.members)])
  const { rows } = await run('SELECT type, chain_id, event_id, block_number FROM settlements')
  expect(rows).toEqual([{ type: 'settled', chain_id: chainId, event_id: '3', block_number: '11' }])
})

test('a settlement that an older observation shows is not stored', async () => {
  await store_(9n, { events: [event(3, { settledAt: 9n })] })
  expect(await value('SELECT count(*) FROM settlements')).toBe('0')
  expect(await value(`SELECT settled_at FROM event_observations WHERE id = 3 AND chain_id = ${chainId}`)).toBe('0')
})

test('a settlement that is gone is reverted, and touches the members again', async () => {
  await store_(11n, { events: [event(3, { settledAt: 9n })] })
  await run('DELETE FROM changes')
  await store_(12n, { events: [event(3)] })
  expect(await announced()).toEqual([sorted('settlements', ...touched.event, ...touched.members)])
  const { rows } = await run('SELECT type FROM settlements ORDER BY seq')
  expect(rows.map(({ type }) => type)).toEqual(['settled', 'reverted'])
})

test('a change of the pool of an unsettled event touches the event alone', async () => {
  await store_(11n, { events: [event(3, { totalLiquidity: 9n, totalMaxPayout: 8n })] })
  expect(await announced()).toEqual([sorted(...touched.event)])
})

test.each([
  ['liquidity', { totalLiquidity: 9n }],
  ['payouts', { totalMaxPayout: 9n }],
] as const)('a change of the %s that a settled event leaves touches its members', async (_, stats) => {
  await store_(11n, { events: [event(3, { settledAt: 9n })] })
  await run('DELETE FROM changes')
  await store_(12n, { events: [event(3, { settledAt: 9n, ...stats })] })
  expect(await announced()).toEqual([sorted(...touched.event, ...touched.members)])
})

test('an unsettled event that was not observed before touches its members, because it may have been settled', async () => {
  await run(`DELETE FROM event_observations WHERE id = 3 AND chain_id = ${chainId}`)
  await store_(11n, { events: [event(3)] })
  expect(await announced()).toEqual([sorted(...touched.event, ...touched.members)])
})

const { timestamp } = blockOf(11n)

test.each([
  ['at the block', timestamp, true],
  ['a second after the block', timestamp + 1n, false],
  ['at the block of the last observation', blockOf(10n).timestamp, false],
  ['a second after the last observation', blockOf(10n).timestamp + 1n, true],
])('an event that expires %s (%s) changes with its members: %s', async (_, expiryDate, isExpired) => {
  const { core, ...seen } = event(3)
  await store_(11n, { events: [{ core: { ...core, expiryDate }, ...seen }] })
  expect(await announced()).toEqual(isExpired ? [sorted(...touched.event, ...touched.members)] : null)
})

const protocol = (more: Partial<NonNullable<Observations['protocol']>> = {}): Observations['protocol'] => ({
  fees: {
    ...{ eventCreationFee: 1n, hedgerFeeRate: 2n, hedgerPayoutFeeRate: 3n },
    ...{ lpProfitFeeRate: 4n, creatorLoyaltyRate: 5n },
  },
  ...{ paused: false, total: 6n, loupeHash: blockOf(1n).hash },
  ...more,
})

test('the state of the protocol is stored field by field and announced when it changes', async () => {
  await store_(11n, { protocol: protocol() })
  expect((await run('SELECT * FROM chain_observations')).rows).toMatchObject([
    {
      ...{ chain_id: chainId, creation_fee: '1', hedger_fee_rate: '2', payout_fee_rate: '3', lp_profit_fee_rate: '4' },
      ...{ creator_loyalty_rate: '5', paused: false, total_events: '6', block_number: '11' },
    },
  ])
  await store_(12n, { protocol: protocol() })
  expect(await announced()).toEqual([['protocol']])
  await store_(13n, { protocol: protocol({ paused: true }) })
  expect(await announced()).toEqual([['protocol'], ['protocol']])
})

test.each([
  ['another hash at a later block', 12n, blockOf(2n).hash, true],
  ['another hash at the same block', 11n, blockOf(2n).hash, true],
  ['another hash at an older block', 10n, blockOf(2n).hash, false],
  ['the same hash', 12n, blockOf(1n).hash, false],
  ['no hash', 12n, null, false],
] as const)('%s of the loupe, at block %i, is an upgrade or not', async (_, number, loupeHash, isUpgrade) => {
  await store_(11n, { protocol: protocol() })
  await run(`DELETE FROM refresh_queue; DELETE FROM changes; CREATE TEMP TABLE another AS TABLE chain_observations;
    UPDATE another SET chain_id = ${other}, loupe_hash = '\\x01', block_number = 1;
    INSERT INTO chain_observations SELECT * FROM another; DROP TABLE another`)
  expect(await store_(number, { protocol: protocol({ loupeHash }) })).toBe(isUpgrade)
  const { rows } = await run('SELECT chain_id, block_number, tx_hash FROM upgrades')
  expect(rows).toEqual(isUpgrade ? [{ chain_id: chainId, block_number: String(number), tx_hash: null }] : [])
  expect((await queued()).length > 0).toBe(isUpgrade)
  if (isUpgrade) expect(await announced()).toEqual(['all'])
  // The next observation of the same hash is no other upgrade.
  if (isUpgrade) expect(await store_(number + 1n, { protocol: protocol({ loupeHash }) })).toBe(false)
})

test('the first observation of a loupe is no upgrade', async () => {
  await store_(11n, { protocol: protocol({ loupeHash: null }) })
  expect(await store_(12n, { protocol: protocol() })).toBe(false)
})

test('an observation of the rates is compared with their logs', async () => {
  await run(`UPDATE cursors SET fees_number = 20 WHERE chain_id = ${chainId}; INSERT INTO fee_rates
    SELECT chain_id, 3, block_hash, 1, block_hash, 0, 2, 3, 4, 5 FROM cursors WHERE chain_id = ${chainId}`)
  const found = () => value(`SELECT fees_contradiction FROM cursors WHERE chain_id = ${chainId}`)
  await store_(11n, { protocol: protocol() })
  expect(await found()).toBeNull()
  const fees = { ...protocol()?.fees, lpProfitFeeRate: 9n } as NonNullable<Observations['protocol']>['fees']
  await store_(12n, { protocol: protocol({ fees }) })
  expect(await found()).toContain('2, 3, 9, 5')
  expect(await announced()).toEqual([['protocol'], 'all'])
  await run('UPDATE cursors SET fees_number = NULL, fees_contradiction = NULL; DELETE FROM fee_rates')
})

test('the feed has the aspects of what changed', async () => {
  await run(`INSERT INTO feed_floors VALUES (${chainId}, 0, 'backfill')`)
  await store_(11n, { deposits: [{ ...deposit(2), pending: 77n }] })
  const { rows } = await run(
    'SELECT type, key, deposits > 0 AS deposits, claimables > 0 AS claimables, positions FROM feed ORDER BY type',
  )
  expect(rows).toEqual([
    { type: 'event', key: '3', deposits: true, claimables: false, positions: '0' },
    { type: 'wallet', key: lp(2).slice(7), deposits: true, claimables: true, positions: '0' },
  ])
  expect(aspects.claimables).toBe(8)
})
