import { createReports } from '../lib/reports.ts'
import type { JobName } from './queues.ts'

/** Told of every attempt at a job in this process. */
export const jobReports = createReports<{ readonly job: JobName }, void>('fx-protection:job')
