import { errorText, isUnavailable } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { createBullDriver } from './bull.ts'
import type { Driver, Waiting } from './driver.ts'
import { createLocalDriver } from './local.ts'
import { type JobName, type Payload, queues } from './queues.ts'
import { jobReports } from './reports.ts'

/** What does a job, by its name. It may be run twice for one job and must come to the same end. */
type Handlers = {
  readonly [N in JobName]: (payload: Payload<N>, signal: AbortSignal) => Promise<void>
}

export type Jobs = {
  /**
   * Asks for a job. One that equals a waiting one is that one. Throws a ZodError for a payload of another shape and
   * `service_unavailable` when the queue is out of reach.
   */
  add<N extends JobName>(name: N, payload: Payload<N>): Promise<void>
  /** Asks as `add` does without waiting: while the queue is out of reach, which is logged, the job is not done. */
  ask<N extends JobName>(name: N, payload: Payload<N>): void
  /**
   * Asks for a job now and every `everyMs`; asking again, here or in another process, does not double it. A queue out of reach is asked when
   * it is back. Throws a ZodError for a payload of another shape.
   */
  repeat<N extends JobName>(name: N, payload: Payload<N>, everyMs: number): Promise<void>
  /** Starts to run jobs in this process. */
  work(handlers: Handlers): Promise<void>
  /** Jobs of a name that wait. Throws `service_unavailable` when the queue is out of reach. */
  waiting(name: JobName): Promise<Waiting>
  /** Aborts the jobs that run here, waits for them and takes no more. */
  close(): Promise<void>
}

const parsers: { readonly [N in JobName]: (payload: unknown) => Payload<N> } = {
  sweep: (payload) => queues.sweep.payload.parse(payload),
  observe: (payload) => queues.observe.payload.parse(payload),
  audit: (payload) => queues.audit.payload.parse(payload),
  render: (payload) => queues.render.payload.parse(payload),
  calibrate: (payload) => queues.calibrate.payload.parse(payload),
}

/**
 * Opens the job queue: on a Redis where `redisUrl` is given, else in this process.
 *
 * @example
 * const jobs = createJobs({ redisUrl: undefined, prefix: 'fx-protection', log })
 * await jobs.work(handlers)
 * await jobs.repeat('sweep', { chainId: 8453 }, 5_000)
 */
export const createJobs = (options: {
  readonly redisUrl: string | undefined
  /** What the keys on the Redis begin with: systems that share one must not share this. */
  readonly prefix: string
  readonly log: Logger
}): Jobs => {
  const { redisUrl, prefix, log } = options
  const driver: Driver =
    redisUrl === undefined ? createLocalDriver({ log }) : createBullDriver({ redisUrl, prefix, log })

  // BullMQ keeps colons for itself.
  const keyOf = (payload: unknown): string => JSON.stringify(payload).replaceAll(':', '=')

  const add = async <N extends JobName>(name: N, payload: Payload<N>): Promise<void> => {
    const checked = parsers[name](payload)
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
      const checked = parsers[name](payload)
      await driver.repeat(name, keyOf(checked), checked, everyMs)
    },
    work(handlers) {
      const run = <N extends JobName>(name: N, payload: unknown, signal: AbortSignal): Promise<void> =>
        jobReports.tell({ job: name }, () => handlers[name](parsers[name](payload), signal))
      return driver.work(run)
    },
    waiting: (name) => driver.waiting(name),
    close: () => driver.close(),
  }
}
