import { Redis } from 'ioredis'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { queues } from '../../src/jobs/queues.ts'
import { createJobs, type Jobs } from '../../src/jobs/run.ts'
import { sleep } from '../../src/lib/lifecycle.ts'
import { createLogger } from '../../src/lib/log.ts'
import { MAX_CHAINS } from '../../src/protocol/chains.ts'
import { startLine } from '../support/line.ts'
import { startTestRedis, type TestService } from '../support/services.ts'

const log = createLogger({ level: 'silent', process: 'test' })
const base = { chainId: 8453 } as const
const bnb = { chainId: 56 } as const
const idle = {
  sweep: async () => {},
  observe: async () => {},
  audit: async () => {},
  render: async () => {},
  fees: async () => {},
  finalize: async () => {},
  dispatch: async () => {},
  deliver: async () => {},
  calibrate: async () => {},
}

let redis: TestService
let systems = 0

beforeAll(async () => {
  redis = await startTestRedis()
})
afterAll(() => redis.close())

/** A job that ends when the test releases it. */
const gate = () => {
  let open = (): void => {}
  const passed = new Promise<void>((resolve) => {
    open = resolve
  })
  return { passed, open }
}

const drivers = [
  { name: 'in process', shared: false, url: () => undefined },
  { name: 'BullMQ on Redis', shared: true, url: () => redis.url },
]

describe.each(drivers)('jobs, $name', ({ shared, url }) => {
  const opened: Jobs[] = []
  /** Opens another job system. The `prefix` of an earlier one shares its queues. */
  const open = (prefix = `test-${process.pid}-${systems++}`): Jobs => {
    const jobs = createJobs({ redisUrl: url(), prefix, log })
    opened.push(jobs)
    return jobs
  }
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((jobs) => jobs.close()))
  })

  it('runs a job with its payload that was added before any worker started', async () => {
    const jobs = open()
    const sweep = vi.fn(async () => {})
    await jobs.add('sweep', base)
    await jobs.add('sweep', bnb)
    await sleep(50)
    expect(sweep).not.toHaveBeenCalled()
    await jobs.work({ ...idle, sweep })
    await expect.poll(() => sweep).toHaveBeenCalledTimes(2)
    expect(sweep).toHaveBeenCalledWith(base, expect.any(AbortSignal))
    expect(sweep).toHaveBeenCalledWith(bnb, expect.any(AbortSignal))
  })

  it('keeps one of several equal waiting jobs', async () => {
    const jobs = open()
    const sweep = vi.fn(async () => {})
    for (let times = 0; times < 5; times += 1) await jobs.add('sweep', base)
    await jobs.work({ ...idle, sweep })
    await expect.poll(() => sweep).toHaveBeenCalled()
    await sleep(200)
    expect(sweep).toHaveBeenCalledTimes(1)
  })

  it('runs a job that is added while an equal one runs after that one, not concurrently', async () => {
    const jobs = open()
    const { passed, open: finish } = gate()
    let running = 0
    let most = 0
    const sweep = vi.fn(async () => {
      running += 1
      most = Math.max(most, running)
      await passed
      running -= 1
    })
    await jobs.work({ ...idle, sweep })
    await jobs.add('sweep', base)
    await expect.poll(() => sweep).toHaveBeenCalledTimes(1)
    for (let times = 0; times < 3; times += 1) await jobs.add('sweep', base)
    await sleep(100)
    expect(sweep).toHaveBeenCalledTimes(1)
    finish()
    await expect.poll(() => sweep).toHaveBeenCalledTimes(2)
    await sleep(200)
    expect(sweep).toHaveBeenCalledTimes(2)
    expect(most).toBe(1)
  })

  it('runs an observation again that was requested while one ran or failed, separately for each chain', async () => {
    const jobs = open()
    const { passed, open: fail } = gate()
    const observe = vi.fn(async ({ chainId }: { readonly chainId: number }) => {
      if (chainId === 56) return
      await passed
      if (observe.mock.calls.filter(([asked]) => asked.chainId === 8453).length <= queues.observe.attempts)
        throw new Error('no node answers')
    })
    const times = (chainId: number): number => observe.mock.calls.filter(([asked]) => asked.chainId === chainId).length
    await jobs.work({ ...idle, observe })
    jobs.ask('observe', base)
    await expect.poll(() => times(8453)).toBe(1)
    for (let more = 0; more < 3; more += 1) jobs.ask('observe', base)
    jobs.ask('observe', bnb)
    await expect.poll(() => times(56)).toBe(1)
    expect(times(8453)).toBe(1)
    fail()
    await expect.poll(() => times(8453)).toBe(queues.observe.attempts + 1)
    await sleep(200)
    expect([times(8453), times(56)]).toEqual([queues.observe.attempts + 1, 1])
  })

  it('retries a failing job until it succeeds', async () => {
    const jobs = open()
    let tried = 0
    const done = gate()
    await jobs.work({
      ...idle,
      async sweep() {
        tried += 1
        if (tried < 3) throw new Error('not yet')
        done.open()
      },
    })
    await jobs.add('sweep', base)
    await done.passed
    await sleep(200)
    expect(tried).toBe(3)
  })

  it('drops a job that fails in every attempt, and continues with other jobs', async () => {
    const jobs = open()
    let failed = 0
    let worked = 0
    await jobs.work({
      ...idle,
      async sweep({ chainId }) {
        if (chainId === 56) {
          worked += 1
          return
        }
        failed += 1
        throw new Error('never')
      },
    })
    await jobs.add('sweep', base)
    await expect.poll(() => failed).toBe(queues.sweep.attempts)
    await jobs.add('sweep', bnb)
    await expect.poll(() => worked).toBe(1)
    await sleep(queues.sweep.backoffMs * 2 ** queues.sweep.attempts)
    expect(failed).toBe(queues.sweep.attempts)
    await jobs.add('sweep', base)
    await expect.poll(() => failed).toBeGreaterThan(queues.sweep.attempts)
  })

  it('repeats a job at its interval, however often that is requested', async () => {
    const prefix = `test-${process.pid}-repeat-${systems++}`
    const jobs = open(prefix)
    const asking = shared ? open(prefix) : jobs
    const sweep = vi.fn(async () => {})
    await jobs.work({ ...idle, sweep })
    await jobs.repeat('sweep', base, 200)
    await asking.repeat('sweep', base, 200)
    await sleep(1_300)
    // A little more than six at this interval, and twice as many if the schedule were duplicated.
    expect(sweep.mock.calls.length).toBeGreaterThanOrEqual(4)
    expect(sweep.mock.calls.length).toBeLessThanOrEqual(9)
  })

  it('aborts running jobs when it closes, waits for them and runs no further ones', async () => {
    const jobs = open()
    let ended = false
    const sweep = vi.fn(async (_: unknown, signal: AbortSignal) => {
      await sleep(30_000, signal)
      await sleep(50)
      ended = true
    })
    await jobs.work({ ...idle, sweep })
    await jobs.add('sweep', base)
    await expect.poll(() => sweep).toHaveBeenCalledTimes(1)
    await jobs.close()
    expect(ended).toBe(true)
    await expect(jobs.add('sweep', bnb)).rejects.toMatchObject({ code: 'service_unavailable' })
    expect(sweep).toHaveBeenCalledTimes(1)
  })

  it('runs the jobs of as many chains as can be configured at once, with no warning of the runtime', async () => {
    const warnings: string[] = []
    const warn = ({ message }: Error): void => void warnings.push(message)
    process.on('warning', warn)
    const jobs = open()
    const observe = vi.fn(async (_: unknown, signal: AbortSignal) => void (await sleep(60_000, signal)))
    await jobs.work({ ...idle, observe })
    for (let chainId = 1; chainId <= MAX_CHAINS; chainId += 1) await jobs.add('observe', { chainId })
    await expect.poll(() => observe).toHaveBeenCalledTimes(MAX_CHAINS)
    await jobs.close()
    process.off('warning', warn)
    expect(warnings).toEqual([])
  })

  it('rejects a payload of another shape', async () => {
    const foreign: unknown = { chain: 8453 }
    await expect(open().add('sweep', foreign as typeof base)).rejects.toThrow(/chainId/)
  })
})

it('a job system reports within seconds that its Redis is out of reach', async () => {
  const jobs = createJobs({ redisUrl: 'redis://127.0.0.1:1', prefix: 'test', log })
  try {
    await expect(jobs.add('sweep', base)).rejects.toMatchObject({ code: 'service_unavailable' })
  } finally {
    await jobs.close()
  }
})

it('a job system continues by itself after its Redis returns without its data', async () => {
  const line = await startLine(redis.url)
  const lines: string[] = []
  const prefix = `test-${process.pid}-gone-${systems++}`
  const jobs = createJobs({
    redisUrl: line.url,
    prefix,
    log: pino({ level: 'warn' }, { write: (text) => void lines.push(JSON.parse(text).msg) }),
  })
  const server = new Redis(redis.url)
  try {
    const observe = vi.fn(async () => {})
    const sweep = vi.fn(async () => {})
    await jobs.work({ ...idle, observe, sweep })
    await jobs.repeat('sweep', base, 60_000)
    jobs.ask('observe', base)
    await expect.poll(() => [observe.mock.calls.length, sweep.mock.calls.length]).toEqual([1, 1])

    line.cut()
    for (let times = 0; times < 3; times += 1) jobs.ask('observe', base)
    await expect(jobs.add('observe', base)).rejects.toMatchObject({ code: 'service_unavailable' })
    await sleep(50)
    expect(new Set(lines)).toEqual(new Set(['the job queue is out of reach']))
    expect(lines.length).toBeLessThanOrEqual(3)
    expect([observe.mock.calls.length, sweep.mock.calls.length]).toEqual([1, 1])

    const keys = await server.keys(`${prefix}:*`)
    await server.del(keys)
    line.mend()
    await expect.poll(() => sweep).toHaveBeenCalledTimes(2)
    await jobs.add('observe', base)
    await expect.poll(() => observe).toHaveBeenCalledTimes(2)
  } finally {
    await jobs.close()
    server.disconnect()
    await line.close()
  }
})
