import type { JobName } from './queues.ts'

/** Runs one job. An error is one failed attempt. `signal` aborts when the driver closes. */
export type Run = (name: JobName, payload: unknown, signal: AbortSignal) => Promise<void>

/** The number of waiting jobs, and the seconds since the first of them was added (0 when there is none). */
export type Waiting = { readonly jobs: number; readonly oldestSeconds: number }

/**
 * A queue of jobs and their execution. Of the jobs with one key, at most one runs and one waits. A job that is added
 * while an equal one runs is run after it, because its inputs may have changed in the meantime.
 */
export type Driver = {
  add(name: JobName, key: string, payload: unknown): Promise<void>
  /**
   * Adds the job now and every `everyMs` milliseconds, once for all processes that call this. A queue that is out of
   * reach, or that lost the schedule, gets it when it is back.
   */
  repeat(name: JobName, key: string, payload: unknown, everyMs: number): Promise<void>
  /** Starts to run jobs in this process, including those added before. */
  work(run: Run): Promise<void>
  /**
   * The waiting jobs of the queue, including those of other processes that share it. Throws when the queue is out of
   * reach.
   */
  waiting(name: JobName): Promise<Waiting>
  /** Why the queue fails, without addresses; null while it works. */
  fault(): string | null
  /** Accepts no more jobs, aborts those that run in this process and waits for them. */
  close(): Promise<void>
}
