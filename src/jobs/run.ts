import { errorText, isUnavailable } from '../lib/errors.ts'
import type { Logger } from '../lib/observe/log.ts'
import { createBullDriver } from './bull.ts'
import { jobRuns } from './channel.ts'
import type { Driver, Waiting } from './driver.ts'
import { createLocalDriver } from './local.ts'
import { type JobName, type Payload, type QueueSettings, queues } from './queues.ts'

/** The handlers of jobs by name. A handler may run twice for one job, so it must be idempotent. */
type Handlers = {
  readonly [N in JobName]: (payload: Payload<N>, signal: AbortSignal) => Promise<void>
}

export type Jobs = {
  /**
   * Adds a job, unless an equal one waits. Throws a ZodError for a payload of another shape and `service_unavailable`
   * when the queue is out of reach.
   */
  add<N extends JobName>(name: N, payload: Payload<N>): Promise<void>
  /** Adds a job without waiting for the queue. If the queue is out of reach, which is logged, the job is lost. */
  ask<N extends JobName>(name: N, payload: Payload<N>): void
  /**
   * Adds a job now and every `everyMs` milliseconds. Further calls, also in other processes, do not duplicate it. A
   * queue that is out of reach gets the schedule when it is back. Throws a ZodError for a payload of another shape.
   */
  repeat<N extends JobName>(name: N, payload: Payload<N>, everyMs: number): Promise<void>
  /** Starts to run jobs in this process. */
  work(handlers: Handlers): Promise<void>
  /** The waiting jobs of a name. Throws `service_unavailable` when the queue is out of reach. */
  waiting(name: JobName): Promise<Waiting>
  /** Why the queue fails, without addresses; null while it works. */
  fault(): string | null
  /** Accepts no more jobs, aborts those that run in this process and waits for them. */
  close(): Promise<void>
}

const parse = <N extends JobName>(name: N, payload: unknown) => queues[name].payload.parse(payload) as Payload<N>

/**
 * Opens the job queue: on Redis if `redisUrl` is given, else in this process.
 *
 * @example
 * const jobs = createJobs({ redisUrl: undefined, prefix: 'fx-protection', log })
 * await jobs.work(handlers)
 * await jobs.repeat('sweep', { chainId: 8453 }, 5_000)
 */
export const createJobs = (options: {
  readonly redisUrl: string | undefined
  /** The prefix of the keys in Redis. Systems that share a Redis must have different prefixes. */
  readonly prefix: string
  readonly log: Logger
  /** How jobs run; `queues` unless given. */
  readonly settings?: QueueSettings
  /** How often it is checked that Redis has the repeated jobs, in milliseconds. */
  readonly checkEveryMs?: number
}): Jobs => {
  const { redisUrl, prefix, log, settings, checkEveryMs } = options
  const driver: Driver =
    redisUrl === undefined
      ? createLocalDriver({ log, settings })
      : createBullDriver({ redisUrl, prefix, log, settings, checkEveryMs })

  // BullMQ reserves colons.
  const keyOf = (payload: unknown): string => JSON.stringify(payload).replaceAll(':', '=')

  const add = async <N extends JobName>(name: N, payload: Payload<N>): Promise<void> => {
    const checked = parse(name, payload)
    await driver.add(name, keyOf(checked), checked)
  }

  return {
    add,
    ask(name, payload) {
      add(name, payload).catch((fault: unknown) => {
        // The driver logs that the queue is out of reach.
        if (!isUnavailable(fault)) log.error({ job: name, fault: errorText(fault) }, 'job not added')
      })
    },
    async repeat(name, payload, everyMs) {
      const checked = parse(name, payload)
      await driver.repeat(name, keyOf(checked), checked, everyMs)
    },
    work(handlers) {
      const run = <N extends JobName>(name: N, payload: unknown, signal: AbortSignal): Promise<void> =>
        jobRuns.trace({ job: name }, () => handlers[name](parse(name, payload), signal))
      return driver.work(run)
    },
    waiting: (name) => driver.waiting(name),
    fault: () => driver.fault(),
    close: () => driver.close(),
  }
}
