import { createChannel } from '../lib/observe/channel.ts'
import type { JobName } from './queues.ts'

/** Reports every attempt at a job in this process. */
export const jobRuns = createChannel<{ readonly job: JobName }, void>('fx-protection:job')
