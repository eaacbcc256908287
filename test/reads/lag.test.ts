import { expect, test } from 'vitest'
import { isNearHead, lagOfHealth, lagOfReached, lagOfTip, secondsBehind } from '../../src/reads/lag/lag.ts'

const block = { number: 90n, hash: `0x${'5f'.repeat(32)}`, timestamp: 990n } as const

const seen = { stored: null, byLogs: true }

/** The lag by each source, for a heartbeat of some age that saw a head of some time. */
const lags = (timestamp: bigint, ageSeconds: number, isQuiet = false): (number | null)[] => [
  lagOfTip({ block, head: { timestamp, isQuiet, ageSeconds } }),
  lagOfReached({
    chainId: 8453,
    block,
    heartbeat: { ...seen, head: { number: 100n, timestamp }, isQuiet, ageSeconds },
  }),
  lagOfHealth({
    indexed: block,
    heartbeat: {
      at: new Date(),
      ageSeconds,
      head: { number: 100n, timestamp },
      proven: null,
      isQuiet,
      unknownLogs: null,
      source: 'logs',
      problem: null,
      nodes: { endpoints: [], halted: false, hasLogs: true },
    },
  }),
]

test.each([
  ['the difference of both times', 1_000n, 0.4, 10],
  ['0 for an index ahead of the head', 980n, 0.4, 0],
  ['unchanged by a heartbeat of 10 s ago', 1_000n, 10, 10],
  ['greater by the silence of a worker that has been silent for more than 10 s', 1_000n, 12.7, 22],
])('the lag by pages, by commits and by the health of the index is %s', (_, timestamp, ageSeconds, lag) => {
  expect(lags(timestamp, ageSeconds)).toEqual([lag, lag, lag])
})

test('there is no lag while nothing is left to index up to the head, except by silence', () => {
  expect(lags(1_000n, 0.4, true)).toEqual([0, 0, 0])
  expect(lags(1_000n, 12.7, true)).toEqual([12, 12, 12])
})

test('the lag is unknown before the first heartbeat', () => {
  expect(lagOfTip({ block, head: null })).toBeNull()
  expect(lagOfReached({ chainId: 8453, block, heartbeat: null })).toBeNull()
  expect(lagOfHealth({ indexed: block, heartbeat: null })).toBeNull()
})

test.each([
  [5n, 6, true],
  [6n, 6, false],
  [5n, 6.1, false],
  [-9n, 0, true],
])('cached answers of an index %i s behind with a heartbeat of %d s are served: %s', (behind, ageSeconds, isNear) => {
  const head = { number: 100n, timestamp: block.timestamp + behind }
  const heartbeat = { ...seen, head, isQuiet: false, ageSeconds }
  expect(isNearHead({ chainId: 8453, block, heartbeat })).toBe(isNear)
})

test('cached answers are not served before the first heartbeat', () => {
  expect(isNearHead({ chainId: 8453, block, heartbeat: null })).toBe(false)
})

test('a block is behind a later one by the difference of their times, and behind an earlier one by nothing', () => {
  expect(secondsBehind({ timestamp: 7n }, { timestamp: 9n })).toBe(2)
  expect(secondsBehind({ timestamp: 9n }, { timestamp: 7n })).toBe(0)
})
