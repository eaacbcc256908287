import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createLocalDriver } from '../../src/jobs/local.ts'
import { measureJobs } from '../../src/jobs/metrics.ts'
import { type JobName, queues } from '../../src/jobs/queues.ts'
import { createJobs, type Jobs } from '../../src/jobs/run.ts'
import { sleep } from '../../src/lib/lifecycle.ts'
import { createMetrics } from '../../src/lib/observe/metrics.ts'

/* Jobs in this process, by a clock of the test. */

const base = { chainId: 8453 } as const
const names = Object.keys(queues) as JobName[]

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] })
  vi.spyOn(Math, 'random').mockReturnValue(1)
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

type Line = { readonly msg: string; readonly attempt?: number; readonly job?: string }

const open = () => {
  const lines: Line[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const driver = createLocalDriver({ log })
  return { lines, log, driver }
}

const tick = (ms = 0) => vi.advanceTimersByTimeAsync(ms)

test('a failed job is tried again after a pause that doubles, and dropped after its last attempt', async () => {
  const { driver, lines } = open()
  const triedAt: number[] = []
  await driver.work(async () => {
    triedAt.push(performance.now())
    throw new Error('never')
  })
  await driver.add('sweep', 'a', base)
  await tick(10_000)
  expect(triedAt).toEqual([0, 250, 750, 1_750])
  expect(lines.map(({ msg, attempt }) => [msg, attempt])).toEqual([
    ...[1, 2, 3].map((attempt) => ['job failed', attempt]),
    ['job dropped', 4],
  ])
  await driver.add('sweep', 'a', base)
  await tick()
  expect(triedAt).toHaveLength(5)
  await driver.close()
})

test('a job of one attempt is dropped at its first failure, and the equal one that waits runs then', async () => {
  const { driver, lines } = open()
  const seen: unknown[] = []
  await driver.work(async (name, payload) => {
    seen.push([name, payload])
    await sleep(100)
    throw new Error('never')
  })
  await driver.add('observe', 'a', 1)
  await driver.add('observe', 'a', 2)
  // Of equal jobs the first one waits.
  await driver.add('observe', 'a', 3)
  expect(await driver.waiting('observe')).toMatchObject({ jobs: 1 })
  await tick(1_000)
  expect(seen).toEqual([
    ['observe', 1],
    ['observe', 2],
  ])
  expect(lines.map(({ msg }) => msg)).toEqual(['job dropped', 'job dropped'])
})

test('a stop ends the pause before a retry, and the job is neither tried nor logged again', async () => {
  const { driver, lines } = open()
  let tried = 0
  await driver.work(async () => {
    tried += 1
    throw new Error('never')
  })
  await driver.add('sweep', 'a', base)
  await driver.add('sweep', 'a', base)
  await tick()
  await driver.close()
  await tick(10_000)
  expect([tried, lines.length]).toEqual([1, 1])
})

test('a stop aborts running jobs and waits for them, and nothing runs or is added afterwards', async () => {
  const { driver, lines } = open()
  const log: string[] = []
  await driver.work(async (_, payload, signal) => {
    log.push(`begin ${payload}`)
    await sleep(60_000, signal)
    await sleep(100)
    log.push(`end ${payload}`)
    throw new Error('aborted')
  })
  await driver.add('dispatch', 'a', 1)
  await driver.add('dispatch', 'b', 2)
  await driver.repeat('calibrate', 'c', 3, 50)
  await tick()
  expect(log).toEqual(['begin 1', 'begin 3'])
  let isClosed = false
  const closing = driver.close().then(() => {
    isClosed = true
  })
  await tick(99)
  expect(isClosed).toBe(false)
  await tick(1)
  await closing
  expect(log).toEqual(['begin 1', 'begin 3', 'end 1', 'end 3'])
  await expect(driver.add('dispatch', 'd', 4)).rejects.toMatchObject({
    code: 'service_unavailable',
    message: 'the job queue is closed',
  })
  await driver.repeat('dispatch', 'e', 5, 10)
  await tick(1_000)
  expect(log).toHaveLength(4)
  expect(lines).toEqual([])
  expect(vi.getTimerCount()).toBe(0)
})

test('a job repeats at once and at its interval, the last requested one, until a stop', async () => {
  const { driver } = open()
  const ranAt: number[] = []
  await driver.work(async () => void ranAt.push(performance.now()))
  await driver.repeat('sweep', 'a', base, 100)
  await tick(50)
  await driver.repeat('sweep', 'a', base, 200)
  await tick(650)
  expect(ranAt).toEqual([0, 50, 250, 450, 650])
  await driver.repeat('sweep', 'b', base, 1_000)
  expect(vi.getTimerCount()).toBe(2)
  await driver.close()
  expect(vi.getTimerCount()).toBe(0)
})

test('jobs of a kind run in the order of their arrival, as many at once as allowed, and other kinds next to them', async () => {
  const { driver } = open()
  const begun: unknown[] = []
  await driver.work(async (_, payload) => {
    begun.push(payload)
    await sleep(100)
  })
  await driver.add('dispatch', 'a', 1)
  await driver.add('dispatch', 'b', 2)
  await driver.add('dispatch', 'c', 3)
  await driver.add('calibrate', 'a', 4)
  expect(begun).toEqual([1, 4])
  await tick(100)
  expect(begun).toEqual([1, 4, 2])
  await tick(100)
  expect(begun).toEqual([1, 4, 2, 3])
})

test('a job that must wait for an equal one does not keep out the others', async () => {
  const { driver } = open()
  const begun: unknown[] = []
  await driver.work(async (_, payload) => {
    begun.push(payload)
    await sleep(100)
  })
  await driver.add('sweep', 'a', 1)
  await driver.add('sweep', 'a', 2)
  await driver.add('sweep', 'b', 3)
  expect(begun).toEqual([1, 3])
})

test('the waiting jobs are counted, with the age of the oldest, before and after work begins', async () => {
  const { driver } = open()
  expect(await driver.waiting('sweep')).toEqual({ jobs: 0, oldestSeconds: 0 })
  await driver.add('sweep', 'a', 1)
  await tick(2_000)
  await driver.add('sweep', 'b', 2)
  await driver.add('sweep', 'a', 3)
  expect(await driver.waiting('sweep')).toEqual({ jobs: 2, oldestSeconds: 2 })
  expect(await driver.waiting('observe')).toEqual({ jobs: 0, oldestSeconds: 0 })
  const seen: unknown[] = []
  await driver.work(async (_, payload) => void seen.push(payload))
  expect(await driver.waiting('sweep')).toEqual({ jobs: 0, oldestSeconds: 0 })
  expect(seen).toEqual([1, 2])
})

const payloads: { readonly [N in JobName]: readonly [good: object, bad: object] } = {
  sweep: [base, {}],
  observe: [base, { chainId: 0 }],
  audit: [base, { chainId: 1.5 }],
  gaps: [base, { ...base, more: 1 }],
  finalize: [base, {}],
  sum: [base, {}],
  dispatch: [{}, base],
  deliver: [{ endpoint: 'x'.repeat(100) }, { endpoint: 'x'.repeat(101) }],
  calibrate: [{}, base],
}

test.each(names)(
  'the job %s reaches its own handler with its payload, and one of another shape is refused',
  async (name) => {
    const jobs = createJobs({ redisUrl: undefined, prefix: 'test', log: open().log })
    const handler = Object.fromEntries(names.map((each) => [each, vi.fn(async () => {})]))
    await jobs.work(handler as never)
    const [good, bad] = payloads[name]
    await expect(jobs.add(name, bad as never)).rejects.toThrow()
    await expect(jobs.repeat(name, bad as never, 10)).rejects.toThrow()
    await jobs.add(name, good as never)
    await tick()
    for (const [each, called] of Object.entries(handler))
      expect(called.mock.calls).toEqual(each === name ? [[good, expect.any(AbortSignal)]] : [])
    await jobs.close()
  },
)

test('the end of a job system aborts the handlers that run, and waits for them', async () => {
  const jobs = createJobs({ redisUrl: undefined, prefix: 'test', log: open().log })
  const idle = Object.fromEntries(names.map((name) => [name, async () => {}]))
  let isEnded = false
  const sweep = async (_: unknown, signal: AbortSignal): Promise<void> => {
    await sleep(60_000, signal)
    await sleep(100)
    isEnded = true
  }
  await jobs.work({ ...idle, sweep } as never)
  await jobs.add('sweep', base)
  const closing = jobs.close().then(() => isEnded)
  await tick(100)
  expect(await closing).toBe(true)
})

test('a job that is asked for without waiting is logged when it is refused, but not when the queue is out of reach', async () => {
  const { log, lines } = open()
  const jobs = createJobs({ redisUrl: undefined, prefix: 'test', log })
  const sweep = vi.fn(async () => {})
  await jobs.work({ ...Object.fromEntries(names.map((name) => [name, async () => {}])), sweep } as never)
  jobs.ask('sweep', base)
  await tick()
  expect(sweep).toHaveBeenCalledTimes(1)
  jobs.ask('sweep', {} as never)
  await tick()
  expect(lines).toMatchObject([{ msg: 'job not added', job: 'sweep' }])
  await jobs.close()
  jobs.ask('sweep', base)
  await tick()
  expect(lines).toHaveLength(1)
})

test('the metrics are the waiting jobs of each queue, and how long attempts took by their outcome', async () => {
  const metrics = createMetrics()
  const jobs = createJobs({ redisUrl: undefined, prefix: 'test', log: open().log })
  const end = measureJobs(metrics, {
    ...jobs,
    waiting: async (name) => ({ jobs: name.length, oldestSeconds: 1.5 }),
  } satisfies Jobs)
  const idle = Object.fromEntries(names.map((name) => [name, async () => {}]))
  const observe = async (): Promise<void> => {
    await sleep(300)
    throw new Error('no')
  }
  await jobs.work({ ...idle, observe } as never)
  const textOf = async () => (await metrics.metrics()).split('\n')
  await jobs.add('sweep', base)
  await jobs.add('observe', base)
  await tick(300)
  const text = await textOf()
  expect(text).toContain('fx_jobs_waiting{queue="sweep"} 5')
  expect(text).toContain('fx_jobs_waiting{queue="calibrate"} 9')
  expect(text).toContain('fx_jobs_oldest_seconds{queue="sweep"} 1.5')
  expect(text).toContain('fx_job_duration_seconds_count{queue="sweep",outcome="done"} 1')
  expect(text).toContain('fx_job_duration_seconds_sum{queue="observe",outcome="failed"} 0.3')
  end()
  await jobs.add('sweep', base)
  await tick()
  expect(await textOf()).toContain('fx_job_duration_seconds_count{queue="sweep",outcome="done"} 1')
})
