import { expect, test } from 'vitest'
import { learn, type Seen, unseen } from '../../src/chain/endpoint-state.ts'
import { standings as order, standingOf } from '../../src/chain/standing.ts'

const START = 1_800_000_000_000
const MINUTE = 60_000

const known = learn(unseen(2_000n), { is: 'chain', right: true }, START)
const liar: Seen = { is: 'doubt', why: 'another hash of block 7' }

/** Its newest block as seen so many milliseconds after the start. */
const at = (seenAt: number, timestamp: bigint) =>
  learn(known, { is: 'head', number: timestamp, timestamp }, START + seenAt)

test('lags when it was behind another although it was looked at later', () => {
  const standing = (...[state, ...others]: [typeof known, ...(typeof known)[]]) => standingOf(state, others, START)
  expect(standing(at(2, 100n), at(1, 106n))).toBe('lagging')
  expect(standing(at(2, 100n), at(1, 105n))).toBe('ok')
  expect(standing(at(1, 100n), at(2, 200n))).toBe('ok')
  expect(standing(at(2, 100n), at(2, 100n))).toBe('ok')
  expect(standing(known, at(1, 100n))).toBe('ok')
})

test('one that is looked at seldom lags until it is looked at again, however often the other is', () => {
  const behind = at(500, 100n)
  const ahead = Array.from({ length: 15 }, (_, nth) => nth * 200).reduce(
    (state, ms) => learn(state, { is: 'head', number: 0n, timestamp: 110n + BigInt(ms) / 1_000n }, START + ms),
    known,
  )
  expect(standingOf(behind, [ahead], START)).toBe('lagging')
  expect(standingOf(at(2_900, 112n), [ahead], START)).toBe('ok')
})

test('a doubted endpoint makes nobody lag, until it is trusted again', () => {
  const doubted = learn(at(1, 900n), liar, START)
  const honest = at(2, 100n)
  expect([doubted, honest].map((each) => standingOf(each, [doubted, honest], START))).toEqual(['doubted', 'ok'])
  expect([doubted, honest].map((each) => standingOf(each, [doubted, honest], START + 5_000))).toEqual(['ok', 'lagging'])
})

test('one that leaves logs out is asked before one that lags, and its head counts', () => {
  const forgetful = learn(at(1, 900n), { is: 'omission', why: 'the log of event 3' }, START)
  const behind = at(2, 100n)
  const states = [forgetful, behind]
  expect(states.map((each) => standingOf(each, states, START))).toEqual(['forgetful', 'lagging'])
  expect(order.indexOf('forgetful')).toBeLessThan(order.indexOf('lagging'))
  expect(states.map((each) => standingOf(each, states, START + 5_000))).toEqual(['ok', 'lagging'])
})

test('a head of the future that nobody else comes near makes nobody lag, unless all are of the future', () => {
  const now = BigInt(START / 1_000)
  const standings = (...times: readonly bigint[]) => {
    const states = times.map((time, nth) => at(nth, time))
    return states.map((each) => standingOf(each, states, START))
  }
  expect(standings(now + 900n, now)).toEqual(['ok', 'ok'])
  expect(standings(now + 900n, now, now - 60n)).toEqual(['ok', 'ok', 'lagging'])
  expect(standings(now + 12n, now)).toEqual(['ok', 'lagging'])
  expect(standings(now + 900n, now + 896n, now)).toEqual(['ok', 'ok', 'lagging'])
  expect(standings(now + 900n, now + 800n)).toEqual(['ok', 'lagging'])
})

test('each further contradiction doubts it for twice as long, from five seconds up to ten minutes', () => {
  let state = known
  let now = START
  const lengths: number[] = []
  for (let times = 0; times < 9; times += 1) {
    state = learn(state, liar, now)
    lengths.push((state.doubt?.until ?? 0) - now)
    now = state.doubt?.until ?? 0
    expect([standingOf(state, [], now - 1), standingOf(state, [], now)]).toEqual(['doubted', 'ok'])
  }
  expect(lengths.map((ms) => ms / 1_000)).toEqual([5, 10, 20, 40, 80, 160, 320, 600, 600])
})

test('contradictions found together count once, and the first one stays the reason', () => {
  const once = learn(known, liar, START)
  expect(learn(once, { is: 'doubt', why: 'something else' }, START + 4_999)).toEqual(once)
})

test('an hour of good behaviour forgets the doubt; answers, failures and looks in between do not', () => {
  const once = learn(known, liar, START)
  const lived = [
    { is: 'answer', needed: [] },
    { is: 'fault', fault: { kind: 'unanswered' }, text: 'silent', needed: [] },
    { is: 'chain', right: true },
  ] satisfies Seen[]
  const later = lived.reduce((state, seen) => learn(state, seen, START + MINUTE), once)
  expect(learn(later, liar, START + 59 * MINUTE).doubt?.times).toBe(2)
  expect(learn(later, liar, START + 61 * MINUTE).doubt?.times).toBe(1)
})
