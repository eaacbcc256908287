import { DatabaseError } from 'pg'
import { encodeEventTopics, type Hex } from 'viem'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import type { IndexHealth } from '../../src/db/index/health.ts'
import { unavailable } from '../../src/lib/errors.ts'
import { createMetrics } from '../../src/lib/observe/metrics.ts'
import type { ChainId } from '../../src/protocol/chains.ts'
import { alarmsOf, readiness, readinessOf, stateOf } from '../../src/reads/health/health.ts'
import { showIndex } from '../../src/reads/health/metrics.ts'
import { chainStatus } from '../../src/reads/health/status.ts'
import { webhookAlarms, webhooksStatus } from '../../src/reads/health/webhooks.ts'
import { fakeChain, fakeDeployment } from '../support/fake-chain.ts'
import { datedBlock, healthyAudit, healthyHeartbeat, healthyIndex, healthyNodes } from '../support/healthy-index.ts'

/* Both sides of each limit of the health of an index. */

type Heartbeat = NonNullable<IndexHealth['heartbeat']>

const MAX_LAG = 60
const beat = (changed: Partial<Heartbeat>): Partial<IndexHealth> => ({ heartbeat: { ...healthyHeartbeat, ...changed } })
const healthOf = (changed: Partial<IndexHealth>): IndexHealth => ({ ...healthyIndex, ...changed })

const alarms = (changed: Partial<IndexHealth>): string[] => {
  const health = healthOf(changed)
  return alarmsOf({ chainId: 8453, health, state: stateOf(health, MAX_LAG), checks: [] })
}

test.each<[string, Partial<IndexHealth>, string | null]>([
  ['a heartbeat of 10 s ago', beat({ ageSeconds: 10 }), null],
  ['a heartbeat of more than 10 s ago', beat({ ageSeconds: 10.1 }), 'The worker has not reached chain 8453 for 10 s: '],
  ['a proof that is 60 s behind the head', beat({ proven: datedBlock(90n, 940n) }), null],
  [
    'a proof that is 61 s behind the head',
    beat({ proven: datedBlock(90n, 939n) }),
    'No block of the last 61 s of chain 8453 ',
  ],
  ['no proof', beat({ proven: null }), 'No block of chain 8453 is proved equal to its index: '],
  ['no proof while it catches up', { ...beat({ proven: null }), indexed: datedBlock(40n, 900n) }, null],
  ['a refresh request of 60 s ago', { observations: { waiting: 2, oldestSeconds: 60 } }, null],
  [
    'a refresh request of more than 60 s ago',
    { observations: { waiting: 2, oldestSeconds: 60.1 } },
    '2 entities of chain 8453 wait ',
  ],
  ['an empty refresh queue', { observations: { waiting: 0, oldestSeconds: null } }, null],
  [
    'fee rates that contradict the logs',
    { feesContradiction: 'payout 1, not 2' },
    'The fee rates of chain 8453 contradict its logs, so fees of claims are null: payout 1, not 2.',
  ],
  [
    'a queue of jobs that fails',
    beat({ jobsFault: 'DENIED Redis is running in protected mode' }),
    'The jobs of chain 8453 do not run, because Redis fails: DENIED Redis is running in protected mode. Check REDIS_URL',
  ],
  ['no node with logs', beat({ nodes: { ...healthyNodes, hasLogs: false } }), 'No node of chain 8453 serves logs'],
])('an index with %s', (_, changed, alarm) => {
  expect(alarms(changed)).toEqual(alarm === null ? [] : [expect.stringContaining(alarm)])
})

test.each([
  [3_599.9, 1],
  [3_600, 0],
])('a difference of %d s ago has %i alarms', (ageSeconds, count) => {
  const last = { difference: 'positions 2 is missing in the index', at: new Date(0), ageSeconds }
  expect(alarms({ audit: { ...healthyAudit, last } })).toHaveLength(count)
})

test('a halted chain has one alarm, although its proof is old', () => {
  const halted = beat({ nodes: { ...healthyNodes, halted: true }, proven: datedBlock(10n, 500n) })
  const [alarm, ...others] = alarms({ ...halted, indexed: datedBlock(100n, 1_000n) })
  expect(alarm).toContain('is halted at block 100')
  expect(others).toEqual([])
})

test('the most important alarm comes first', () => {
  const silent = beat({ ageSeconds: 20, problem: 'deposit 7 is missing', proven: null })
  const found = alarms({ ...silent, observations: { waiting: 2, oldestSeconds: 90 } })
  expect(found.map((alarm) => alarm.split(' ').slice(0, 3).join(' '))).toEqual([
    'The worker has',
    'The index of',
    '2 entities of',
  ])
})

test.each<[string, Partial<IndexHealth>, string]>([
  ['at the largest lag', { indexed: datedBlock(40n, 940n) }, 'following'],
  ['above the largest lag', { indexed: datedBlock(40n, 939n) }, 'catching up'],
  ['of a silent worker', beat({ ageSeconds: 10.1 }), 'stuck'],
  ['of a silent worker that was halted', beat({ ageSeconds: 10.1, nodes: { ...healthyNodes, halted: true } }), 'stuck'],
  ['of a halted chain that it has not reached', beat({ nodes: { ...healthyNodes, halted: true } }), 'following'],
  [
    'with a problem on a halted chain',
    { ...beat({ problem: 'x', nodes: { ...healthyNodes, halted: true } }), indexed: datedBlock(100n, 1_000n) },
    'halted',
  ],
  ['with a problem while it catches up', { ...beat({ problem: 'x' }), indexed: datedBlock(40n, 900n) }, 'stuck'],
])('the state of an index %s', (_, changed, state) => {
  expect(stateOf(healthOf(changed), MAX_LAG)).toBe(state)
})

test('an index is ready up to the largest lag and heartbeat age, and reports its block', async () => {
  const ready = (changed: Partial<IndexHealth>) =>
    readiness({ chainId: 8453, startBlock: 0n }, healthOf(changed), MAX_LAG)
  expect(ready({ ...beat({ ageSeconds: 10 }), indexed: datedBlock(40n, 940n) })).toEqual({
    indexedBlock: 40n,
    lagSeconds: 60,
  })
  expect(() => ready(beat({ ageSeconds: 10.9 }))).toThrow('has not reached chain 8453 for 10 s')
  expect(() => ready({ indexed: datedBlock(40n, 939n) })).toThrow('the index of chain 8453 is 61 s behind')
  const asked: ChainId[] = []
  const sources = {
    chains: new Map([[8453, fakeChain().chain]]),
    maxLagSeconds: 1,
    async healthOf(chainId: ChainId) {
      asked.push(chainId)
      return healthyIndex
    },
  }
  await expect(readinessOf(sources, 8453)).rejects.toThrow('2 s behind')
  expect(asked).toEqual([8453])
})

test.each<[Hex | null, string | null]>([
  ['0xabab', '0xabab'],
  [null, 'one with other topics'],
  [encodeEventTopics({ abi: protocolAbi, eventName: 'PositionCreated' })[0], null],
])('logs with the unknown topic %s raise an alarm that names %s', (topic, named) => {
  const expected = named === null ? [] : [expect.stringContaining(`such as ${named} in block 7: install the release`)]
  expect(alarms(beat({ unknownLogs: { many: 2n, topic, block: 7n } }))).toEqual(expected)
})

test('the faults of checks follow the alarms of an index', () => {
  const check = { check: 'signer', result: 'fail', at: 1, fault: 'the signer is wrong' } as const
  const health = healthOf({ observations: { waiting: 2, oldestSeconds: 90 } })
  expect(alarmsOf({ chainId: 8453, health, state: 'following', checks: [check] })).toEqual([
    expect.stringContaining('2 entities'),
    'the signer is wrong',
  ])
})

test('without the database the alarm has the advice for the fault, and the faults of checks follow', () => {
  const refused = new DatabaseError('no', 1, 'error')
  refused.code = '28P01'
  const fault = unavailable('the database is out of reach', refused)
  const check = { check: 'signer', result: 'fail', at: 1, fault: 'the signer is wrong' } as const
  expect(alarmsOf({ chainId: 8453, health: null, fault, state: 'unknown', checks: [check] })).toEqual([
    expect.stringMatching(/^The database is out of reach: .*password.* Until then/),
    'the signer is wrong',
  ])
})

describe('/status', () => {
  test('has the upgrade, the problem, the source and the ages in whole seconds', () => {
    const upgrade = {
      ...healthyIndex.upgrade,
      blockNumber: 41n,
      txHash: `0x${'41'.repeat(32)}`,
      recordedAt: new Date(5_900),
    }
    const health = healthOf({
      ...beat({ source: 'ids', problem: 'deposit 7 is missing', ageSeconds: 9.9, proven: datedBlock(50n, 950n) }),
      upgrade: upgrade as NonNullable<IndexHealth['upgrade']>,
      observations: { waiting: 3, oldestSeconds: 59.9 },
    })
    const nodes = healthyNodes
    expect(chainStatus({ chainId: 8453, health, nodes, checks: [], maxLagSeconds: MAX_LAG })).toMatchObject({
      ...{ state: 'stuck', source: 'ids', problem: 'deposit 7 is missing' },
      upgrade: { block: 41, transaction: `0x${'41'.repeat(32)}`, at: 5 },
      heartbeat: { ageSeconds: 9 },
      proven: { number: 50, ageSeconds: 50 },
      observations: { waiting: 3, oldestSeconds: 59 },
    })
  })

  test('has the counts of the audit in their fields', () => {
    const last = { difference: 'deposits 1', at: new Date(7_900), ageSeconds: 5 }
    const audit = { ...healthyAudit, compared: 11n, rounds: 12n, differences: 13n, repaired: 14n, last }
    const health = healthOf({ audit })
    const status = chainStatus({ chainId: 8453, health, nodes: healthyNodes, checks: [], maxLagSeconds: MAX_LAG })
    expect(status.audit).toMatchObject({
      ...{ compared: 11, rounds: 12, differences: 13, repaired: 14, block: 98 },
      ...{ lastDifference: 'deposits 1', lastDifferenceAt: 7 },
    })
    expect(status.audit?.compares).toContainEqual(expect.stringMatching(/^events: chainId, id, creator/))
    expect(status.audit?.compares).toContainEqual(expect.stringMatching(/^events: .*paymentToken/))
    expect(status.audit?.compares.join()).not.toMatch(/initialLiquidity|blockHash|seq/)
    const first = chainStatus({
      ...{ chainId: 8453, nodes: healthyNodes, checks: [], maxLagSeconds: MAX_LAG },
      health: healthOf({ audit: { ...healthyAudit, roundAt: null } }),
    })
    expect(first.audit).toMatchObject({ roundAt: null, lastDifferenceAt: null })
  })

  test('has the nodes of the worker and of this process, and those that are behind the head of the worker', () => {
    const endpoint = (index: number, timestamp: bigint | null) => ({
      ...{ index, rank: 'ok', height: 90n, timestamp, width: 5n, missing: ['logs'], fault: 'late' },
    })
    const health = healthOf(beat({ nodes: { ...healthyNodes, endpoints: [endpoint(3, 994n)] } }))
    const nodes = { ...healthyNodes, endpoints: [endpoint(0, 995n), endpoint(1, null)] }
    const { endpoints } = chainStatus({ chainId: 8453, health, nodes, checks: [], maxLagSeconds: MAX_LAG })
    expect(endpoints.worker).toMatchObject([{ index: 3, rank: 'lagging', width: 5, fault: 'late' }])
    expect(endpoints.api).toMatchObject([
      { index: 0, rank: 'ok' },
      { index: 1, rank: 'ok', heightAgeSeconds: null, missingCapabilities: ['logs'] },
    ])
  })
})

describe('the metrics of an index', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  const scrape = async (health: IndexHealth | Error, startBlock = 0n) => {
    const metrics = createMetrics()
    const deployment = { ...fakeDeployment(8453), startBlock }
    showIndex(metrics, {
      chains: new Map([[8453, fakeChain(undefined, { deployment }).chain]]),
      healthOf: async () => {
        if (health instanceof Error) throw health
        return health
      },
      maxLagSeconds: MAX_LAG,
    })
    const text = await metrics.metrics()
    return Object.fromEntries(
      [...text.matchAll(/^(\w+)\{chain="8453"(?:,(?:state|log|node)="([\w ]+)")?\} (.*)$/gm)].map(
        ([, name, state, value]) => [state === undefined ? name : `${name} ${state}`, Number(value)],
      ),
    )
  }

  const endpoint = (index: number, rank: string) => ({
    ...{ index, rank, height: 90n, timestamp: 994n, width: 5n, missing: [], fault: null },
  })

  test('are those of its health', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_800_000_009_000 })
    const nodes = { halted: true, hasLogs: true, endpoints: [endpoint(0, 'ok'), endpoint(1, 'paused')] }
    const audit = { ...healthyAudit, compared: 11n, rounds: 12n, differences: 13n, repaired: 14n }
    const observations = { waiting: 4, oldestSeconds: 7.5 }
    const withoutLog = { pending: 1, absent: 2, pruned: 3, oldestSeconds: 8.5 }
    const unread = { completeFrom: 70n, unreadBlocks: 69n, prunedBlocks: 5n, gaps: 2 }
    const ledger = { ...unread, logs: 68n, summedTo: 3n, sumsLagSeconds: 9.5 }
    const health = { ...beat({ nodes }), audit, observations, withoutLog, ledger, feesContradiction: 'x' }
    expect(await scrape(healthOf(health), 105n)).toEqual({
      ...{ fx_index_block: 99, fx_index_head_block: 100, fx_index_lag_seconds: 2 },
      ...{ fx_index_heartbeat_age_seconds: 0.4, fx_index_look_age_seconds: 0.4 },
      ...{ fx_index_proven_block: 99, fx_index_proven_age_seconds: 2 },
      ...{ fx_index_observations_waiting: 4, fx_index_observations_oldest_seconds: 7.5 },
      ...{ fx_audit_compared_total: 11, fx_audit_rounds_total: 12, fx_audit_differences_total: 13 },
      ...{ fx_audit_repaired_total: 14, fx_audit_age_seconds: 10, fx_index_fees_contradicted: 1 },
      ...{ fx_chain_halted: 1, 'fx_node_paused 0': 0, 'fx_node_paused 1': 1 },
      fx_index_unknown_logs_total: 0,
      fx_index_start_ahead_blocks: 5,
      fx_index_gap_oldest_seconds: 8.5,
      ...{ fx_index_ledger_unread_blocks: 69, fx_index_ledger_gaps: 2, fx_index_ledger_logs: 68 },
      fx_index_sums_lag_seconds: 9.5,
      ...{
        'fx_index_rows_without_log pending': 1,
        'fx_index_rows_without_log absent': 2,
        'fx_index_rows_without_log pruned': 3,
      },
      'fx_index_state following': 1,
      'fx_index_state catching up': 0,
      'fx_index_state stuck': 0,
      'fx_index_state halted': 0,
      'fx_index_state unknown': 0,
    })
  })

  test('are 0 where nothing waits, nothing is contradicted and the start block is not above the head', async () => {
    const observations = { waiting: 0, oldestSeconds: null }
    expect(await scrape(healthOf({ observations, audit: null }), 90n)).toMatchObject({
      fx_chain_halted: 0,
      ...{ fx_index_observations_oldest_seconds: 0, fx_index_fees_contradicted: 0, fx_index_start_ahead_blocks: 0 },
      fx_index_gap_oldest_seconds: 0,
    })
  })

  test('have what the worker sees of the nodes while it is not silent', async () => {
    const nodes = { halted: true, hasLogs: true, endpoints: [endpoint(0, 'paused')] }
    const seen = { fx_chain_halted: 1, 'fx_node_paused 0': 1 }
    expect(await scrape(healthOf(beat({ nodes, ageSeconds: 10 })))).toMatchObject(seen)
    expect(Object.keys(await scrape(healthOf(beat({ nodes, ageSeconds: 10.1 }))))).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/fx_chain_halted|fx_node_paused/)]),
    )
  })

  test('are missing where nothing is known, and only the state unknown remains without the database', async () => {
    const empty = await scrape(healthOf({ indexed: null, heartbeat: null, audit: null }))
    expect(empty).not.toHaveProperty('fx_index_block')
    expect(empty).not.toHaveProperty('fx_index_start_ahead_blocks')
    expect(empty).not.toHaveProperty('fx_chain_halted')
    expect(empty).toMatchObject({ 'fx_index_state stuck': 1 })
    expect(await scrape(unavailable('the database is out of reach'))).toEqual({
      'fx_index_state following': 0,
      'fx_index_state catching up': 0,
      'fx_index_state stuck': 0,
      'fx_index_state halted': 0,
      'fx_index_state unknown': 1,
    })
  })
})

describe('the webhooks', () => {
  const endpoint = (state: 'active' | 'paused' | 'disabled', failingSeconds: number) => ({
    ...{ id: 'we_1', state, failingSeconds, failure: 'status 500' },
  })
  const day = 86_400

  test.each([
    ['active', day - 1, 0],
    ['active', day, 1],
    ['paused', 0, 1],
    ['disabled', 0, 1],
  ] as const)('have for an endpoint that is %s and failed for %i s %i alarms', (state, seconds, count) => {
    expect(webhookAlarms({ endpoints: 1, waiting: 0, failing: [endpoint(state, seconds)] })).toHaveLength(count)
  })

  test('have their counts, and failures in whole seconds', () => {
    const health = { endpoints: 3, waiting: 2, failing: [endpoint('paused', 7_199.9)] }
    expect(webhooksStatus(health)).toEqual({
      ...{ endpoints: 3, waiting: 2 },
      failing: [{ id: 'we_1', state: 'paused', failingSeconds: 7_199 }],
    })
    expect(webhookAlarms(health)[0]).toContain('has failed for 1 h')
  })
})
