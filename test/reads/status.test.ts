import { describe, expect, test } from 'vitest'
import type { Vitals } from '../../src/db/vitals.ts'
import { chainStatus } from '../../src/reads/status.ts'
import { readiness } from '../../src/reads/vitals.ts'

const hash = `0x${'5f'.repeat(32)}` as const
const at = (number: bigint, timestamp: bigint) => ({ number, hash, timestamp })
const nodes = { endpoints: [], halted: false, hasLogs: true }

/** An index that is well, of a chain whose clock is years behind. */
const look: NonNullable<Vitals['look']> = {
  at: new Date(1_800_000_000_500),
  ageSeconds: 0.4,
  head: { number: 100n, timestamp: 1_000n },
  proven: at(99n, 998n),
  source: 'logs',
  trouble: null,
  nodes,
}
const audit: NonNullable<Vitals['audit']> = {
  blockNumber: 98n,
  auditedAt: new Date(1_799_999_999_000),
  compared: 500n,
  rounds: 2n,
  roundAt: new Date(1_799_999_990_000),
  differences: 0n,
  repaired: 0n,
  last: null,
}
const well: Vitals = {
  indexed: at(99n, 998n),
  look,
  audit,
  observations: { waiting: 1, oldestSeconds: 0.2 },
  upgrade: {
    blockNumber: 40n,
    blockHash: `0x${'40'.repeat(32)}`,
    txHash: null,
    recordedAt: new Date('2026-11-01T00:00:00Z'),
  },
}

const seeing = (changed: Partial<NonNullable<Vitals['look']>>): Partial<Vitals> => ({ look: { ...look, ...changed } })

const statusOf = (vitals: Partial<Vitals> | null) =>
  chainStatus({ chainId: 8453, vitals: vitals && { ...well, ...vitals }, nodes, checks: [], maxLagSeconds: 60 })

const ready = (vitals: Partial<Vitals>) => () =>
  readiness({ chainId: 8453, startBlock: 0n }, { ...well, ...vitals }, 60)

test('an index that is well says so, in numbers and without alarms', () => {
  expect(statusOf({})).toEqual({
    chainId: 8453,
    state: 'following',
    head: { number: 100, timestamp: 1_000 },
    indexedBlock: 99,
    lagSeconds: 2,
    proven: { number: 99, ageSeconds: 2 },
    look: { at: 1_800_000_000, ageSeconds: 0 },
    source: 'logs',
    trouble: null,
    observations: { waiting: 1, oldestSeconds: 0 },
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
        'deposit_observations: chainId, id, premiumsEarned, premiumsClaimed, pending, withdrawn, rowText',
      ]),
      comparesNot: expect.arrayContaining(['settlements: seq, blockNumber, blockHash']),
    },
    endpoints: { worker: [], api: [] },
    checks: [],
    alarms: [],
  })
  expect(ready({})()).toEqual({ indexedBlock: 99n, lagSeconds: 2 })
})

const halted = seeing({ nodes: { ...nodes, halted: true } })
const difference = { difference: 'position 2 is missing in the index', at: new Date(1_799_999_000_000) }

describe.each<[string, Partial<Vitals>, string, RegExp, RegExp | null]>([
  [
    'no worker ever',
    { look: null },
    'stuck',
    /^The worker has not reached chain 8453 yet: .*RPC_URLS_8453/,
    /not reached chain 8453 yet/,
  ],
  [
    'a worker that is silent',
    seeing({ ageSeconds: 12.7 }),
    'stuck',
    /^The worker has not reached chain 8453 for 12 s: /,
    /for 12 s/,
  ],
  [
    'a chain that stands still',
    { ...halted, indexed: at(100n, 1_000n) },
    'halted',
    /stands still at block 100: .*Wait/,
    null,
  ],
  [
    'a row that is missing',
    seeing({ trouble: 'deposit 7 is missing' }),
    'stuck',
    /not proved: deposit 7 is missing\. .*RPC_URLS_8453/,
    null,
  ],
  [
    'a difference',
    { audit: { ...audit, last: { ...difference, ageSeconds: 90.5 } } },
    'following',
    /difference 90 s ago: position 2 is missing in the index\. Run the audit command/,
    null,
  ],
  [
    'a proof that is late',
    seeing({ proven: at(60n, 900n) }),
    'following',
    /^No block of the last 100 s .*worker's log/,
    null,
  ],
  ['no proof yet', seeing({ proven: null }), 'following', /^No block of chain 8453 is proved equal/, null],
  [
    'observations that wait',
    { observations: { waiting: 12, oldestSeconds: 61.5 } },
    'following',
    /^12 entities of chain 8453 wait to be observed, one for 61 s: .*REDIS_URL/,
    null,
  ],
  [
    'no node with logs',
    seeing({ source: 'ids', nodes: { ...nodes, hasLogs: false } }),
    'following',
    /serves logs.*RPC_URLS_8453/,
    null,
  ],
])('%s', (_, vitals, state, alarm, unready) => {
  test('has its state, one alarm that says what to do, and its readiness', () => {
    const status = statusOf(vitals)
    expect(status.state).toBe(state)
    expect(status.alarms).toEqual([expect.stringMatching(alarm)])
    if (unready === null) expect(ready(vitals)).not.toThrow()
    else expect(ready(vitals)).toThrow(unready)
  })
})

describe('an index that catches up', () => {
  test('is not ready past its bound, measured by the clock of the chain', () => {
    const behind = { indexed: at(40n, 939n) }
    expect(statusOf(behind)).toMatchObject({ state: 'catching up', lagSeconds: 61, alarms: [] })
    expect(ready(behind)).toThrow('61 s behind')
    expect(ready({ indexed: at(40n, 940n) })).not.toThrow()
  })

  test('is not ready before its first block', () => {
    expect(statusOf({ indexed: null })).toMatchObject({ state: 'catching up', indexedBlock: null, lagSeconds: null })
    expect(ready({ indexed: null })).toThrow('not indexed yet')
  })

  test('of a chain that stands still is not halted before it is there', () => {
    expect(statusOf({ ...halted, indexed: at(40n, 900n) }).state).toBe('catching up')
  })
})

test.each([
  ['ok', 995n, 'ok'],
  ['ok', 994n, 'lagging'],
  ['doubted', 994n, 'doubted'],
])(
  'an endpoint that is %s, with a block of second %i where the worker saw one of second 1000, is shown as %s',
  (state, timestamp, shown) => {
    const endpoint = { index: 0, state, height: 90n, timestamp, heightAgeSeconds: 1, width: 1n, lacks: [], fault: null }
    const status = chainStatus({
      chainId: 8453,
      vitals: well,
      nodes: { ...nodes, endpoints: [endpoint] },
      checks: [],
      maxLagSeconds: 60,
    })
    expect(status.endpoints.api).toMatchObject([{ state: shown, height: 90, heightAgeSeconds: 1 }])
  },
)

test('an old difference is history', () => {
  const status = statusOf({ audit: { ...audit, differences: 1n, last: { ...difference, ageSeconds: 3_601 } } })
  expect(status.alarms).toEqual([])
  expect(status.audit).toMatchObject({ lastDifference: difference.difference, lastDifferenceAt: 1_799_999_000 })
})

test('without the database, the nodes are what is left to say', () => {
  const endpoint = { index: 0, state: 'ok', height: 7n, width: 2_000n, lacks: ['logs'], fault: null }
  const status = chainStatus({
    chainId: 56,
    vitals: null,
    nodes: { ...nodes, endpoints: [endpoint] },
    checks: [
      { name: 'nodes', state: 'right', fault: null, at: 1_800_000_000_700 },
      { name: 'tokens', state: 'wrong', fault: 'USDC_ADDRESS_56 has 6 decimals, and not 18', at: 1_800_000_000_700 },
      { name: 'signer', state: 'waiting', fault: null, at: null },
    ],
    maxLagSeconds: 60,
  })
  expect(status).toMatchObject({ state: 'unknown', head: null, audit: null, observations: null })
  expect(status.endpoints).toEqual({
    worker: [],
    api: [{ ...endpoint, height: 7, heightAgeSeconds: null, width: 2_000 }],
  })
  expect(status.checks).toEqual([
    { check: 'nodes', state: 'right', at: 1_800_000_000, fault: null },
    { check: 'tokens', state: 'wrong', at: 1_800_000_000, fault: 'USDC_ADDRESS_56 has 6 decimals, and not 18' },
    { check: 'signer', state: 'waiting', at: null, fault: null },
  ])
  // What is found wrong at the start is an alarm like any other.
  expect(status.alarms).toEqual([
    expect.stringMatching(/database is out of reach: .*DATABASE_URL/),
    'USDC_ADDRESS_56 has 6 decimals, and not 18',
  ])
})

test('readiness names a start block above the head and what to do', () => {
  const asked = { chainId: 8453, startBlock: 500n } as const
  expect(() => readiness(asked, { ...well, indexed: null }, 60)).toThrow(
    'START_BLOCK_8453 is 500, and the newest block of chain 8453 is 100: nothing is indexed.',
  )
})
