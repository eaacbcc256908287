import { setMaxListeners } from 'node:events'
import { backoffMs } from '../lib/backoff.ts'
import { errorText, unavailable } from '../lib/errors.ts'
import { sleep } from '../lib/lifecycle.ts'
import type { Logger } from '../lib/observe/log.ts'
import type { Driver, Run } from './driver.ts'
import { type JobName, type QueueSettings, queues } from './queues.ts'

type Job = { readonly key: string; readonly payload: unknown; readonly addedAt: number }

/** A queue in memory. The map keeps the order of arrival and one waiting job per key. */
type MemoryQueue = {
  readonly name: JobName
  readonly waiting: Map<string, Job>
  readonly running: Map<string, Promise<void>>
}

/** Creates a driver with jobs in this process: it needs no installation, and jobs do not survive the process. */
export const createLocalDriver = ({
  log,
  settings = queues,
}: {
  readonly log: Logger
  readonly settings?: QueueSettings | undefined
}): Driver => {
  const stop = new AbortController()
  // Every running job may listen to this signal.
  setMaxListeners(0, stop.signal)
  const timers = new Map<string, NodeJS.Timeout>()
  const open = new Map<JobName, MemoryQueue>()
  let run: Run | undefined

  const queueOf = (name: JobName): MemoryQueue => {
    const queue = open.get(name) ?? { name, waiting: new Map(), running: new Map() }
    open.set(name, queue)
    return queue
  }

  const attempt = async (name: JobName, { key, payload }: Job, runJob: Run): Promise<void> => {
    const { attempts, backoffMs: base } = settings[name]
    for (let number = 1; !stop.signal.aborted; number += 1) {
      try {
        return await runJob(name, payload, stop.signal)
      } catch (error) {
        const fields = { job: name, key, attempt: number, fault: errorText(error) }
        if (stop.signal.aborted) return
        if (number >= attempts) return log.error(fields, 'job dropped')
        log.warn(fields, 'job failed')
      }
      await sleep(backoffMs(number - 1, base, base * 2 ** attempts), stop.signal)
    }
  }

  const drain = (queue: MemoryQueue): void => {
    if (run === undefined) return
    for (const [key, job] of queue.waiting) {
      if (queue.running.size >= settings[queue.name].concurrency || stop.signal.aborted) return
      if (queue.running.has(key)) continue
      queue.waiting.delete(key)
      const done = attempt(queue.name, job, run).finally(() => {
        queue.running.delete(key)
        drain(queue)
      })
      queue.running.set(key, done)
    }
  }

  const add = (name: JobName, key: string, payload: unknown): void => {
    const queue = queueOf(name)
    if (!queue.waiting.has(key)) queue.waiting.set(key, { key, payload, addedAt: performance.now() })
    drain(queue)
  }

  return {
    async add(name, key, payload) {
      if (stop.signal.aborted) throw unavailable('the job queue is closed')
      add(name, key, payload)
    },
    async repeat(name, key, payload, everyMs) {
      if (stop.signal.aborted) return
      const id = `${name} ${key}`
      clearInterval(timers.get(id))
      timers.set(
        id,
        setInterval(() => add(name, key, payload), everyMs),
      )
      add(name, key, payload)
    },
    async work(runJob) {
      run = runJob
      for (const queue of open.values()) drain(queue)
    },
    async waiting(name) {
      const { waiting } = queueOf(name)
      const [first] = waiting.values()
      return {
        jobs: waiting.size,
        oldestSeconds: first === undefined ? 0 : (performance.now() - first.addedAt) / 1_000,
      }
    },
    fault: () => null,
    async close() {
      stop.abort()
      for (const timer of timers.values()) clearInterval(timer)
      await Promise.all([...open.values()].flatMap(({ running }) => [...running.values()]))
    },
  }
}
