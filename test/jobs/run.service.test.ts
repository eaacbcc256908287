import { Redis } from 'ioredis'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { type QueueSettings, queues } from '../../src/jobs/queues.ts'
import { createJobs, type Jobs } from '../../src/jobs/run.ts'
import { sleep } from '../../src/lib/lifecycle.ts'
import { createLogger } from '../../src/lib/observe/log.ts'
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
  gaps: async () => {},
  finalize: async () => {},
  sum: async () => {},
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

/** Retries come soon, and two deliveries run at once. */
const settings: QueueSettings = {
  ...queues,
  sweep: { ...queues.sweep, backoffMs: 10 },
  deliver: { ...queues.deliver, concurrency: 2 },
}

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
  const open = (prefix = `test-${process.pid}-${systems++}`, jobLog = log): Jobs => {
    const jobs = createJobs({ redisUrl: url(), prefix, log: jobLog, settings })
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
    expect(await jobs.waiting('sweep')).toMatchObject({ jobs: 1 })
    await jobs.work({ ...idle, sweep })
    await expect.poll(() => sweep).toHaveBeenCalled()
    await expect.poll(() => jobs.waiting('sweep')).toMatchObject({ jobs: 0 })
    await sleep(50)
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
    await sleep(50)
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
    await sleep(50)
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
    await sleep(50)
    expect(tried).toBe(3)
  })

  it('drops a job that fails in every attempt, and continues with other jobs', async () => {
    const lines: { readonly msg: string; readonly attempt: number; readonly job: string }[] = []
    const jobs = open(undefined, pino({ level: 'warn' }, { write: (line) => void lines.push(JSON.parse(line)) }))
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
    await sleep(2 * settings.sweep.backoffMs * 2 ** queues.sweep.attempts)
    expect(failed).toBe(queues.sweep.attempts)
    expect(lines.map(({ msg, attempt, job }) => [job, attempt, msg])).toEqual([
      ...[1, 2, 3].map((attempt) => ['sweep', attempt, 'job failed']),
      ['sweep', 4, 'job dropped'],
    ])
    await jobs.add('sweep', base)
    await expect.poll(() => failed).toBeGreaterThan(queues.sweep.attempts)
  })

  it('repeats a job at its interval, however often that is requested', async () => {
    const prefix = `test-${process.pid}-repeat-${systems++}`
    const jobs = open(prefix)
    const asking = shared ? open(prefix) : jobs
    const startedAt: number[] = []
    const sweep = async () => void startedAt.push(performance.now())
    await jobs.work({ ...idle, sweep })
    await jobs.repeat('sweep', base, 150)
    await asking.repeat('sweep', base, 150)
    await expect.poll(() => startedAt.length).toBeGreaterThanOrEqual(4)
    await jobs.close()
    // Each request may run the job once at once. Twice as many would have run if the schedule were duplicated.
    const spent = (startedAt.at(-1) ?? 0) - (startedAt[0] ?? 0)
    expect(startedAt.length).toBeLessThanOrEqual(3 + spent / 150)
  })

  it('runs as many jobs of a kind at once as its settings allow, and the next one afterwards', async () => {
    const jobs = open()
    const { passed, open: finish } = gate()
    const deliver = vi.fn(() => passed)
    await jobs.work({ ...idle, deliver })
    for (const endpoint of ['a', 'b', 'c']) await jobs.add('deliver', { endpoint })
    await expect.poll(() => deliver).toHaveBeenCalledTimes(2)
    await expect.poll(() => jobs.waiting('deliver')).toMatchObject({ jobs: 1 })
    expect(deliver).toHaveBeenCalledTimes(2)
    finish()
    await expect.poll(() => deliver).toHaveBeenCalledTimes(3)
  })

  it('reports how long the oldest job has waited', async () => {
    const jobs = open()
    expect(await jobs.waiting('sweep')).toEqual({ jobs: 0, oldestSeconds: 0 })
    await jobs.add('sweep', base)
    await sleep(60)
    await jobs.add('sweep', bnb)
    const { jobs: count, oldestSeconds } = await jobs.waiting('sweep')
    expect(count).toBe(2)
    expect(oldestSeconds).toBeGreaterThanOrEqual(0.05)
    expect(oldestSeconds).toBeLessThan(30)
    expect(await jobs.waiting('observe')).toMatchObject({ jobs: 0 })
  })

  it('aborts running jobs when it closes, waits for them and runs no further ones', async () => {
    const lines: string[] = []
    const jobs = open(undefined, pino({ level: 'warn' }, { write: (line) => void lines.push(line) }))
    let ended = false
    const sweep = vi.fn(async (_: unknown, signal: AbortSignal) => {
      await sleep(30_000, signal)
      await sleep(50)
      ended = true
      throw new Error('aborted')
    })
    await jobs.work({ ...idle, sweep })
    await jobs.add('sweep', base)
    await expect.poll(() => sweep).toHaveBeenCalledTimes(1)
    await jobs.add('sweep', base)
    await jobs.close()
    expect([ended, lines]).toEqual([true, []])
    await expect(jobs.add('sweep', bnb)).rejects.toMatchObject({
      code: 'service_unavailable',
      message: expect.stringContaining('closed'),
    })
    await jobs.repeat('sweep', bnb, 10)
    await sleep(50)
    expect(sweep).toHaveBeenCalledTimes(1)
  })

  it('waits for its jobs when it closes, for as long as they take', async () => {
    const jobs = open()
    const { passed, open: finish } = gate()
    const observe = vi.fn(() => passed)
    await jobs.work({ ...idle, observe })
    await jobs.add('observe', base)
    await expect.poll(() => observe).toHaveBeenCalledTimes(1)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const closing = jobs.close().then(() => 'closed')
    await vi.advanceTimersByTimeAsync(60_000)
    vi.useRealTimers()
    expect(await Promise.race([closing, 'open'])).toBe('open')
    finish()
    expect(await closing).toBe('closed')
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

it('a job that is done or dropped leaves nothing in Redis', async () => {
  const prefix = `test-${process.pid}-${systems++}`
  const jobs = createJobs({ redisUrl: redis.url, prefix, log, settings })
  const server = new Redis(redis.url)
  try {
    const observe = vi.fn(() => Promise.reject(new Error('never')))
    const sweep = vi.fn(async () => {})
    await jobs.work({ ...idle, observe, sweep })
    await jobs.add('observe', base)
    await jobs.add('sweep', base)
    const kept = async () => {
      const ended = ['observe:failed', 'sweep:completed'].map((name) => server.zcard(`${prefix}:${name}`))
      return { left: await Promise.all(ended), active: await server.llen(`${prefix}:observe:active`) }
    }
    await expect.poll(() => [observe.mock.calls.length, sweep.mock.calls.length]).toEqual([1, 1])
    await expect.poll(kept).toEqual({ left: [0, 0], active: 0 })
  } finally {
    await jobs.close()
    server.disconnect()
  }
})

/** How Redis may lose the repeated jobs of a system that goes on. */
const losses: readonly (readonly [string, (server: Redis, jobs: Jobs) => Promise<unknown>])[] = [
  ['connections that ended', (server) => server.client('KILL', 'TYPE', 'normal', 'SKIPME', 'yes')],
  [
    'a rejected write',
    async (server, jobs) => {
      await server.config('SET', 'maxmemory', '1')
      await expect(jobs.add('sweep', bnb)).rejects.toMatchObject({ code: 'service_unavailable' })
      await server.config('SET', 'maxmemory', '0')
    },
  ],
]

it.each(losses)(
  'repeated jobs are stored with their intervals, and again when %s may have lost them',
  async (_, lose) => {
    const prefix = `test-${process.pid}-${systems++}`
    const jobs = createJobs({ redisUrl: redis.url, prefix, log })
    const server = new Redis(redis.url)
    const stored = async () => {
      const intervals = ['sweep', 'observe'].map(async (name) => {
        const [key] = await server.zrange(`${prefix}:${name}:repeat`, 0, -1)
        return key === undefined ? null : server.hget(`${prefix}:${name}:repeat:${key}`, 'every')
      })
      return Promise.all(intervals)
    }
    try {
      await jobs.repeat('sweep', base, 60_000)
      await jobs.repeat('observe', base, 30_000)
      // The connection is new, and with it the repeated jobs are stored once more.
      await sleep(1_500)
      expect(await stored()).toEqual(['60000', '30000'])
      await server.del(await server.keys(`${prefix}:*`))
      await lose(server, jobs)
      await expect.poll(stored).toEqual(['60000', '30000'])
    } finally {
      await jobs.close()
      server.disconnect()
    }
  },
)

it('systems with different prefixes share nothing in one Redis', async () => {
  const [one, other] = ['a', 'b'].map((name) =>
    createJobs({ redisUrl: redis.url, prefix: `test-${process.pid}-${systems++}-${name}`, log }),
  )
  try {
    await one?.add('sweep', base)
    expect([await one?.waiting('sweep'), await other?.waiting('sweep')]).toMatchObject([{ jobs: 1 }, { jobs: 0 }])
  } finally {
    await Promise.all([one?.close(), other?.close()])
  }
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
