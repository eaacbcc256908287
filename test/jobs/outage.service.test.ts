import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { Queue } from 'bullmq'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createJobs, type Jobs } from '../../src/jobs/run.ts'
import { sleep } from '../../src/lib/lifecycle.ts'
import { startLine } from '../support/line.ts'
import { eventually } from '../support/process.ts'
import { type Refusal, type RefusingRedis, refusalNames, startRefusingRedis } from '../support/refusing-redis.ts'
import { byForm } from '../support/repetitions.ts'

/** Consecutive fail-overs. */
const FAIL_OVERS = byForm(1, 20)

/** Observations resume within this time after Redis accepts writes again, in milliseconds. */
const RESUMES_WITHIN_MS = 10_000

/** The duration of an observation in this test, in milliseconds. */
const OBSERVING_MS = 400

/** How often sweeps are repeated in this test, in milliseconds. */
const SWEEP_EVERY_MS = 1_000

const chain = { chainId: 8453 } as const
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

let redis: RefusingRedis
let systems = 0
beforeAll(async () => {
  redis = await startRefusingRedis()
})
afterAll(() => redis.close())

const nextPrefix = (): string => `outage-${process.pid}-${systems++}`

/**
 * The jobs of a worker: observations are requested after each block and, unless that is left out, repeated every 5 s.
 */
const startWorker = async ({
  lines = [] as string[],
  redisUrl = redis.url,
  isRepeated = true,
  checkEveryMs = 60_000,
  prefix = nextPrefix(),
} = {}) => {
  const log = pino({ level: 'info' }, { write: (line: string) => lines.push(line) })
  const jobs: Jobs = createJobs({ redisUrl, prefix, log, checkEveryMs })
  let started = 0
  let active = 0
  let swept = 0
  await jobs.work({
    ...idle,
    async sweep() {
      swept += 1
    },
    async observe() {
      started += 1
      active += 1
      await sleep(OBSERVING_MS)
      active -= 1
    },
  })
  if (isRepeated) await jobs.repeat('observe', chain, 5_000)
  await jobs.repeat('sweep', chain, SWEEP_EVERY_MS)
  const asking = setInterval(() => jobs.ask('observe', chain), 200)
  return {
    prefix,
    started: () => started,
    active: () => active,
    swept: () => swept,
    fault: jobs.fault,
    async close() {
      clearInterval(asking)
      await jobs.close()
    },
  }
}

test.each(Array.from({ length: FAIL_OVERS }, (_, at) => at + 1))(
  'observations resume within 10 s of a fail-over that began while one was active (run %i)',
  { timeout: 120_000 },
  async (run) => {
    const worker = await startWorker()
    try {
      await eventually('an observation is active', () => worker.started() > 1 && worker.active() > 0)
      expect(worker.fault()).toBeNull()
      await redis.refuse('READONLY')
      await eventually('the refusal is the fault', () => worker.fault()?.startsWith('READONLY') === true)
      await sleep(byForm(500, 1_000 + ((run * 617) % 5_000)))
      await redis.accept('READONLY')
      const [healedAt, before] = [performance.now(), worker.started()]
      await eventually('an observation after the fail-over', () => worker.started() > before + 1, 90_000)
      const took = performance.now() - healedAt
      console.log(`fail-over ${run}: observations resumed after ${Math.round(took)} ms`)
      expect(took).toBeLessThan(RESUMES_WITHIN_MS)
      await eventually('the fault is gone', () => worker.fault() === null)
    } finally {
      await worker.close()
    }
  },
)

// A fail-over above leaves an orphaned observation too, which a repetition may hide.
test.runIf(byForm(false, true))(
  'a job that an orphaned observation blocks is done within 10 s of the fail-over',
  {
    timeout: 120_000,
  },
  async () => {
    const worker = await startWorker({ isRepeated: false })
    try {
      await eventually('an observation is active', () => worker.started() > 1 && worker.active() > 0)
      await redis.refuse('READONLY')
      await sleep(1_500)
      await redis.accept('READONLY')
      const [healedAt, before] = [performance.now(), worker.started()]
      await eventually('an observation after the fail-over', () => worker.started() > before + 1, 90_000)
      expect(performance.now() - healedAt).toBeLessThan(RESUMES_WITHIN_MS)
    } finally {
      await worker.close()
    }
  },
)

test('repeated jobs that a fail-over lost are scheduled again, even if no connection ended', {
  timeout: 60_000,
}, async () => {
  const worker = await startWorker()
  try {
    await eventually('a sweep', () => worker.swept() > 0)
    await redis.refuse('READONLY')
    await sleep(500)
    // The new primary lacks writes that it had not received.
    await redis.client.pipeline().call('REPLICAOF', 'NO', 'ONE').flushall().exec()
    const before = worker.swept()
    await eventually('a sweep after the fail-over', () => worker.swept() > before + 1, 20_000)
  } finally {
    await worker.close()
  }
})

const evicted = [
  ['the next job of a schedule', '*sweep:delayed'],
  ['all of a schedule', '*sweep*'],
] as const
// By default what is harder to notice: the schedule itself is still there.
test.each(evicted.slice(0, byForm(1, evicted.length)))(
  'a repeated job continues after Redis evicted %s',
  { timeout: 60_000 },
  async (_, keys) => {
    const lines: string[] = []
    const worker = await startWorker({ lines, checkEveryMs: 500 })
    try {
      await eventually('a sweep', () => worker.swept() > 0)
      // Nothing is lost while the schedule is there: a machine that pauses may delay a sweep once.
      await eventually('sweeps without a warning', async () => {
        lines.length = 0
        const before = worker.swept()
        await eventually('two sweeps', () => worker.swept() > before + 1)
        return lines.length === 0
      })
      const evict = async () => {
        const found = await redis.client.keys(`${worker.prefix}${keys}`)
        return found.length > 0 && (await redis.client.del(...found)) > 0
      }
      await eventually('an eviction', evict)
      const before = worker.swept()
      await eventually('a sweep after the eviction', () => worker.swept() > before + 1, 20_000)
      expect(lines.join('')).toContain('must not be to evict keys')
    } finally {
      await worker.close()
    }
  },
)

/** Schedules the next sweep as a worker whose clock was an hour ahead did. */
const scheduleAnHourAhead = async (prefix: string): Promise<void> => {
  const queue = new Queue('sweep', { connection: redis.client, prefix })
  const key = JSON.stringify(chain).replaceAll(':', '=')
  await queue.removeJobScheduler(key)
  const next = { every: SWEEP_EVERY_MS, startDate: Date.now() + 3_600_000 }
  await queue.upsertJobScheduler(key, next, { name: 'sweep', data: chain })
  await queue.close()
}

test('a repeated job continues after a clock that was ahead is set back', { timeout: 60_000 }, async () => {
  const lines: string[] = []
  const worker = await startWorker({ lines, checkEveryMs: 500 })
  try {
    await eventually('a sweep', () => worker.swept() > 0)
    await scheduleAnHourAhead(worker.prefix)
    const before = worker.swept()
    await eventually('two sweeps at the right time', () => worker.swept() > before + 2, 20_000)
    expect(lines.join('')).toContain('a clock that was ahead')
  } finally {
    await worker.close()
  }
})

test('a worker that starts repeats a job that a clock which was ahead has scheduled', { timeout: 60_000 }, async () => {
  const prefix = nextPrefix()
  await scheduleAnHourAhead(prefix)
  const worker = await startWorker({ prefix })
  try {
    await eventually('two sweeps', () => worker.swept() > 1, 20_000)
  } finally {
    await worker.close()
  }
})

test('a Redis that refuses every connection is asked ever more rarely', async () => {
  const lines: string[] = []
  let opened = 0
  const server = createServer((socket) => {
    opened += 1
    socket.on('error', () => {})
    socket.end('-DENIED Redis is running in protected mode because no password is set. Set one.\r\n')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const worker = await startWorker({ lines, redisUrl: `redis://127.0.0.1:${port}` })
  try {
    await eventually('the text of Redis is logged', () => lines.join('').includes('protected mode'))
    const refusal = 'DENIED Redis is running in protected mode because no password is set'
    await eventually('the text of Redis is the fault', () => worker.fault() === refusal)
    const before = opened
    await sleep(5_000)
    // Each queue has two connections, and all have one more. Each is opened after 0.2, 0.4, 0.8, 1.6 and every 3 s.
    expect(opened - before).toBeLessThanOrEqual(4 * (2 * Object.keys(idle).length + 1))
    expect(lines.length).toBeLessThanOrEqual(4)
    // Faults that follow from the refusal do not hide it, nor does an address appear.
    expect(worker.fault()).toBe(refusal)
  } finally {
    await worker.close()
    server.close()
  }
})

test('jobs continue at the new primary when the old one keeps its connections', { timeout: 60_000 }, async () => {
  const [old, next] = await Promise.all([startRefusingRedis(), startRefusingRedis()])
  const name = await startLine(old.url)
  const worker = await startWorker({ redisUrl: name.url })
  try {
    await eventually('an observation', () => worker.started() > 0)
    await old.refuse('READONLY')
    name.leadTo(next.url)
    const before = worker.started()
    await eventually('an observation by the new primary', () => worker.started() > before + 1, 20_000)
  } finally {
    await worker.close()
    await name.close()
    await Promise.all([old.close(), next.close()])
  }
})

test.each<Refusal>(byForm(['OOM'], refusalNames))(
  'a Redis that rejects writes (%s) is logged a few times, and once when it is back',
  { timeout: 60_000 },
  async (refusal) => {
    const lines: string[] = []
    const worker = await startWorker({ lines })
    try {
      await eventually('an observation is active', () => worker.active() > 0)
      await redis.refuse(refusal)
      await eventually('the outage is logged', () => lines.length > 0)
      await sleep(byForm(500, 5_000))
      const during = lines.splice(0)
      await redis.accept(refusal)
      expect(during.length).toBeGreaterThan(0)
      expect(during.length).toBeLessThanOrEqual(4)
      expect(during.join('')).toMatch(/READONLY|UNBLOCKED|OOM/)
      await eventually('the recovery is logged', () => lines.some((line) => line.includes('in reach again')), 15_000)
    } finally {
      await redis.accept(refusal)
      await worker.close()
    }
  },
)
