import { expect, test } from 'vitest'
import { type EndpointState, isFit, learn, type Seen, unseen } from '../../src/chain/endpoint-state.ts'
import type { Fault } from '../../src/chain/faults.ts'
import { isLacking } from '../../src/chain/lacks.ts'

const START = 1_800_000_000_000

const fault = (of: Fault, needed: Extract<Seen, { is: 'fault' }>['needed'] = []): Seen => ({
  is: 'fault',
  fault: of,
  text: 'said so',
  needed,
})
const silence = fault({ kind: 'unanswered' })
const answer: Seen = { is: 'answer', needed: [] }

const after = (seen: readonly Seen[], now = START, from = unseen(2_000n)): EndpointState =>
  seen.reduce((state, each) => learn(state, each, now), from)

const known = after([{ is: 'chain', right: true }])

test('is used once it has told its chain, and after it was down it has to tell again', () => {
  expect([isFit(unseen(2_000n), START), isFit(known, START)]).toEqual([false, true])
  expect(isFit(after([silence], START, known), START)).toBe(true)
  const down = after([silence, silence], START, known)
  expect([isFit(down, START), isFit(down, down.restsUntil)]).toEqual([false, false])
  expect(isFit(after([answer, { is: 'chain', right: true }], down.restsUntil, down), down.restsUntil)).toBe(true)
})

test('two failures in a row make it rest, each further one for twice as long up to two seconds', () => {
  let state = known
  let now = START
  const rests: number[] = []
  for (let times = 0; times < 9; times += 1) {
    state = learn(state, silence, now)
    rests.push(Math.max(0, state.restsUntil - now))
    now = Math.max(now, state.restsUntil)
  }
  expect(rests[0]).toBe(0)
  for (const [at, rest] of rests.slice(1).entries()) {
    const full = Math.min(2_000, 250 * 2 ** at)
    expect(rest >= full / 2 && rest <= full, `rest ${at}: ${rest}`).toBe(true)
  }
  expect(after([silence, answer, silence, answer, silence], START, known).restsUntil).toBe(0)
})

test('requests that fail together count once', () => {
  const many = after(
    Array.from({ length: 40 }, () => silence),
    START,
    known,
  )
  expect(many.failures).toBe(2)
  expect(many.restsUntil - START).toBeLessThanOrEqual(250)
})

test('one that does not say that it is there rests, unless it has said something else since it was asked', () => {
  const silent: Seen = { is: 'silent', since: START }
  expect(isFit(learn(known, silent, START + 500), START + 500)).toBe(false)
  const heard = learn(known, { is: 'response' }, START + 1)
  expect(learn(heard, silent, START + 500)).toMatchObject({ failures: 0, restsUntil: 0 })
})

test('a rate limit rests at once, for as long as the node says and a minute at most; it is no doubt of its chain', () => {
  const rest = (retryAfterMs: number | null) => after([fault({ kind: 'rate', retryAfterMs })], START, known)
  expect(rest(7_000).restsUntil - START).toBe(7_000)
  expect(rest(3_600_000).restsUntil - START).toBe(60_000)
  expect(rest(null).restsUntil - START).toBeLessThanOrEqual(250)
  expect(isFit(rest(7_000), START + 7_000)).toBe(true)
})

test('another chain is set aside, and looked at again after five seconds', () => {
  const wrong = after([{ is: 'chain', right: false }], START, known)
  expect([isFit(wrong, START), wrong.restsUntil - START]).toEqual([false, 5_000])
  expect(wrong.head).toBeNull()
})

test('a missing block and a revert are no fault of the endpoint', () => {
  for (const kind of ['missing', 'other'] as const) {
    expect(isFit(after([fault({ kind }), fault({ kind }), fault({ kind })], START, known), START)).toBe(true)
  }
})

test('what it lacks is asked for again ever more rarely, and counts as there once it is served', () => {
  const noLogs = fault({ kind: 'capability', lacks: 'logs' }, ['logs'])
  const once = after([noLogs], START, known)
  expect([isLacking(once.lacks, 'logs', START), isLacking(once.lacks, 'pinned', START), isFit(once, START)]).toEqual([
    true,
    false,
    true,
  ])
  expect(isLacking(once.lacks, 'logs', START + 5_001)).toBe(false)
  const often = after([noLogs, noLogs, noLogs, noLogs], START, known)
  expect(isLacking(often.lacks, 'logs', START + 19_000)).toBe(true)
  expect(after([{ is: 'answer', needed: ['logs'] }], START, often).lacks).toEqual({})
  // The same words about something else.
  expect(after([fault({ kind: 'capability', lacks: 'logs' }, ['pinned'])], START, known).lacks).toEqual({})
})

test('a batch limit is tried again after a hundred answers', () => {
  const limited = after([{ is: 'batch', most: 10 }], START, known)
  expect(
    after(
      Array.from({ length: 100 }, () => answer),
      START,
      limited,
    ).batch.most,
  ).toBe(10)
  expect(
    after(
      Array.from({ length: 101 }, () => answer),
      START,
      limited,
    ).batch.most,
  ).toBe(20)
})
