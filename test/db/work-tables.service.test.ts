import { sql } from 'drizzle-orm'
import { Client } from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { appendSet, newestSet } from '../../src/db/calibrations.ts'
import { ofEvent } from '../../src/db/changes/scopes.ts'
import { readIndexHealth } from '../../src/db/index/health.ts'
import { storeTokens } from '../../src/db/index/tokens.ts'
import { requestRefresh } from '../../src/db/index/work/refresh-queue.ts'
import { isAuditDue, lastUpgrade, recordUpgrade } from '../../src/db/index/work/upgrades.ts'
import type { Database } from '../../src/db/pool.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
import { eventually } from '../support/process.ts'
import { blockOf, type Plan, seedRows, seedToken, writeSeeded } from '../support/seed-index.ts'

const [chainId, other] = [8453, 56]
const plan: Plan = { token: seedToken, rowsABlock: 10, wallets: 50, events: 3 }

let store: TestDatabase
let database: Database

beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url)
  for (const chain of [chainId, other])
    await writeSeeded(database, chain, blockOf(10n), seedRows(plan, { events: 3, deposits: 3, positions: 3 }))
})
afterAll(async () => {
  await database?.close()
  await store?.close()
})
beforeEach(() =>
  run(
    ['refresh_queue', 'upgrades', 'audits', 'changes', 'tokens', 'calibrations']
      .map((table) => `DELETE FROM ${table}`)
      .join(';'),
  ),
)

const run = (statement: string) => database.run((handle) => handle.execute(sql.raw(statement)))
const value = async (statement: string): Promise<unknown> => Object.values((await run(statement)).rows[0] ?? {})[0]

const upgrade = (number: bigint, chain = chainId, txHash: `0x${string}` | null = null) => {
  const { hash: blockHash } = blockOf(number)
  return database.transaction((handle) => recordUpgrade(handle, chain, { blockNumber: number, blockHash, txHash }))
}
const audit = (chain: number, roundAt: string) =>
  run(
    `INSERT INTO audits SELECT ${chain}, 'deposit', 7, 1, block_hash, now(), 1, 1, 1, 1, ${roundAt} FROM cursors LIMIT 1`,
  )

test('an upgrade is recorded, requests everything, forgets the loupe and starts the audit again, on its chain', async () => {
  for (const chain of [chainId, other]) {
    await audit(chain, 'now()')
    await run(`INSERT INTO chain_observations (chain_id, creation_fee, hedger_fee_rate, payout_fee_rate, lp_profit_fee_rate,
      creator_loyalty_rate, paused, total_events, loupe_hash, block_number, block_hash, block_timestamp)
      SELECT ${chain}, 1, 1, 1, 1, 1, false, 3, block_hash, 10, block_hash, 1 FROM cursors LIMIT 1`)
  }
  await upgrade(9n, chainId, blockOf(1n).hash)
  const { rows } = await run('SELECT chain_id, subject, id, many, from_block FROM refresh_queue ORDER BY sequence')
  expect(rows.map((row) => Object.values(row).join(' '))).toEqual(
    ['chain 0 1', 'event 1 3', 'deposit 1 3', 'position 1 3'].map((it) => `${chainId} ${it} 9`),
  )
  const found = await run(`SELECT chain_id, loupe_hash IS NULL AS forgotten, kind, next_id FROM chain_observations
    JOIN audits USING (chain_id) ORDER BY chain_id DESC`)
  expect(found.rows).toEqual([
    { chain_id: chainId, forgotten: true, kind: 'event', next_id: '0' },
    { chain_id: other, forgotten: false, kind: 'deposit', next_id: '7' },
  ])
  await run('DELETE FROM chain_observations')
})

test('the last upgrade is the newest recorded one of the chain', async () => {
  const last = () => database.run((handle) => lastUpgrade(handle, chainId))
  expect(await last()).toBeNull()
  await upgrade(12n, chainId, blockOf(1n).hash)
  await upgrade(11n)
  await upgrade(20n, other)
  expect(await last()).toMatchObject({ blockNumber: 11n, blockHash: blockOf(11n).hash, txHash: null })
})

test('an audit is due from an upgrade until its next round on the chain', async () => {
  const due = () => isAuditDue(database, chainId)
  expect(await due()).toBe(false)
  await upgrade(9n, other)
  expect(await due()).toBe(false)
  await upgrade(9n)
  expect(await due()).toBe(true)
  await audit(chainId, 'NULL')
  expect(await due()).toBe(true)
  await run(`UPDATE audits SET round_at = now() - interval '1 hour'`)
  expect(await due()).toBe(true)
  await run(`UPDATE audits SET round_at = now() + interval '1 second'`)
  expect(await due()).toBe(false)
  await run(`UPDATE upgrades SET recorded_at = now() + interval '1 hour' WHERE chain_id = ${other}`)
  expect(await due()).toBe(false)
})

const address = '0x00000000000000000000000000000000000000AA'
const token = (symbol: string | null, decimals: number | null) => ({ token: address, symbol, decimals }) as const
const put = (...tokens: ReturnType<typeof token>[]) =>
  database.transaction((handle) => storeTokens(handle, chainId, tokens))
const announced = async () => (await run('SELECT scopes FROM changes ORDER BY seq')).rows.map(({ scopes }) => scopes)

test('a token is stored once, and everything changes when it becomes known', async () => {
  expect(await put()).toEqual([])
  expect(await put(token('A', null))).toEqual([])
  expect(await value('SELECT count(*) FROM tokens')).toBe('0')
  expect(await put(token('A', 6))).toEqual([])
  expect(await announced()).toEqual([null])
  expect(await put(token('A', 6))).toEqual([])
  expect(await announced()).toEqual([null])
  expect(await value('SELECT chain_id FROM tokens')).toBe(chainId)
})

test.each([
  ['symbol', 'B', 6],
  ['missing symbol', null, 6],
  ['decimals', 'A', 18],
])(
  'another %s of a token replaces the stored one and is returned, and the feed has its events',
  async (_, symbol, decimals) => {
    await run(`INSERT INTO tokens VALUES (${other}, '\\x${address.slice(2)}', 'Z', 1)`)
    await put(token('A', 6))
    await run(`INSERT INTO feed_floors VALUES (${chainId}, 0, 'backfill') ON CONFLICT DO NOTHING; DELETE FROM feed`)
    await run(`DELETE FROM ledger; INSERT INTO ledger
      (chain_id, block_number, block_hash, block_timestamp, log_index, tx_hash, topics, data, type, event_id)
      VALUES (${chainId}, 1, '', 0, 0, '', '', '', 5, 2)`)
    await run(`UPDATE event_observations SET payment_token = '\\x${address.slice(2)}' WHERE id = 2`)
    expect(await put(token(symbol, decimals))).toEqual([{ before: token('A', 6), now: token(symbol, decimals) }])
    const { rows } = await run('SELECT chain_id, decimals FROM tokens ORDER BY chain_id')
    expect(rows).toEqual([
      { chain_id: other, decimals: 1 },
      { chain_id: chainId, decimals },
    ])
    const feed = await run(`SELECT chain_id, concat(type, ':', key) AS scope FROM feed WHERE type = 'event'`)
    expect(feed.rows).toEqual([{ chain_id: chainId, scope: ofEvent(2) }])
    expect(await value(`SELECT activity > 0 FROM feed WHERE type = 'event'`)).toBe(true)
  },
)

test('the sets of a model are numbered, and an equal set is not stored again', async () => {
  expect(await newestSet(database, 1)).toBeNull()
  const first = await appendSet(database, 1, { a: 1, b: [2] })
  expect(first).not.toBeNull()
  expect(await appendSet(database, 1, { b: [2], a: 1 })).toBeNull()
  const other_ = await appendSet(database, 2, { a: 1, b: [2] })
  const second = await appendSet(database, 1, { a: 2 })
  expect([second, other_].every((it) => Number(it) > Number(first))).toBe(true)
  // Equal to an older one, but not to the newest one.
  const third = await appendSet(database, 1, { a: 1, b: [2] })
  expect(await newestSet(database, 1)).toEqual({ version: third, pairs: { a: 1, b: [2] } })
  expect(await newestSet(database, 2)).toEqual({ version: other_, pairs: { a: 1, b: [2] } })
})

test.each([
  [2, 3, [1, 2]],
  [3, 3, [1, 2, 3]],
  [4, 3, [2, 3, 4]],
  [31, undefined, Array.from({ length: 30 }, (_, at) => at + 2)],
])('of %i sets with a limit of %s the newest ones are kept', async (count, kept, expected) => {
  await appendSet(database, 9, 0, kept)
  for (let set = 1; set <= count; set += 1) await appendSet(database, 1, set, kept)
  const { rows } = await run('SELECT pairs FROM calibrations WHERE model = 1 ORDER BY version')
  expect(rows.map(({ pairs }) => pairs)).toEqual(expected)
  expect(await newestSet(database, 9)).toMatchObject({ pairs: 0 })
})

test('a writer of a set waits for another one, whose equal set it then sees', async () => {
  const client = new Client(store.url)
  await client.connect()
  try {
    await client.query('BEGIN')
    await client.query(`INSERT INTO calibrations (model, pairs) VALUES (1, '{"a": 1}')`)
    const appended = appendSet(database, 1, { a: 1 })
    let isOver = false
    void appended.finally(() => {
      isOver = true
    })
    await eventually('it waits or is over', async () => {
      const { rowCount } = await client.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      )
      return isOver || rowCount === 1
    })
    await client.query('COMMIT')
    expect(await appended).toBeNull()
    expect(await value('SELECT count(*) FROM calibrations')).toBe('1')
  } finally {
    await client.end()
  }
})

test('the health of an index has the values of its chain, each null before its first', async () => {
  const empty = { indexed: null, heartbeat: null, audit: null, feesContradiction: null, upgrade: null }
  const observations = { waiting: 0, oldestSeconds: null }
  const withoutLog = { pending: 0, absent: 0, pruned: 0, oldestSeconds: null }
  const ledger = { completeFrom: null, unreadBlocks: 0n, prunedBlocks: 0n, gaps: 0, summedTo: null, sumsLagSeconds: 0 }
  expect(await readIndexHealth(database, 1)).toEqual({
    ...{ ...empty, observations, withoutLog },
    ledger: { ...ledger, logs: expect.any(BigInt) },
  })
  await upgrade(9n)
  await run('DELETE FROM refresh_queue')
  await audit(chainId, 'now()')
  await run(`UPDATE cursors SET fees_contradiction = 'it differs' WHERE chain_id = ${chainId}`)
  await database.transaction((handle) => requestRefresh(handle, chainId, [{ subject: 'event', id: 1n }]))
  expect(await readIndexHealth(database, chainId)).toMatchObject({
    ...{ indexed: blockOf(10n), heartbeat: { source: 'logs' }, audit: { rounds: 1n } },
    ...{ feesContradiction: 'it differs', upgrade: { blockNumber: 9n }, observations: { waiting: 1 } },
  })
})
