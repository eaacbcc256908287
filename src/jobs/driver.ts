import type { JobName } from './queues.ts'

/** Runs one job; what it throws is one failed attempt. `signal` aborts when the driver closes. */
export type Run = (name: JobName, payload: unknown, signal: AbortSignal) => Promise<void>

/** Jobs that wait to be run; seconds since the first of them was added, 0 when there is none. */
export type Waiting = { readonly jobs: number; readonly oldestSeconds: number }

/**
 * Where jobs wait and who runs them. Of jobs with one key at most one runs and one waits: a job that is added while its like runs
 * is run after it, since what it is about may have changed meanwhile.
 */
export type Driver = {
  add(name: JobName, key: string, payload: unknown): Promise<void>
  /**
   * Adds the job now and every `everyMs`, once however many processes ask for it. What has lost it, or was out of reach, gets it when it is
   * back.
   */
  repeat(name: JobName, key: string, payload: unknown, everyMs: number): Promise<void>
  /** Starts to run jobs here, also those added before. */
  work(run: Run): Promise<void>
  /** How many jobs wait, and for how long the first of them has; of all processes where they share a queue. Throws when it is out of reach. */
  waiting(name: JobName): Promise<Waiting>
  /** Takes no more jobs, aborts those that run here and waits for them. */
  close(): Promise<void>
}
