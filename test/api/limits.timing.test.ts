import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { openApp } from '../support/app.ts'
import { byForm } from '../support/repetitions.ts'

const opened: Awaited<ReturnType<typeof openApp>>[] = []
const open = async (limits: NonNullable<Parameters<typeof openApp>[0]['limits']>) => {
  const api = await openApp({ limits })
  opened.push(api)
  return api
}
afterEach(async () => {
  for (const api of opened.splice(0)) await api.close()
})

const chains = '/v1/chains'

describe('overload', () => {
  /** Holds the event loop up as long work would, but without using a processor. */
  const block = (ms: number): void => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
  }

  // `test/api/plugins/shedding` has the same on a clock of its own.
  test.runIf(byForm(false, true))('is not a single pause, unless the heap is full', async () => {
    const apps = await Promise.all(
      [{}, { maxHeapBytes: 1 }].map((limits) => open({ maxEventLoopDelayMs: 30, ...limits })),
    )
    // The first sample of the heap.
    await sleep(600)
    /** The statuses of both apps after a pause whose mean over a sample of the delay is above the limit. */
    const statusesAfterPause = async () => {
      block(2_000)
      const statuses = apps.map(() => new Set<number>())
      for (const until = performance.now() + 700; performance.now() < until; await sleep(20))
        for (const [at, { app }] of apps.entries()) statuses[at]?.add((await app.inject(chains)).statusCode)
      return statuses.map((seen) => [...seen])
    }
    // The machine may add a pause of its own.
    await expect.poll(statusesAfterPause, { interval: 6_000 }).toEqual([[200], [503]])
  })

  test('is a delay of the event loop that lasts, until it ends', async () => {
    const { app } = await open({ maxEventLoopDelayMs: 100 })
    const status = async () => (await app.inject(chains)).statusCode
    const late = async () => {
      block(300)
      await sleep(1)
      return await status()
    }
    await expect.poll(late, { interval: 1 }).toBe(503)
    const refused = performance.now()
    await expect.poll(status).toBe(200)
    const took = performance.now() - refused
    console.log(`shedding: requests are taken again ${took.toFixed(0)} ms after the last that was not`)
  })
})
