import { Histogram } from 'prom-client'
import { type Metrics, show } from '../lib/metrics.ts'
import type { Waiting } from './driver.ts'
import { type JobName, queues } from './queues.ts'
import { jobReports } from './reports.ts'
import type { Jobs } from './run.ts'

/** Upper bounds in seconds: a slice of the audit takes some seconds, a calibration of the market up to minutes. */
const DURATIONS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300]

const names = Object.keys(queues) as JobName[]

/** Measures the jobs that run in this process, and those that wait. What comes back ends it. */
export const measureJobs = (metrics: Metrics, jobs: Jobs): (() => void) => {
  const durations = new Histogram({
    name: 'fx_job_duration_seconds',
    help: 'Attempts at jobs in this process',
    labelNames: ['queue', 'outcome'],
    buckets: DURATIONS,
    registers: [metrics],
  })
  const look = () => Promise.all(names.map(async (job): Promise<[JobName, Waiting]> => [job, await jobs.waiting(job)]))
  show(metrics, look, [
    {
      name: 'fx_jobs_waiting',
      help: 'Jobs that wait to be run; workers that share a Redis tell the same',
      labels: ['queue'],
      of: (all) => all.map(([queue, it]) => [{ queue }, it.jobs]),
    },
    {
      name: 'fx_jobs_oldest_seconds',
      help: 'How long the first of them has waited; 0 when none waits',
      labels: ['queue'],
      of: (all) => all.map(([queue, it]) => [{ queue }, it.oldestSeconds]),
    },
  ])
  return jobReports.listen({
    over({ job: queue, startedAt, error }) {
      const outcome = error === undefined ? 'done' : 'failed'
      durations.observe({ queue, outcome }, (performance.now() - startedAt) / 1_000)
    },
  })
}
