import { Histogram } from 'prom-client'
import { type Metrics, show } from '../lib/observe/metrics.ts'
import { jobRuns } from './channel.ts'
import type { Waiting } from './driver.ts'
import { type JobName, queues } from './queues.ts'
import type { Jobs } from './run.ts'

/**
 * Upper bounds of the buckets in seconds. A slice of the audit takes seconds, a calibration of the market up to
 * minutes.
 */
const DURATIONS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300]

const names = Object.keys(queues) as JobName[]

/** Measures the jobs that run in this process and those that wait. Returns a function that stops the measurement. */
export const measureJobs = (metrics: Metrics, jobs: Jobs): (() => void) => {
  const durations = new Histogram({
    name: 'fx_job_duration_seconds',
    help: 'Duration of attempts at jobs in this process',
    labelNames: ['queue', 'outcome'],
    buckets: DURATIONS,
    registers: [metrics],
  })
  const readAll = () =>
    Promise.all(names.map(async (job): Promise<[JobName, Waiting]> => [job, await jobs.waiting(job)]))
  show(metrics, readAll, [
    {
      name: 'fx_jobs_waiting',
      help: 'Waiting jobs; workers that share a Redis report the same value',
      labels: ['queue'],
      of: (all) => all.map(([queue, it]) => [{ queue }, it.jobs]),
    },
    {
      name: 'fx_jobs_oldest_seconds',
      help: 'Seconds since the oldest waiting job was added; 0 when none waits',
      labels: ['queue'],
      of: (all) => all.map(([queue, it]) => [{ queue }, it.oldestSeconds]),
    },
  ])
  return jobRuns.subscribe({
    onEnd({ job: queue, startedAt, error }) {
      const outcome = error === undefined ? 'done' : 'failed'
      durations.observe({ queue, outcome }, (performance.now() - startedAt) / 1_000)
    },
  })
}
