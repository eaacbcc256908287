import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { sleep } from '../../src/lib/lifecycle.ts'
import { serverTiming, type Timings, waited, withTimings } from '../../src/lib/observe/timing.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Runs the handler of a request, and returns its timings. */
const timed = async (handler: () => Promise<unknown>): Promise<Timings> => {
  const done = new Promise<Timings>((resolve) => {
    withTimings((timings) => void handler().then(() => resolve(timings)))
  })
  await vi.advanceTimersByTimeAsync(1_000)
  return done
}

const wait = (part: 'rpc' | 'db', ms: number): Promise<void> => waited(part, () => sleep(ms))

test('overlapping waits of a part count once, later ones are added, and each part has its own', async () => {
  const timings = await timed(async () => {
    await Promise.all([wait('rpc', 30), wait('rpc', 50), wait('db', 20)])
    // Two that begin one after the other.
    const first = wait('rpc', 20)
    await sleep(10)
    await Promise.all([first, wait('rpc', 20)])
    await wait('rpc', 7)
  })
  expect(serverTiming(timings, 60)).toBe('rpc;dur=87.00, db;dur=20.00, app;dur=60.00')
})

test('a wait that fails counts too, and later ones as well', async () => {
  const fail = async (): Promise<never> => {
    await sleep(10)
    throw new Error('no')
  }
  const timings = await timed(async () => {
    await expect(waited('db', fail)).rejects.toThrow('no')
    await sleep(100)
    await wait('db', 5)
  })
  expect(serverTiming(timings, 115)).toBe('db;dur=15.00, app;dur=115.00')
})

test('a part that was not used is left out, and work outside of a request is not measured', async () => {
  expect(serverTiming(await timed(async () => {}), 1)).toBe('app;dur=1.00')
  expect(await waited('db', async () => 7)).toBe(7)
  expect(serverTiming(null, 2)).toBe('app;dur=2.00')
})
