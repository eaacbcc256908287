import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Database } from '../../src/db/pool.ts'
import { createDemand } from '../../src/indexer/demand.ts'
import { follow } from '../../src/indexer/follow.ts'
import { fakeChain } from '../support/fake-chain.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('a standby tries to take the lease eight times in the lifetime of a lease', async () => {
  // Another worker holds the lease.
  const run = vi.fn(async () => [])
  const session = { run } as unknown as Database
  const { chain } = fakeChain()
  const stop = new AbortController()
  const log = pino({ level: 'silent' })
  const deps = {
    chain,
    database: session,
    session,
    pollMs: { idle: 1, fast: 1 },
    demand: createDemand(),
    onWrite: () => {},
    log,
    leaseTtlMs: 8_000,
  }
  const ended = follow(deps, stop.signal)
  await vi.advanceTimersByTimeAsync(7_999)
  expect(run).toHaveBeenCalledTimes(8)
  await vi.advanceTimersByTimeAsync(1)
  expect(run).toHaveBeenCalledTimes(9)
  stop.abort()
  await ended
})
