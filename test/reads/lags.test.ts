import { expect, test } from 'vitest'
import type { Reached } from '../../src/db/changes/changes.ts'
import { createLags } from '../../src/reads/health/lags.ts'
import { blockOf } from '../support/seed-index.ts'

/** An index at block 70, whose chain is some seconds further. */
const behind = (seconds: number): Reached =>
  ({
    block: blockOf(70n),
    heartbeat: {
      ...{ head: { timestamp: blockOf(70n).timestamp + BigInt(seconds) }, isQuiet: false, ageSeconds: 0, byLogs: true },
    },
  }) as unknown as Reached

test('the newest samples of each chain are kept, also of a lag that is not known', () => {
  let [seconds, now] = [0, 5_000]
  const reached = (chainId: number) => (chainId === 8453 ? behind(seconds) : undefined)
  const lags = createLags({ chainIds: [8453, 56], changes: { reached }, now: () => now, most: 2 })
  expect(lags.of(8453)).toEqual([])
  for (seconds of [1, 2, 3]) {
    lags.sample()
    now += 60_000
  }
  expect(lags.of(8453)).toEqual([
    { at: 65, lagSeconds: 2 },
    { at: 125, lagSeconds: 3 },
  ])
  expect(lags.of(56)).toEqual([
    { at: 65, lagSeconds: null },
    { at: 125, lagSeconds: null },
  ])
  expect(lags.of(1)).toEqual([])
})
