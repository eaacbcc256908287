import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { timed } from '../../src/chain/timed.ts'
import { sleep } from '../../src/lib/lifecycle.ts'
import { serverTiming, type Timings, withTimings } from '../../src/lib/observe/timing.ts'
import { partOfChain } from '../support/fake-log-chain.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const methods = [
  'send',
  'readAt',
  'simulateSequence',
  'ampleBalances',
  'head',
  'pinned',
  'simulate',
  'simulateSigned',
  'balances',
  'broadcast',
] as const

test.each(methods)('%s gets its arguments, and its time counts as that of nodes', async (method) => {
  const args: unknown[] = []
  const chain = partOfChain({
    [method]: async (...given: unknown[]) => {
      args.push(...given)
      await sleep(30)
      return 'the answer'
    },
  })
  const measured = timed(chain)
  let timings: Timings | null = null
  const given = ['head', 'pinned'].includes(method) ? [7n] : [7n, 8n]
  const run = measured[method] as (...of: unknown[]) => Promise<unknown>
  const done = new Promise((resolve) => {
    withTimings((of) => {
      timings = of
      void run(...given).then(resolve)
    })
  })
  await vi.advanceTimersByTimeAsync(30)
  expect(await done).toBe('the answer')
  expect(args.slice(0, given.length)).toEqual(given)
  expect(serverTiming(timings, 40)).toBe('rpc;dur=30.00, app;dur=40.00')
})

test('everything else is passed on', () => {
  const learnToken = (): void => {}
  expect(timed(partOfChain({ chainId: 56, learnToken }))).toMatchObject({ chainId: 56, learnToken })
})
