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

/**
 * The jobs of a worker: observations are requested after each block and, unless that is left out, repeated every 5 s.
 */
const startWorker = async ({ lines = [] as string[], redisUrl = redis.url, isRepeated = true } = {}) => {
  const log = pino({ level: 'info' }, { write: (line: string) => lines.push(line) })
  const jobs: Jobs = createJobs({ redisUrl, prefix: `outage-${process.pid}-${systems++}`, log })
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
  await jobs.repeat('sweep', chain, 2_000)
  const asking = setInterval(() => jobs.ask('observe', chain), 200)
  return {
    started: () => started,
    active: () => active,
    swept: () => swept,
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
      await redis.refuse('READONLY')
      await sleep(byForm(500, 1_000 + ((run * 617) % 5_000)))
      await redis.accept('READONLY')
      const [healedAt, before] = [performance.now(), worker.started()]
      await eventually('an observation after the fail-over', () => worker.started() > before + 1, 90_000)
      const took = performance.now() - healedAt
      console.log(`fail-over ${run}: observations resumed after ${Math.round(took)} ms`)
      expect(took).toBeLessThan(RESUMES_WITHIN_MS)
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
