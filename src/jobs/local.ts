import { backoffMs } from '../lib/backoff.ts'
import { errorText, unavailable } from '../lib/errors.ts'
import { sleep } from '../lib/lifecycle.ts'
import type { Logger } from '../lib/log.ts'
import type { Driver, Run } from './driver.ts'
import { type JobName, queues } from './queues.ts'

type Job = { readonly key: string; readonly payload: unknown; readonly addedAt: number }

/** One queue in memory; the map keeps the order of arrival and one waiting job a key. */
type Lane = { readonly name: JobName; readonly waiting: Map<string, Job>; readonly running: Map<string, Promise<void>> }

/** Jobs in this process: nothing to install, nothing survives it. */
export const createLocalDriver = ({ log }: { readonly log: Logger }): Driver => {
  const stop = new AbortController()
  const timers = new Map<string, NodeJS.Timeout>()
  const lanes = new Map<JobName, Lane>()
  let run: Run | undefined

  const laneOf = (name: JobName): Lane => {
    const lane = lanes.get(name) ?? { name, waiting: new Map(), running: new Map() }
    lanes.set(name, lane)
    return lane
  }

  const attempt = async (name: JobName, { key, payload }: Job, runJob: Run): Promise<void> => {
    const { attempts, backoffMs: base } = queues[name]
    for (let tried = 1; !stop.signal.aborted; tried += 1) {
      try {
        return await runJob(name, payload, stop.signal)
      } catch (error) {
        const fields = { job: name, key, attempt: tried, fault: errorText(error) }
        if (stop.signal.aborted) return
        if (tried >= attempts) return log.error(fields, 'job dropped')
        log.warn(fields, 'job failed')
      }
      await sleep(backoffMs(tried - 1, base, base * 2 ** attempts), stop.signal)
    }
  }

  const drain = (lane: Lane): void => {
    if (run === undefined) return
    for (const [key, job] of lane.waiting) {
      if (lane.running.size >= queues[lane.name].concurrency || stop.signal.aborted) return
      if (lane.running.has(key)) continue
      lane.waiting.delete(key)
      const done = attempt(lane.name, job, run).finally(() => {
        lane.running.delete(key)
        drain(lane)
      })
      lane.running.set(key, done)
    }
  }

  const add = (name: JobName, key: string, payload: unknown): void => {
    const lane = laneOf(name)
    if (!lane.waiting.has(key)) lane.waiting.set(key, { key, payload, addedAt: performance.now() })
    drain(lane)
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
      for (const lane of lanes.values()) drain(lane)
    },
    async waiting(name) {
      const { waiting } = laneOf(name)
      const [first] = waiting.values()
      return {
        jobs: waiting.size,
        oldestSeconds: first === undefined ? 0 : (performance.now() - first.addedAt) / 1_000,
      }
    },
    async close() {
      stop.abort()
      for (const timer of timers.values()) clearInterval(timer)
      await Promise.all([...lanes.values()].flatMap(({ running }) => [...running.values()]))
    },
  }
}
