import { once } from 'node:events'
import { type ConnectionOptions, Queue, Worker } from 'bullmq'
import { Redis, type RedisOptions } from 'ioredis'
import { errorText, unavailable } from '../lib/errors.ts'
import { sleep } from '../lib/lifecycle.ts'
import type { Logger } from '../lib/log.ts'
import { createOutageLog } from '../lib/outage-log.ts'
import { createReconnectOnError } from '../lib/redis.ts'
import { createSingleFlight } from '../lib/single-flight.ts'
import type { Driver } from './driver.ts'
import { type JobName, queues } from './queues.ts'

export type BullOptions = {
  readonly redisUrl: string
  /** What this system's keys start with, so that several can share a Redis. */
  readonly prefix: string
  readonly log: Logger
}

/** How long a Redis out of reach may hold up whoever adds a job, or the end of the process. */
const PATIENCE_MS = 2_000

/** How long after a fault, and how often from then on, the repeats are asked for again, in milliseconds. */
const ASK_AGAIN_MS = 1_000

const jobNames = Object.keys(queues) as JobName[]

/** Jobs in a Redis that several processes share (BullMQ). */
export const createBullDriver = (options: BullOptions): Driver => {
  const { log, prefix } = options
  const stop = new AbortController()
  const outages = createOutageLog({
    log,
    down: 'the job queue is out of reach',
    up: 'the job queue is in reach again',
  })
  const repeats = new Map<string, () => Promise<void>>()
  let isAsking = false

  /** Asks for the repeats until Redis takes them all: after a fault it may have lost them, and not every fault ends a connection. */
  const askAgain = async (): Promise<void> => {
    if (isAsking) return
    isAsking = true
    for (let isMissing = true; isMissing; ) {
      await sleep(ASK_AGAIN_MS, stop.signal)
      if (stop.signal.aborted) return
      const asked = await Promise.allSettled([...repeats.values()].map((ask) => ask()))
      isMissing = asked.some(({ status }) => status === 'rejected')
    }
    isAsking = false
  }

  const onFault = (fault: unknown): void => {
    if (stop.signal.aborted) return
    outages.failed(fault)
    void askAgain()
  }

  const connections: Redis[] = []
  const connect = (more: RedisOptions = {}): Redis => {
    // BullMQ asks for connections that try for ever.
    const reconnectOnError = createReconnectOnError()
    const redis = new Redis(options.redisUrl, { maxRetriesPerRequest: null, reconnectOnError, ...more })
    redis.on('error', onFault)
    connections.push(redis)
    return redis
  }
  // What is added while Redis is gone fails, or it would pile up here.
  const adding = connect({ enableOfflineQueue: false })
  const ready = createSingleFlight<unknown>()
  // A Redis that comes back may have forgotten everything.
  adding.on('ready', () => void askAgain())
  const workers: Worker[] = []
  const running = new Set<Promise<void>>()

  const track = async (job: Promise<void>): Promise<void> => {
    running.add(job)
    try {
      await job
    } finally {
      running.delete(job)
    }
  }

  const on = (redis: Redis): { connection: ConnectionOptions; prefix: string } => ({ connection: redis, prefix })

  const open = new Map(
    jobNames.map((name) => {
      const { attempts, backoffMs } = queues[name]
      const queue = new Queue(name, {
        ...on(adding),
        defaultJobOptions: {
          attempts,
          backoff: { type: 'exponential', delay: backoffMs, jitter: 0.5 },
          removeOnComplete: true,
          removeOnFail: true,
        },
      })
      queue.on('error', onFault)
      return [name, queue] as const
    }),
  )

  const reach = async <T>(name: JobName, ask: (queue: Queue) => Promise<T>): Promise<T> => {
    const queue = open.get(name)
    if (queue === undefined || stop.signal.aborted) throw unavailable('the job queue is closed')
    try {
      if (adding.status !== 'ready') await inTime(ready('ready', () => once(adding, 'ready')))
      return await inTime(ask(queue))
    } catch (error) {
      onFault(error)
      throw unavailable('the job queue is out of reach', error)
    }
  }

  return {
    async add(name, key, payload) {
      await reach(name, (queue) => queue.add(name, payload, { deduplication: { id: key, keepLastIfActive: true } }))
      outages.worked()
    },
    async repeat(name, key, payload, everyMs) {
      const ask = async (): Promise<void> => {
        await reach(name, async (queue) => {
          await queue.upsertJobScheduler(key, { every: everyMs }, { name, data: payload })
          // A job whose result Redis refused stays active until its lock ends, and would keep its like from being added.
          await queue.removeDeduplicationKey(key)
        })
        outages.worked()
      }
      repeats.set(`${name} ${key}`, ask)
      // Asked again by `onFault`.
      await ask().catch(() => {})
    },
    async work(run) {
      for (const name of jobNames) {
        const { concurrency, lockMs } = queues[name]
        const worker = new Worker(name, ({ data }) => track(run(name, data, stop.signal)), {
          ...on(connect()),
          concurrency,
          lockDuration: lockMs,
          stalledInterval: lockMs / 4,
          runRetryDelay: ASK_AGAIN_MS,
        })
        worker.on('error', onFault)
        worker.on('completed', () => outages.worked())
        worker.on('failed', (job, error) => {
          // Given up because this process ends: it is tried again by another.
          if (stop.signal.aborted) return
          const fields = { job: name, attempt: job?.attemptsMade, fault: errorText(error) }
          if (job === undefined || job.attemptsMade >= queues[name].attempts) log.error(fields, 'job dropped')
          else log.warn(fields, 'job failed')
        })
        workers.push(worker)
      }
    },
    waiting: (name) =>
      reach(name, async (queue) => {
        const [jobs, [first]] = [await queue.getWaitingCount(), await queue.getWaiting(0, 0)]
        // A scheduled job is made an interval ahead.
        const dueAt = first === undefined ? Date.now() : first.timestamp + (first.opts.delay ?? 0)
        return { jobs, oldestSeconds: Math.max(0, Date.now() - dueAt) / 1_000 }
      }),
    async close() {
      stop.abort()
      await Promise.allSettled(running)
      const closed = [...workers, ...open.values()].map((each) => each.close())
      // Without its Redis nothing closes in order; the connections end either way.
      await inTime(Promise.all(closed)).catch(() => {})
      for (const redis of connections) redis.disconnect()
    },
  }
}

/** What `work` comes to; throws when that takes too long, and the work then goes on unheard. */
const inTime = async <T>(work: Promise<T>): Promise<T> => {
  const late = new AbortController()
  const timeout = sleep(PATIENCE_MS, late.signal).then(() => {
    throw new Error(`no answer within ${PATIENCE_MS} ms`)
  })
  timeout.catch(() => {})
  work.catch(() => {})
  try {
    return await Promise.race([work, timeout])
  } finally {
    late.abort()
  }
}
