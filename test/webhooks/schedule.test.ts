import { expect, test } from 'vitest'
import { MAX_ATTEMPTS, nextAttempt, retryAfterMs } from '../../src/webhooks/schedule.ts'

const SECOND_MS = 1_000
const HOUR_MS = 3_600 * SECOND_MS
const now = Date.parse('2026-11-25T10:00:00Z')

test.each([
  [undefined, 0],
  ['', 0],
  ['soon', 0],
  ['-5', 0],
  ['0', 0],
  ['7200', 2 * HOUR_MS],
  ['86399', 24 * HOUR_MS - SECOND_MS],
  ['86401', 24 * HOUR_MS],
  ['999999999', 24 * HOUR_MS],
  ['Wed, 25 Nov 2026 10:00:30 GMT', 30 * SECOND_MS],
  ['Wed, 25 Nov 2026 09:00:00 GMT', 0],
  ['Fri, 27 Nov 2026 10:00:00 GMT', 24 * HOUR_MS],
])('a Retry-After of %j asks for %i ms', (header, ms) => {
  expect(retryAfterMs(header, now)).toBe(ms)
})

const wait = (attempt: number, askedMs = 0, random = 0) => {
  const { nextAt, retryAt } = nextAttempt(attempt, now, askedMs, () => random)
  return [nextAt && nextAt.getTime() - now, retryAt.getTime() - now]
}

test('a message has ten attempts, with pauses from five seconds to a day', () => {
  expect(MAX_ATTEMPTS).toBe(10)
  const pauses = Array.from({ length: 10 }, (_, at) => wait(at + 1)[0])
  const hours = [2, 5, 10, 14, 20, 24].map((many) => many * HOUR_MS)
  expect(pauses).toEqual([5_000, 300_000, 1_800_000, ...hours, null])
})

test('up to a tenth of a pause is added at random', () => {
  expect([wait(2, 0, 0)[0], wait(2, 0, 0.5)[0], wait(2, 0, 1)[0]]).toEqual([300_000, 315_000, 330_000])
})

test('the endpoint pauses for the pause of the message, and for ten seconds at most', () => {
  expect([wait(1)[1], wait(2)[1], wait(10)[1]]).toEqual([5_000, 10_000, 10_000])
})

test('what the receiver asks for lengthens both pauses, and never shortens them', () => {
  expect(wait(1, 7_000)).toEqual([7_000, 7_000])
  expect(wait(1, 4_000)).toEqual([5_000, 5_000])
  expect(wait(2, 20_000)).toEqual([300_000, 20_000])
  expect(wait(10, 20_000)).toEqual([null, 20_000])
})
