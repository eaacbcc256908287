import { once, setMaxListeners } from 'node:events'
import { type ConnectionOptions, Queue, Worker } from 'bullmq'
import { Redis, type RedisOptions, ReplyError } from 'ioredis'
import { errorText, unavailable } from '../lib/errors.ts'
import { sleep } from '../lib/lifecycle.ts'
import type { Logger } from '../lib/observe/log.ts'
import { createOutageLog } from '../lib/observe/outage-log.ts'
import { createReconnectOnError } from '../lib/redis.ts'
import { createSingleFlight } from '../lib/single-flight.ts'
import { withTimeout } from '../lib/with-timeout.ts'
import type { Driver } from './driver.ts'
import { type JobName, type QueueSettings, queues } from './queues.ts'

export type BullOptions = {
  readonly redisUrl: string
  /** The prefix of this system's keys, so that several systems can share a Redis. */
  readonly prefix: string
  readonly log: Logger
  readonly settings?: QueueSettings | undefined
  /** How often it is checked that the repeated jobs are scheduled, in milliseconds; a minute unless given. */
  readonly checkEveryMs?: number | undefined
}

/** How long a Redis that is out of reach may delay the caller that adds a job, or the end of the process. */
const TIMEOUT_MS = 2_000

/**
 * The pause after a fault, and between attempts from then on, until the repeated jobs are scheduled again, in
 * milliseconds.
 */
const RETRY_EVERY_MS = 1_000

const CHECK_EVERY_MS = 60_000

/** The longest pause before a connection is opened again, in milliseconds. */
const MAX_RECONNECT_MS = 3_000

/** Characters of an answer of Redis that are shown. */
const MAX_REASON = 200

/** The pause before the nth attempt: a Redis that closes each connection, as in protected mode, is not asked all the time. */
const reconnectMs = (attempt: number): number => Math.min(MAX_RECONNECT_MS, 100 * 2 ** attempt)

/** What Redis answered, or the code of a connection that failed; null for another fault. */
const reasonOf = (fault: unknown): string | null => {
  if (fault instanceof ReplyError) return errorText(fault).split('. ')[0]?.slice(0, MAX_REASON) ?? null
  return fault instanceof Error && 'code' in fault ? String(fault.code) : null
}

const jobNames = Object.keys(queues) as JobName[]

/** A repeated job: puts it into Redis, and why it has to be put there again; null when it is scheduled. */
type Repeat = { readonly schedule: () => Promise<void>; readonly problem: () => Promise<string | null> }

/** Creates a driver with jobs in a Redis that several processes share (BullMQ). */
export const createBullDriver = (options: BullOptions): Driver => {
  const { log, prefix, settings = queues, checkEveryMs = CHECK_EVERY_MS } = options
  const stop = new AbortController()
  // Every running job may listen to this signal.
  setMaxListeners(0, stop.signal)
  const outages = createOutageLog({
    log,
    down: 'the job queue is out of reach',
    up: 'the job queue is in reach again',
  })
  const repeats = new Map<string, Repeat>()
  let isRescheduling = false

  /**
   * Schedules the repeated jobs until Redis accepts all of them. Redis may have lost them in a fault, and not every
   * fault ends a connection.
   */
  const reschedule = async (): Promise<void> => {
    if (isRescheduling) return
    isRescheduling = true
    for (let isMissing = true; isMissing; ) {
      await sleep(RETRY_EVERY_MS, stop.signal)
      if (stop.signal.aborted) return
      const results = await Promise.allSettled([...repeats.values()].map(({ schedule }) => schedule()))
      isMissing = results.some(({ status }) => status === 'rejected')
    }
    isRescheduling = false
  }

  let reason: string | null = null
  const onFault = (fault: unknown): void => {
    if (stop.signal.aborted) return
    // The refusal of a connection is followed by other faults, which it causes.
    const kept = outages.isDown() && !(fault instanceof ReplyError) ? reason : null
    reason = kept ?? reasonOf(fault)
    outages.failed(fault)
    void reschedule()
  }

  const connections: Redis[] = []
  const connect = (more: RedisOptions = {}): Redis => {
    // BullMQ requires connections that retry without a limit.
    const reconnectOnError = createReconnectOnError()
    const redis = new Redis(options.redisUrl, {
      maxRetriesPerRequest: null,
      retryStrategy: reconnectMs,
      // Its answer would take the place of the reason for which Redis refuses a connection.
      disableClientInfo: true,
      reconnectOnError,
      ...more,
    })
    redis.on('error', onFault)
    connections.push(redis)
    return redis
  }
  // Adding a job while Redis is out of reach fails. An offline queue would grow without a bound.
  const adding = connect({ enableOfflineQueue: false })
  const ready = createSingleFlight<unknown>()
  // A Redis that restarted may have lost everything.
  adding.on('ready', () => void reschedule())
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
      const { attempts, backoffMs } = settings[name]
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

  /** Schedules again what Redis no longer has, because one that evicts keys reports no fault, or has much too late. */
  const check = async (): Promise<void> => {
    for (const { problem, schedule } of repeats.values()) {
      const found = await problem()
      if (found === null) continue
      log.warn(found)
      await schedule()
    }
  }
  // `onFault` handles a Redis that is out of reach.
  const checking = setInterval(() => void check().catch(() => {}), checkEveryMs)

  return {
    async add(name, key, payload) {
      await reach(name, (queue) => queue.add(name, payload, { deduplication: { id: key, keepLastIfActive: true } }))
      outages.worked()
    },
    async repeat(name, key, payload, everyMs) {
      const nextOf = async (queue: Queue): Promise<number> => (await queue.getJobScheduler(key))?.next ?? 0
      /** True for a next job that a clock which was ahead has scheduled. The clocks of workers may differ a little. */
      const isTooLate = (next: number): boolean => next > Date.now() + everyMs + checkEveryMs
      const schedule = async (): Promise<void> => {
        await reach(name, async (queue) => {
          // BullMQ would keep the time of the next job.
          if (isTooLate(await nextOf(queue))) await queue.removeJobScheduler(key)
          await queue.upsertJobScheduler(key, { every: everyMs }, { name, data: payload })
          // A job whose result Redis rejected stays active until its lock ends, and its key would block equal jobs.
          await queue.removeDeduplicationKey(key)
        })
        outages.worked()
      }
      const problem = async (): Promise<string | null> => {
        const next = await reach(name, nextOf)
        if (isTooLate(next))
          return 'the next run of a job was far in the future, as after a clock that was ahead: check NTP'
        // A scheduler whose next job was evicted is never due again.
        const isThere = next + everyMs + checkEveryMs > Date.now()
        return isThere ? null : 'Redis has lost the schedule of a job: its policy must not be to evict keys'
      }
      repeats.set(`${name} ${key}`, { schedule, problem })
      // `onFault` schedules it again after a failure.
      await schedule().catch(() => {})
    },
    async work(run) {
      for (const name of jobNames) {
        const { concurrency, lockMs } = settings[name]
        const worker = new Worker(name, ({ data }) => track(run(name, data, stop.signal)), {
          ...on(connect()),
          concurrency,
          lockDuration: lockMs,
          stalledInterval: lockMs / 4,
          runRetryDelay: RETRY_EVERY_MS,
        })
        worker.on('error', onFault)
        worker.on('completed', () => outages.worked())
        worker.on('failed', (job, error) => {
          // The job was aborted because this process ends. Another process retries it.
          if (stop.signal.aborted) return
          const fields = { job: name, attempt: job?.attemptsMade, fault: errorText(error) }
          if (job === undefined || job.attemptsMade >= settings[name].attempts) log.error(fields, 'job dropped')
          else log.warn(fields, 'job failed')
        })
        workers.push(worker)
      }
    },
    waiting: (name) =>
      reach(name, async (queue) => {
        const [jobs, [first]] = [await queue.getWaitingCount(), await queue.getWaiting(0, 0)]
        // The timestamp of a scheduled job is one interval before it is due.
        const dueAt = first === undefined ? Date.now() : first.timestamp + (first.opts.delay ?? 0)
        return { jobs, oldestSeconds: Math.max(0, Date.now() - dueAt) / 1_000 }
      }),
    fault: () => (outages.isDown() ? (reason ?? 'no answer') : null),
    async close() {
      // Closed before the abort, so that the end of a job does not let its worker take the next one.
      const idle = Promise.all(workers.map((worker) => worker.close()))
      idle.catch(() => {})
      stop.abort()
      clearInterval(checking)
      await Promise.allSettled(running)
      const closed = [...open.values()].map((queue) => queue.close())
      // Without Redis nothing closes in order. The connections are ended in any case.
      await inTime(Promise.all([idle, ...closed])).catch(() => {})
      for (const redis of connections) redis.disconnect()
    },
  }
}

/** Awaits `work`. Throws when it takes too long; the work then continues unobserved. */
const inTime = <T>(work: Promise<T>): Promise<T> =>
  withTimeout(() => work, { ms: TIMEOUT_MS, late: () => new Error(`no answer within ${TIMEOUT_MS} ms`) })
