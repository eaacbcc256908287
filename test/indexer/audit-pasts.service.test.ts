import { pino } from 'pino'
import { pad } from 'viem'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { readAudit } from '../../src/db/index/audit/runs.ts'
import { noteUnknownLogs, saveHeartbeat } from '../../src/db/index/work/heartbeat.ts'
import { auditPasts, comparePasts } from '../../src/indexer/audit/pasts.ts'
import { logTopics } from '../../src/protocol/abi/logs.ts'
import { chainOf } from '../../src/reads/read.ts'
import { createRandom } from '../../src/sandbox/story/random.ts'
import { openApp } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { indexAll } from '../support/index-all.ts'
import { indexSteps } from '../support/index-steps.ts'
import { rowsOf } from '../support/index-writes.ts'
import { startLife } from '../support/life.ts'
import { byForm, seed } from '../support/repetitions.ts'
import { useProtocol } from '../support/use-protocol.ts'

/* The audit compares events with their logs, over a random life of the protocol. */

const protocol = await useProtocol()
const life = startLife(protocol, createRandom(seed))

let store: TestDatabase
let api: Awaited<ReturnType<typeof openApp>>

const kept = ['event_observations', 'deposit_observations', 'position_observations', 'ledger', 'log_gaps', 'audits']
const run = (statement: string) => rowsOf(api.database, statement)
const chain = () => chainOf(api.sources.chains, 8453)
const deps = () => ({ chain: chain(), database: api.database, random: Math.random })
const compare = () => comparePasts(deps(), 1_000)

beforeAll(async () => {
  store = await createTestDatabase()
  const nodes = [{ url: protocol.url, deployment: protocol.deployment }]
  api = await openApp({ nodes, databaseUrl: store.url, headMaxAgeMs: 0 })
  for (let nth = 0; nth < 3; nth += 1) await life.complete()
  await life.live(byForm(30, 200))
  await indexAll({ chain: chain(), database: api.database })
  await run(`INSERT INTO audits (chain_id, kind, next_id, block_number, block_hash, audited_at, compared, rounds, differences, repaired)
    VALUES (8453, 'event', 0, 1, '\\x00', now(), 0, 0, 0, 0)`)
  for (const table of kept) await run(`CREATE TABLE kept_${table} AS TABLE ${table}`)
})
const restore = () =>
  run(
    kept
      .map((table) => `DELETE FROM ${table}; INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT * FROM kept_${table}`)
      .join(';'),
  )
afterEach(restore)
afterAll(async () => {
  await api?.close()
  await store?.close()
})

test(`views and logs lead to the same values, and each value counts (seed ${seed})`, async () => {
  const compared = life.eventIds().length
  expect(await compare()).toEqual({ compared, differences: [] })
  const member = (kind: string, set: string) =>
    `UPDATE ${kind}_observations SET ${set} WHERE id = (SELECT min(id) FROM ${kind}_observations)`
  const faults = [
    [member('event', 'total_premiums = total_premiums + 1'), /^event \d+: its logs lead to another totalPremiums/],
    [
      member('deposit', 'pending = pending + 1'),
      /^deposit \d+: its logs lead to pending \d+, the chain had \d+ at block/,
    ],
    [member('deposit', 'withdrawn = NOT withdrawn'), /^deposit \d+: its logs lead to withdrawn/],
    [member('position', 'claimed = NOT claimed'), /^position \d+: its logs lead to claimed/],
    ['UPDATE ledger SET amount = amount + 1 WHERE type = 7', /^event \d+: a log payout\.claimed does not follow/],
    ['DELETE FROM ledger WHERE position_id = (SELECT max(id) FROM positions)', /^event \d+: /],
  ] as const
  for (const [statement, expected] of faults) {
    await run(statement)
    const { differences } = await compare()
    expect([statement, differences[0]]).toEqual([statement, expect.stringMatching(expected)])
    await restore()
  }
  expect(await compare()).toEqual({ compared, differences: [] })
})

test('events of which the ledger lacks logs are left out', async () => {
  await run(`INSERT INTO log_gaps (chain_id, from_block, to_block, unread_to) VALUES (8453, 0, 1000000, 1000000)`)
  expect(await compare()).toEqual({ compared: 0, differences: [] })
})

test('nothing is compared while the diamond emits logs that this release does not know', async () => {
  const [topic = '0x'] = logTopics
  const head = { number: 1n, hash: pad('0x1'), timestamp: 1n }
  await api.database.run(async (handle) => {
    await saveHeartbeat(handle, 8453, {
      ...{ head, isQuiet: true, proven: null, source: 'logs', problem: null, jobsFault: null },
      nodes: { endpoints: [], halted: false, hasLogs: true },
    })
    await noteUnknownLogs(handle, 8453, [{ topics: [pad('0xab')], blockNumber: 7n }])
  })
  expect(await compare()).toEqual({ compared: 0, differences: [] })
  // A release before this one did not know it.
  await run(`UPDATE heartbeats SET unknown_topic = '\\x${topic.slice(2)}'`)
  expect(await compare()).toEqual({ compared: life.eventIds().length, differences: [] })
  await run('DELETE FROM heartbeats')
})

test('a step of the continuous audit compares ten events, and shows the last difference', async () => {
  const sample = Math.min(10, life.eventIds().length)
  const error = vi.fn()
  const log = Object.assign(pino({ level: 'silent' }), { error })
  await auditPasts({ ...deps(), log })
  const state = async () => api.database.run((handle) => readAudit(handle, 8453))
  expect(await state()).toMatchObject({ compared: BigInt(sample), differences: 0n, last: null })
  await run('UPDATE event_observations SET total_premiums = total_premiums + 1')
  await auditPasts({ ...deps(), log })
  const difference = expect.stringMatching(/^event \d+: its logs lead to another totalPremiums than the chain has/)
  expect(await state()).toMatchObject({
    compared: BigInt(2 * sample),
    differences: BigInt(sample),
    last: { difference },
  })
  expect(error.mock.calls).toHaveLength(sample)
  expect(error).toHaveBeenLastCalledWith({ chainId: 8453, difference }, expect.any(String))
})

test('a sample has different events, which random numbers choose', async () => {
  const events = life.eventIds().length
  const numbers = [events - 1, ...Array.from({ length: events - 1 }, (_, at) => events - 1 - at)].map(
    (at) => (at + 0.5) / events,
  )
  const random = () => numbers.shift() ?? Number.NaN
  expect(await comparePasts({ ...deps(), random }, events - 1)).toEqual({ compared: events - 1, differences: [] })
  expect(numbers).toEqual([])
})

test('observations that are older than the newest logs are compared at their own block', async () => {
  const blocks = () => run('SELECT id, block_number FROM deposit_observations ORDER BY id')
  const before = await blocks()
  // Claims of deposits that were observed before.
  const claims = () =>
    run(`SELECT FROM ledger AS log JOIN deposit_observations AS seen ON seen.id = deposit_id AND seen.chain_id = log.chain_id
      WHERE type = 6 AND log.block_number > seen.block_number`)
  for (let tries = 0; tries < 20 && (await claims()).length === 0; tries += 1) {
    await life.live(40)
    await indexSteps({ chain: chain(), database: api.database }).index()
  }
  expect(await blocks()).toEqual(before)
  expect((await compare()).differences).toEqual([])
  await run('UPDATE deposit_observations SET block_number = (SELECT block_number FROM cursors)')
  expect((await compare()).differences).not.toEqual([])
})
