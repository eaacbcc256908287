import { describe, expect, test } from 'vitest'
import type { IndexHealth } from '../../src/db/index/health.ts'
import { readiness } from '../../src/reads/health/health.ts'
import { chainStatus } from '../../src/reads/health/status.ts'
import {
  datedBlock as at,
  healthyAudit as audit,
  healthyHeartbeat as heartbeat,
  healthyNodes as nodes,
  healthyIndex as well,
} from '../support/healthy-index.ts'

const seeing = (changed: Partial<NonNullable<IndexHealth['heartbeat']>>): Partial<IndexHealth> => ({
  heartbeat: { ...heartbeat, ...changed },
})

const statusOf = (health: Partial<IndexHealth> | null) =>
  chainStatus({ chainId: 8453, health: health && { ...well, ...health }, nodes, checks: [], maxLagSeconds: 60 })

const ready = (health: Partial<IndexHealth>) => () =>
  readiness({ chainId: 8453, startBlock: 0n }, { ...well, ...health }, 60)

test('the samples of the lag are those of the process', () => {
  const lags = [{ at: 60, lagSeconds: 2 }]
  expect(chainStatus({ chainId: 8453, health: well, nodes, checks: [], lags, maxLagSeconds: 60 })).toMatchObject({
    lags,
  })
})

test('a healthy index has a status without alarms', () => {
  expect(statusOf({})).toEqual({
    chainId: 8453,
    state: 'following',
    head: { number: 100, timestamp: 1_000 },
    indexedBlock: 99,
    lagSeconds: 2,
    lags: [],
    proven: { number: 99, ageSeconds: 2 },
    heartbeat: { at: 1_800_000_000, ageSeconds: 0 },

    source: 'logs',
    problem: null,
    observations: { waiting: 1, oldestSeconds: 0 },
    withoutLog: { pending: 0, absent: 0, pruned: 0 },
    ledger: {
      ...{ completeFrom: null, unreadBlocks: 0, prunedBlocks: 0, gaps: 0 },
      ...{ logs: 12, summedTo: 7, sumsLagSeconds: 0 },
    },
    upgrade: { block: 40, transaction: null, at: Date.parse('2026-11-01T00:00:00Z') / 1_000 },
    audit: {
      at: 1_799_999_999,
      block: 98,
      compared: 500,
      rounds: 2,
      roundAt: 1_799_999_990,
      differences: 0,
      repaired: 0,
      lastDifference: null,
      lastDifferenceAt: null,
      compares: expect.arrayContaining([
        'deposit_observations: chainId, id, withdrawn, premiumsEarned, premiumsClaimed, pending',
      ]),
      notCompared: expect.arrayContaining(['settlements: seq, blockNumber, blockHash, txHash, finalizedSeq']),
    },
    endpoints: { worker: [], api: [] },
    checks: [],
    alarms: [],
  })
  expect(ready({})()).toEqual({ indexedBlock: 99n, lagSeconds: 2 })
})

const halted = seeing({ nodes: { ...nodes, halted: true } })
const difference = { difference: 'position 2 is missing in the index', at: new Date(1_799_999_000_000) }

describe.each<[string, Partial<IndexHealth>, string, RegExp, RegExp | null]>([
  [
    'an index without a heartbeat',
    { heartbeat: null },
    'stuck',
    /^The worker has not reached chain 8453 yet: .*RPC_URLS_8453/,
    /not reached chain 8453 yet/,
  ],
  [
    'an index with a silent worker',
    seeing({ ageSeconds: 12.7 }),
    'stuck',
    /^The worker has not reached chain 8453 for 12 s: /,
    /for 12 s/,
  ],
  [
    'an index of a halted chain',
    { ...halted, indexed: at(100n, 1_000n) },
    'halted',
    /is halted at block 100: .*Wait/,
    null,
  ],
  [
    'an index with a missing row',
    seeing({ problem: 'deposit 7 is missing' }),
    'stuck',
    /not proved: deposit 7 is missing\. .*RPC_URLS_8453/,
    null,
  ],
  [
    'an index with a recent difference',
    { audit: { ...audit, last: { ...difference, ageSeconds: 90.5 } } },
    'following',
    /difference 90 s ago: position 2 is missing in the index\. Run the audit command/,
    null,
  ],
  [
    'an index with a late proof',
    seeing({ proven: at(60n, 900n) }),
    'following',
    /^No block of the last 100 s .*worker's log/,
    null,
  ],
  ['an index without a proof', seeing({ proven: null }), 'following', /^No block of chain 8453 is proved equal/, null],
  [
    'an index with an old refresh request',
    { observations: { waiting: 12, oldestSeconds: 61.5 } },
    'following',
    /^12 entities of chain 8453 wait to be refreshed, the oldest for 61 s: .*REDIS_URL/,
    null,
  ],
  [
    'an index with rows that lack their log for long',
    { withoutLog: { pending: 3, absent: 1, pruned: 2, oldestSeconds: 900.5 } },
    'following',
    /^3 rows of chain 8453 lack their transaction, .* for 900 s: .*RPC_URLS_8453/,
    null,
  ],
  [
    'an index without nodes that serve logs',
    seeing({ source: 'ids', nodes: { ...nodes, hasLogs: false } }),
    'following',
    /serves logs.*RPC_URLS_8453/,
    null,
  ],
])('%s', (_, health, state, alarm, unready) => {
  test('has its state, one alarm with the remedy, and its readiness', () => {
    const status = statusOf(health)
    expect(status.state).toBe(state)
    expect(status.alarms).toEqual([expect.stringMatching(alarm)])
    if (unready === null) expect(ready(health)).not.toThrow()
    else expect(ready(health)).toThrow(unready)
  })
})

test.each([
  { pending: 3, absent: 0, pruned: 0, oldestSeconds: 900 },
  { pending: 0, absent: 1, pruned: 2, oldestSeconds: 5_000 },
])('rows that lack their log for a short time, or whose gap has no such row, are no alarm', (withoutLog) => {
  expect(statusOf({ withoutLog }).alarms).toEqual([])
  const { pending, absent, pruned } = withoutLog
  expect(statusOf({ withoutLog }).withoutLog).toEqual({ pending, absent, pruned })
})

test('a ledger that lacks logs is shown from where on it is complete', () => {
  const ledger = { completeFrom: 70n, unreadBlocks: 69n, prunedBlocks: 5n, gaps: 2 }
  const sums = { logs: 4n, summedTo: null, sumsLagSeconds: 8.7 }
  expect(statusOf({ ledger: { ...ledger, ...sums } }).ledger).toEqual({
    ...{ completeFrom: 70, unreadBlocks: 69, prunedBlocks: 5, gaps: 2 },
    ...{ logs: 4, summedTo: null, sumsLagSeconds: 8 },
  })
})

test('rows that lack their log are one alarm with the nodes while none of them serves logs', () => {
  const withoutLog = { pending: 3, absent: 0, pruned: 0, oldestSeconds: 5_000 }
  const { alarms } = statusOf({ ...seeing({ source: 'ids', nodes: { ...nodes, hasLogs: false } }), withoutLog })
  expect(alarms).toEqual([expect.stringMatching(/serves logs/)])
})

describe('an index that catches up', () => {
  test('is not ready when its lag by the clock of the chain is above the limit', () => {
    const behind = { indexed: at(40n, 939n) }
    expect(statusOf(behind)).toMatchObject({ state: 'catching up', lagSeconds: 61, alarms: [] })
    expect(ready(behind)).toThrow('61 s behind')
    expect(ready({ indexed: at(40n, 940n) })).not.toThrow()
  })

  test('is not ready before its first block', () => {
    expect(statusOf({ indexed: null })).toMatchObject({ state: 'catching up', indexedBlock: null, lagSeconds: null })
    expect(ready({ indexed: null })).toThrow('not indexed yet')
  })

  test('of a halted chain is halted only after it has reached the head', () => {
    expect(statusOf({ ...halted, indexed: at(40n, 900n) }).state).toBe('catching up')
  })
})

test.each([
  ['ok', 994n, 1, 'ok'],
  ['ok', 993n, 1, 'lagging'],
  ['ok', 994n, null, 'lagging'],
  ['ok', undefined, 1, 'ok'],
  ['penalized', 993n, 1, 'penalized'],
  ['paused', 1_000n, 1, 'paused'],
  ['of another version', 1_000n, 1, 'unknown'],
])('an endpoint of rank %s, with a block of second %i read %s s before a head of second 1000, is %s', (...row) => {
  const [given, timestamp, heightAgeSeconds, rank] = row
  const endpoint = {
    index: 0,
    rank: given,
    height: 90n,
    ...(timestamp !== undefined && { timestamp }),
    heightAgeSeconds,
    width: 1n,
    missing: [],
    fault: null,
  }
  const status = chainStatus({
    chainId: 8453,
    health: well,
    nodes: { ...nodes, endpoints: [endpoint] },
    checks: [],
    maxLagSeconds: 60,
  })
  expect(status.endpoints.api).toMatchObject([{ rank, height: 90, heightAgeSeconds }])
})

test('a difference of more than an hour ago is not an alarm', () => {
  const status = statusOf({ audit: { ...audit, differences: 1n, last: { ...difference, ageSeconds: 3_601 } } })
  expect(status.alarms).toEqual([])
  expect(status.audit).toMatchObject({ lastDifference: difference.difference, lastDifferenceAt: 1_799_999_000 })
})

test('the status without the database contains the nodes and the checks', () => {
  const endpoint = { index: 0, rank: 'ok', height: 7n, width: 2_000n, missing: ['logs'], fault: null }
  const status = chainStatus({
    chainId: 56,
    health: null,
    nodes: { ...nodes, endpoints: [endpoint] },
    checks: [
      { check: 'nodes', result: 'pass', fault: null, at: 1_800_000_000 },
      {
        check: 'tokens',
        result: 'fail',
        fault: 'USDC_ADDRESS_56 has 6 decimals, expected 18',
        at: 1_800_000_000,
      },
      { check: 'signer', result: 'pending', fault: null, at: null },
    ],
    maxLagSeconds: 60,
  })
  expect(status).toMatchObject({ state: 'unknown', head: null, audit: null, observations: null })
  expect(status.endpoints).toEqual({
    worker: [],
    api: [
      {
        index: 0,
        rank: 'ok',
        height: 7,
        heightAgeSeconds: null,
        width: 2_000,
        missingCapabilities: ['logs'],
        fault: null,
      },
    ],
  })
  expect(status.checks).toEqual([
    { check: 'nodes', result: 'pass', at: 1_800_000_000, fault: null },
    {
      check: 'tokens',
      result: 'fail',
      at: 1_800_000_000,
      fault: 'USDC_ADDRESS_56 has 6 decimals, expected 18',
    },
    { check: 'signer', result: 'pending', at: null, fault: null },
  ])
  // Faults of the checks are alarms too.
  expect(status.alarms).toEqual([
    expect.stringMatching(/database is out of reach: .*DATABASE_URL/),
    'USDC_ADDRESS_56 has 6 decimals, expected 18',
  ])
})

test('readiness reports a start block above the head with the remedy', () => {
  const asked = { chainId: 8453, startBlock: 500n } as const
  expect(() => readiness(asked, { ...well, indexed: null }, 60)).toThrow(
    'START_BLOCK_8453 is 500, and the newest block of chain 8453 is 100: nothing is indexed.',
  )
})
