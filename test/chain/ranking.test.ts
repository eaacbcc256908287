import { expect, test } from 'vitest'
import { isCurrent, isImplausibleHead, ranks as order, rankOf } from '../../src/chain/endpoints/ranking.ts'
import { type EndpointReport, initialState, learn } from '../../src/chain/endpoints/state.ts'

const START = 1_800_000_000_000
const MINUTE = 60_000

const known = learn(initialState(2_000n), { is: 'chain', right: true }, START)
const contradiction: EndpointReport = { is: 'contradiction', why: 'another hash of block 7' }

/** An endpoint whose newest block was read so many milliseconds after the start. */
const at = (seenAt: number, timestamp: bigint) =>
  learn(known, { is: 'head', number: timestamp, timestamp }, START + seenAt)

test('an endpoint lags when it is behind another one although its head was read later', () => {
  const rank = (...[state, ...others]: [typeof known, ...(typeof known)[]]) => rankOf(state, others, START)
  expect(rank(at(2, 100n), at(1, 103n))).toBe('lagging')
  expect(rank(at(2, 100n), at(1, 102n))).toBe('ok')
  expect(rank(at(1, 100n), at(2, 200n))).toBe('ok')
  expect(rank(at(2, 100n), at(2, 100n))).toBe('ok')
  expect(rank(at(2, 100n), at(2, 106n))).toBe('lagging')
  expect(rank(known, at(1, 100n))).toBe('ok')
})

test('a rarely probed endpoint lags until its next probe, however often the other one is probed', () => {
  const behind = at(500, 100n)
  const ahead = Array.from({ length: 15 }, (_, nth) => nth * 200).reduce(
    (state, ms) => learn(state, { is: 'head', number: 0n, timestamp: 110n + BigInt(ms) / 1_000n }, START + ms),
    known,
  )
  expect(rankOf(behind, [ahead], START)).toBe('lagging')
  expect(rankOf(at(2_900, 112n), [ahead], START)).toBe('ok')
})

test('a penalized endpoint makes no other one lag until its penalty is over', () => {
  const penalized = learn(at(1, 900n), contradiction, START)
  const honest = at(2, 100n)
  expect([penalized, honest].map((each) => rankOf(each, [penalized, honest], START))).toEqual(['penalized', 'ok'])
  expect([penalized, honest].map((each) => rankOf(each, [penalized, honest], START + 5_000))).toEqual(['ok', 'lagging'])
})

test('an endpoint with incomplete logs ranks above one that lags, and its head counts', () => {
  const incomplete = learn(at(1, 900n), { is: 'missing logs', why: 'the log of event 3' }, START)
  const behind = at(2, 100n)
  const states = [incomplete, behind]
  expect(states.map((each) => rankOf(each, states, START))).toEqual(['incomplete logs', 'lagging'])
  expect(order.indexOf('incomplete logs')).toBeLessThan(order.indexOf('lagging'))
  expect(states.map((each) => rankOf(each, states, START + 5_000))).toEqual(['ok', 'lagging'])
})

test('an earlier head in the future makes no other endpoint lag either', () => {
  const now = BigInt(START / 1_000)
  const recovered = (first: bigint) => learn(at(0, first), { is: 'head', number: now, timestamp: now }, START + 2_000)
  const honest = at(1_000, now)
  expect(rankOf(honest, [honest, recovered(now + 3_600n)], START)).toBe('ok')
  expect(rankOf(honest, [honest, recovered(now + 15n)], START)).toBe('lagging')
})

test('a single head in the future makes no other endpoint lag unless all heads are in the future', () => {
  const now = BigInt(START / 1_000)
  const ranksAt = (...times: readonly bigint[]) => {
    const states = times.map((time, nth) => at(nth, time))
    return states.map((each) => rankOf(each, states, START))
  }
  expect(ranksAt(now + 900n, now)).toEqual(['ok', 'ok'])
  expect(ranksAt(now + 900n, now, now - 60n)).toEqual(['ok', 'ok', 'lagging'])
  expect(ranksAt(now + 12n, now)).toEqual(['ok', 'lagging'])
  expect(ranksAt(now + 900n, now + 898n, now)).toEqual(['ok', 'ok', 'lagging'])
  const isImplausible = (...others: readonly bigint[]) => isImplausibleHead(now + 900n, others, START)
  expect([isImplausible(now + 895n, now), isImplausible(now + 894n, now)]).toEqual([false, true])
  expect(ranksAt(now + 900n, now + 800n)).toEqual(['ok', 'lagging'])
})

test('each further contradiction doubles the penalty, from five seconds up to ten minutes', () => {
  let state = known
  let now = START
  const lengths: number[] = []
  for (let times = 0; times < 9; times += 1) {
    state = learn(state, contradiction, now)
    lengths.push((state.penalty?.until ?? 0) - now)
    now = state.penalty?.until ?? 0
    expect([rankOf(state, [], now - 1), rankOf(state, [], now)]).toEqual(['penalized', 'ok'])
  }
  expect(lengths.map((ms) => ms / 1_000)).toEqual([5, 10, 20, 40, 80, 160, 320, 600, 600])
})

test('concurrent contradictions count once, and the first one stays the reason of the penalty', () => {
  const once = learn(known, contradiction, START)
  expect(learn(once, { is: 'contradiction', why: 'something else' }, START + 4_999)).toEqual(once)
})

test('an hour without a contradiction resets the penalty; answers, failures and probes do not', () => {
  const once = learn(known, contradiction, START)
  const observations = [
    { is: 'answer', needed: [] },
    { is: 'fault', fault: { kind: 'unanswered' }, text: 'silent', needed: [] },
    { is: 'chain', right: true },
  ] satisfies EndpointReport[]
  const later = observations.reduce((state, each) => learn(state, each, START + MINUTE), once)
  expect(learn(later, contradiction, START + 59 * MINUTE).penalty?.times).toBe(2)
  expect(learn(later, contradiction, START + 61 * MINUTE).penalty?.times).toBe(1)
})

test('the two first ranks are of endpoints that have the newest blocks', () => {
  expect(order.filter(isCurrent)).toEqual(['ok', 'incomplete logs'])
})

test('an endpoint does not lag behind its own earlier head, nor behind one whose chain is not known to be right', () => {
  const head = (number: bigint): EndpointReport => ({ is: 'head', number, timestamp: number })
  const afterReorg = learn(at(1, 200n), head(100n), START + 1_500)
  expect(rankOf(afterReorg, [afterReorg], START)).toBe('ok')
  expect(rankOf(at(1_501, 100n), [afterReorg], START)).toBe('lagging')
  const unknown = learn(initialState(2_000n), head(200n), START + 1)
  expect(rankOf(at(2, 100n), [unknown], START)).toBe('ok')
})
