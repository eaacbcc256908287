import type { Job } from 'bullmq'
import type { RedisOptions } from 'ioredis'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createBullDriver } from '../../src/jobs/bull.ts'
import type { Driver, Run } from '../../src/jobs/driver.ts'

/* The driver over a Redis and a BullMQ that are replaced, by a clock of the test. */

type Process = (job: Pick<Job, 'data'>) => Promise<unknown>

const fake = vi.hoisted(() => ({
  connections: [] as { readonly emitter: NodeJS.EventEmitter; readonly options: RedisOptions }[],
  workers: [] as { readonly name: string; readonly process: Process }[],
  /** The jobs that wait, the first one first. */
  waiting: [] as { readonly timestamp: number; readonly opts: { readonly delay?: number } }[],
}))

vi.mock('ioredis', async () => {
  const { EventEmitter } = await import('node:events')
  class Redis extends EventEmitter {
    readonly status = 'ready'
    constructor(_url: string, options: RedisOptions) {
      super()
      fake.connections.push({ emitter: this, options })
    }
    disconnect(): void {}
  }
  return { Redis }
})

vi.mock('bullmq', async () => {
  const { EventEmitter } = await import('node:events')
  class Queue extends EventEmitter {
    getWaitingCount = async () => fake.waiting.length
    getWaiting = async () => fake.waiting.slice(0, 1)
    close = async () => {}
  }
  class Worker extends EventEmitter {
    constructor(name: string, process: Process) {
      super()
      fake.workers.push({ name, process })
    }
    // Redis is out of reach.
    close = () => new Promise(() => {})
  }
  return { Queue, Worker }
})

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 })
})
afterEach(() => {
  vi.useRealTimers()
  for (const list of Object.values(fake)) list.length = 0
})

const open = () => {
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line) => void lines.push(line) })
  return { lines, driver: createBullDriver({ redisUrl: 'redis://test', prefix: 'test', log }) }
}

/** Starts a job, which runs until `end` is called. */
const startJob = async (driver: Driver) => {
  let end = (): void => {}
  const run = vi.fn<Run>(() => new Promise((resolve) => (end = resolve)))
  await driver.work(run)
  void fake.workers.find(({ name }) => name === 'sweep')?.process({ data: 1 })
  return { signal: run.mock.calls[0]?.[2], end: () => end() }
}

test('a job has waited since it was due', async () => {
  const { driver } = open()
  fake.waiting.push({ timestamp: Date.now() - 60_000, opts: { delay: 50_000 } })
  expect(await driver.waiting('sweep')).toEqual({ jobs: 1, oldestSeconds: 10 })
  fake.waiting[0] = { timestamp: Date.now() - 60_000, opts: {} }
  expect(await driver.waiting('sweep')).toEqual({ jobs: 1, oldestSeconds: 60 })
})

test('a close aborts a running job, waits for it however long it takes, and then two seconds for Redis', async () => {
  const { driver } = open()
  const { signal, end } = await startJob(driver)
  expect(signal?.aborted).toBe(false)
  const closed = vi.fn()
  void driver.close().then(closed)
  expect(signal?.aborted).toBe(true)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(closed).not.toHaveBeenCalled()
  end()
  await vi.advanceTimersByTimeAsync(1_999)
  expect(closed).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1)
  expect(closed).toHaveBeenCalled()
})

test('a connection that fails is logged until the close', async () => {
  const { driver, lines } = open()
  const [connection] = fake.connections
  connection?.emitter.emit('error', new Error('ended'))
  expect(lines.splice(0)).toHaveLength(1)
  const closed = driver.close()
  connection?.emitter.emit('error', new Error('ended by the close'))
  await vi.advanceTimersByTimeAsync(2_000)
  await closed
  expect(lines).toEqual([])
})

test('a job that cannot be sent to Redis is not kept to be sent later', () => {
  open()
  expect(fake.connections.map(({ options }) => options.enableOfflineQueue)).toEqual([false])
})
