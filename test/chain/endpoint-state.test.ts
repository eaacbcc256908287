import { expect, test } from 'vitest'
import { isMissing } from '../../src/chain/endpoints/capabilities.ts'
import {
  type EndpointReport,
  type EndpointState,
  initialState,
  isAvailable,
  learn,
} from '../../src/chain/endpoints/state.ts'
import type { Fault } from '../../src/chain/rpc/faults.ts'

const START = 1_800_000_000_000

const fault = (of: Fault, needed: Extract<EndpointReport, { is: 'fault' }>['needed'] = []): EndpointReport => ({
  is: 'fault',
  fault: of,
  text: 'the reason',
  needed,
})
const silence = fault({ kind: 'unanswered' })
const answer: EndpointReport = { is: 'answer', needed: [] }

const after = (seen: readonly EndpointReport[], now = START, from = initialState(2_000n)): EndpointState =>
  seen.reduce((state, each) => learn(state, each, now), from)

const known = after([{ is: 'chain', right: true }])

test('an endpoint is available once its chain is known, which is checked again after it was down', () => {
  expect([isAvailable(initialState(2_000n), START), isAvailable(known, START)]).toEqual([false, true])
  expect(isAvailable(after([silence], START, known), START)).toBe(true)
  const down = after([silence, silence], START, known)
  expect([isAvailable(down, START), isAvailable(down, down.pausedUntil)]).toEqual([false, false])
  expect(isAvailable(after([answer, { is: 'chain', right: true }], down.pausedUntil, down), down.pausedUntil)).toBe(
    true,
  )
})

test('two failures in a row pause an endpoint, and each further one doubles the pause up to two seconds', () => {
  let state = known
  let now = START
  const pauses: number[] = []
  for (let times = 0; times < 9; times += 1) {
    state = learn(state, silence, now)
    pauses.push(Math.max(0, state.pausedUntil - now))
    now = Math.max(now, state.pausedUntil)
  }
  expect(pauses[0]).toBe(0)
  for (const [at, pause] of pauses.slice(1).entries()) {
    const full = Math.min(2_000, 250 * 2 ** at)
    expect(pause >= full / 2 && pause <= full, `pause ${at}: ${pause}`).toBe(true)
  }
  expect(after([silence, answer, silence, answer, silence], START, known).pausedUntil).toBe(0)
})

test('concurrent requests that fail count as one failure', () => {
  const many = after(
    Array.from({ length: 40 }, () => silence),
    START,
    known,
  )
  expect(many.failures).toBe(2)
  expect(many.pausedUntil - START).toBeLessThanOrEqual(250)
})

test('a failed liveness check pauses an endpoint unless it has answered another request meanwhile', () => {
  const silent: EndpointReport = { is: 'silent', since: START }
  expect(isAvailable(learn(known, silent, START + 500), START + 500)).toBe(false)
  const heard = learn(known, { is: 'response' }, START + 1)
  expect(learn(heard, silent, START + 500)).toMatchObject({ failures: 0, pausedUntil: 0 })
})

test('a rate limit pauses an endpoint for its retry time, a minute at most, and the chain stays known', () => {
  const limited = (retryAfterMs: number | null) => after([fault({ kind: 'rate', retryAfterMs })], START, known)
  expect(limited(7_000).pausedUntil - START).toBe(7_000)
  expect(limited(3_600_000).pausedUntil - START).toBe(60_000)
  expect(limited(null).pausedUntil - START).toBeLessThanOrEqual(250)
  expect(isAvailable(limited(7_000), START + 7_000)).toBe(true)
})

test('an endpoint of another chain is not used and probed again after five seconds', () => {
  const wrong = after([{ is: 'chain', right: false }], START, known)
  expect([isAvailable(wrong, START), wrong.pausedUntil - START]).toEqual([false, 5_000])
  expect(wrong.head).toBeNull()
})

test('a missing block and a revert are not failures of the endpoint', () => {
  for (const kind of ['missing', 'other'] as const) {
    expect(isAvailable(after([fault({ kind }), fault({ kind }), fault({ kind })], START, known), START)).toBe(true)
  }
})

test('a missing capability is retried after growing pauses, and is present once a request succeeds', () => {
  const noLogs = fault({ kind: 'capability', missing: 'logs' }, ['logs'])
  const once = after([noLogs], START, known)
  expect([
    isMissing(once.missing, 'logs', START),
    isMissing(once.missing, 'pinned', START),
    isAvailable(once, START),
  ]).toEqual([true, false, true])
  expect(isMissing(once.missing, 'logs', START + 5_001)).toBe(false)
  const often = after([noLogs, noLogs, noLogs, noLogs], START, known)
  expect(isMissing(often.missing, 'logs', START + 19_000)).toBe(true)
  expect(after([{ is: 'answer', needed: ['logs'] }], START, often).missing).toEqual({})
  // The same text about a request that does not need logs.
  expect(after([fault({ kind: 'capability', missing: 'logs' }, ['pinned'])], START, known).missing).toEqual({})
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
