import { describe, expect, test, vi } from 'vitest'
import { isMissing, withMissing } from '../../src/chain/endpoints/capabilities.ts'
import { type EndpointReport, type EndpointState, initialState, learn } from '../../src/chain/endpoints/state.ts'
import { statusOf } from '../../src/chain/endpoints/status.ts'
import type { Fault } from '../../src/chain/rpc/faults.ts'

/* What an endpoint's state is after one report, at both sides of each bound. */

const START = 1_800_000_000_000
const known = learn(initialState(2_000n), { is: 'chain', right: true }, START)
const fault = (of: Fault, needed: Extract<EndpointReport, { is: 'fault' }>['needed'] = []): EndpointReport => ({
  ...{ is: 'fault', fault: of, needed, text: 'the reason' },
})
const silence = fault({ kind: 'unanswered' })
const reported = (state: EndpointState, ...reports: readonly EndpointReport[]): EndpointState =>
  reports.reduce((each, report) => learn(each, report, START), state)

describe('a failure', () => {
  test.each([
    ['unanswered', true],
    ['garbage', true],
    ['batch', true],
    ['missing', false],
    ['other', false],
    ['range', false],
    ['size', false],
    ['pruned', false],
  ] as const)('of the kind %s counts: %s, and its text is kept', (kind, counts) => {
    const of = { kind, usable: null, most: null } as Fault
    expect(reported(known, fault(of))).toMatchObject({ failures: counts ? 1 : 0, fault: 'the reason' })
    expect(reported(known, fault(of), fault(of)).chain).toBe(counts ? 'unknown' : 'right')
  })

  test.each(['trace', 'simulation', 'overrides'] as const)('of a request that needs %s concerns that alone', (need) => {
    for (const kind of ['unanswered', 'garbage'] as const) {
      const state = reported(known, fault({ kind }, ['logs', need]), fault({ kind }, [need]))
      expect([state.failures, Object.keys(state.missing), state.missing[need]?.times]).toEqual([0, [need], 2])
    }
    expect(reported(known, fault({ kind: 'unanswered' }, ['logs', 'pinned'])).failures).toBe(1)
  })

  test('of a capability concerns the first that is needed and named', () => {
    const missing = (of: 'logs' | 'tags' | null, ...needed: ('logs' | 'tags')[]) =>
      Object.keys(reported(known, fault({ kind: 'capability', missing: of }, needed)).missing)
    expect([missing('tags', 'logs', 'tags'), missing(null, 'logs', 'tags'), missing('tags', 'logs')]).toEqual([
      ...[['tags'], ['logs'], []],
    ])
  })

  test('that is older than the last one, or than an answer, does not count', () => {
    const once = learn(known, silence, START + 10)
    const overtaken = (since: number) => learn(once, { is: 'overtaken', since }, START + 20).failures
    expect([overtaken(START + 9), overtaken(START + 10)]).toEqual([1, 2])
    const heard = learn(known, { is: 'response' }, START + 10)
    const silent = (since: number) => learn(heard, { is: 'silent', since }, START + 20).pausedUntil > START + 20
    expect([silent(START + 9), silent(START + 10)]).toEqual([false, true])
    const silentSince: EndpointReport = { is: 'silent', since: START + 11 }
    expect(learn(once, silentSince, START + 20)).toMatchObject({ failures: 2, fault: 'no answer' })
    const often = [20, 20_000, 40_000]
      .map((ms) => START + ms)
      .reduce((state, now) => learn(state, silentSince, now), known)
    expect(often.failures).toBe(4)
  })

  test('during a pause does not count, and one at its end does', () => {
    const down = reported(known, silence, silence)
    expect(learn(down, silence, down.pausedUntil - 1).failures).toBe(2)
    expect(learn(down, silence, down.pausedUntil)).toMatchObject({ failures: 3, failedAt: down.pausedUntil })
  })
})

describe('a rate limit', () => {
  const limit = (retryAfterMs: number | null) => fault({ kind: 'rate', retryAfterMs })

  test('during a pause lengthens it and never shortens it, and counts once', () => {
    const first = reported(known, limit(5_000))
    expect(first).toMatchObject({ failures: 1, pausedUntil: START + 5_000 })
    expect(reported(first, limit(9_000))).toMatchObject({ failures: 1, pausedUntil: START + 9_000 })
    expect(reported(first, limit(1_000))).toMatchObject({ failures: 1, pausedUntil: START + 5_000 })
    expect(reported(first, limit(null))).toMatchObject({ failures: 1, pausedUntil: START + 5_000 })
    expect(reported(known, limit(100), limit(null))).toMatchObject({ failures: 1, pausedUntil: START + 100 })
  })

  test('without a time pauses for longer each time', () => {
    vi.spyOn(Math, 'random').mockReturnValue(1)
    let state = known
    const pauses: number[] = []
    for (let times = 0; times < 5; times += 1) {
      const now = Math.max(START, state.pausedUntil)
      state = learn(state, limit(null), now)
      pauses.push(state.pausedUntil - now)
    }
    vi.restoreAllMocks()
    expect(pauses).toEqual([250, 500, 1_000, 2_000, 2_000])
  })
})

describe('an answer', () => {
  const answer: EndpointReport = { is: 'answer', needed: [] }
  const answers = (count: number) => Array.from({ length: count }, () => answer)

  test('ends a row of failures, and brings back what it needed only', () => {
    const lacking = { ...known, missing: withMissing(withMissing({}, 'logs', START), 'tags', START) }
    expect(reported(known, silence, answer, silence).failures).toBe(1)
    expect(Object.keys(reported(lacking, { is: 'answer', needed: ['logs', 'trace'] }).missing)).toEqual(['tags'])
    expect(reported(lacking, { is: 'answer', needed: ['trace'] }).missing).toBe(lacking.missing)
  })

  test('lets batches grow again after a hundred, up to the first size', () => {
    const small = reported(known, { is: 'batch', most: 60 })
    expect(reported(small, ...answers(100)).batch).toEqual({ most: 60, answers: 100 })
    expect(reported(small, ...answers(101)).batch).toEqual({ most: 100, answers: 0 })
    expect(reported(known, ...answers(300)).batch.most).toBe(100)
  })
})

describe('the heads of an endpoint', () => {
  const headAt = (state: EndpointState, ms: number) =>
    learn(state, { is: 'head', number: BigInt(ms), timestamp: BigInt(ms) }, START + ms)
  const seen = ({ earlier }: EndpointState) => earlier.map(({ seenAt }) => seenAt - START)

  test('are kept one a second, the newest first, and four of them', () => {
    const all = [0, 500, 999, 1_000, 1_500, 2_600, 3_700, 4_800, 5_900, 7_000].reduce(headAt, known)
    expect(all.head?.seenAt).toBe(START + 7_000)
    expect(seen(all)).toEqual([5_900, 4_800, 3_700, 2_600])
    expect(seen([0, 500].reduce(headAt, known))).toEqual([0])
    expect(seen([0, 500, 999].reduce(headAt, known))).toEqual([0])
    expect(seen([0, 500, 1_000].reduce(headAt, known))).toEqual([500, 0])
  })

  test('of another chain are dropped', () => {
    const wrong = reported(headAt(headAt(known, 0), 1_000), { is: 'chain', right: false })
    expect(wrong).toMatchObject({ chain: 'wrong', head: null, earlier: [], fault: 'serves another chain' })
    expect(wrong.pausedUntil).toBe(START + 5_000)
  })
})

describe('refused ranges', () => {
  /** The head is at block 1,000, and a range is old up to block 936 unless given. */
  const atHead = reported(known, { is: 'head', number: 1_000n, timestamp: 1n })
  const range = (asked: bigint, of: Fault | null, upTo = 936n): EndpointReport => ({
    ...{ is: 'range', asked, upTo, fault: of },
  })
  const wide: Fault = { kind: 'range', usable: null }
  const other: Fault = { kind: 'other' }
  const times = (count: number, report: EndpointReport) => Array.from({ length: count }, () => report)
  const missing = (state: EndpointState) => Object.keys(state.missing)

  test.each([wide, other])(
    'of a few old blocks show that logs are missing when they are four in a row ($kind)',
    (of) => {
      const three = reported(atHead, range(2_000n, of), range(500n, of), ...times(3, range(8n, of)))
      expect([missing(three), three.refusals]).toEqual([[], 3])
      expect(missing(reported(three, range(9n, of)))).toEqual([])
      const four = reported(three, range(1n, of))
      expect([missing(four), four.refusals, four.width.refusals]).toEqual([['logs'], 0, 0])
      expect(missing(reported(three, range(7n, null), range(1n, of)))).toEqual([])
      expect(missing(reported(three, range(1n, { kind: 'missing' }), range(1n, of)))).toEqual(['logs'])
    },
  )

  test('near the head, or without a known head, never do', () => {
    for (const of of [wide, other]) {
      expect(missing(reported(atHead, ...times(9, range(1n, of, 937n))))).toEqual([])
      expect(missing(reported(known, ...times(9, range(1n, of, 0n))))).toEqual([])
    }
  })

  test('near the head narrow the width only when they are wide or their reason is known', () => {
    const near = (asked: bigint, of: Fault) => reported(atHead, range(asked, of, 1_000n))
    expect(near(8n, other)).toBe(atHead)
    expect(near(9n, other).width.blocks).toBe(2n)
    expect(near(8n, { kind: 'range', usable: 5n }).width.blocks).toBe(5n)
    expect(reported(atHead, range(8n, other)).width.blocks).toBe(2n)
  })

  test('near the head show that logs are still missing', () => {
    const lacking = reported(atHead, ...times(4, range(1n, other)))
    expect(reported(lacking, range(8n, other, 1_000n)).missing.logs?.times).toBe(2)
    expect(reported(lacking, range(8n, other)).missing.logs?.times).toBe(2)
    expect(reported(lacking, range(9n, other, 1_000n)).missing.logs?.times).toBe(1)
    expect(reported(lacking, range(1n, { kind: 'missing' })).missing.logs?.times).toBe(1)
  })

  test.each(['size', 'pruned', 'missing'] as const)('for another reason never do: %s', (kind) => {
    expect(missing(reported(atHead, ...times(9, range(1n, { kind, usable: null } as Fault))))).toEqual([])
  })
})

test('a missing capability is asked for again after five seconds, and after twice as long each time, up to ten minutes', () => {
  vi.spyOn(Math, 'random').mockReturnValue(1)
  const pauses: number[] = []
  let missing = {}
  for (let times = 0; times < 9; times += 1) {
    missing = withMissing(missing, 'logs', START)
    pauses.push(((missing as EndpointState['missing']).logs?.until ?? 0) - START)
  }
  vi.restoreAllMocks()
  expect(pauses.map((ms) => ms / 1_000)).toEqual([5, 10, 20, 40, 80, 160, 320, 600, 600])
  expect([isMissing(missing, 'logs', START + 599_999), isMissing(missing, 'logs', START + 600_000)]).toEqual([
    true,
    false,
  ])
})

describe('a chain has halted', () => {
  const withHead = (number: bigint, age: number, from = known) =>
    learn(from, { is: 'head', number, timestamp: BigInt(START / 1_000 - age) }, START)
  const halted = (...states: readonly EndpointState[]) => statusOf(states, START).halted

  test('when all available endpoints have the same block, which was more than a minute old when it was read', () => {
    expect([halted(withHead(7n, 61)), halted(withHead(7n, 60))]).toEqual([true, false])
    expect(halted(withHead(7n, 61), withHead(7n, 61))).toBe(true)
    expect(halted(withHead(7n, 61), withHead(8n, 61))).toBe(false)
    expect(halted(withHead(7n, 61), withHead(7n, 10))).toBe(false)
    expect([halted(), halted(known)]).toEqual([false, false])
    const down = reported(withHead(8n, 0), silence, silence)
    expect(halted(withHead(7n, 61), down)).toBe(true)
    expect(statusOf([withHead(7n, 60)], START + 1_000).halted).toBe(false)
  })
})

test('the status of an endpoint names what it is, before its first probe and while it is down', () => {
  const rankOf = (state: EndpointState, now = START) => statusOf([state], now).endpoints[0]?.rank
  const down = reported(known, silence, silence)
  expect([rankOf(initialState(1n)), rankOf(known), rankOf(down)]).toEqual(['unknown', 'ok', 'paused'])
  expect(rankOf(down, down.pausedUntil)).toBe('paused')
  expect(rankOf(reported(known, { is: 'chain', right: false }))).toBe('wrong chain')
  expect(rankOf(reported(known, { is: 'missing logs', why: 'the log of event 3' }))).toBe('incomplete logs')
  const limited = reported(known, fault({ kind: 'rate', retryAfterMs: 1_000 }))
  expect([rankOf(limited), rankOf(limited, START + 1_000)]).toEqual(['paused', 'ok'])
})

test('after the clock was set back, only what has no time is known', () => {
  const penalized = reported(known, { is: 'contradiction', why: 'another block 7' }, silence, silence, {
    is: 'batch',
    most: 5,
  })
  const { width, batch, merging } = penalized
  expect(learn(penalized, { is: 'clock set back' }, START)).toEqual({ ...initialState(1n), width, batch, merging })
})

test('a contradiction and missing logs are counted apart', () => {
  const why = 'the log of event 3'
  const both = reported(known, { is: 'contradiction', why: 'another block 7' }, { is: 'missing logs', why })
  expect(both.penalty).toMatchObject({ times: 1, why: 'another block 7' })
  const later = learn(both, { is: 'missing logs', why }, START + 60_000)
  expect([both.missingLogs, later.missingLogs]).toMatchObject([
    { times: 1, why },
    { times: 2, why },
  ])
})
