import type { JobName } from './queues.ts'

/** Runs one job; what it throws is one failed attempt. `signal` aborts when the driver closes. */
export type Run = (name: JobName, payload: unknown, signal: AbortSignal) => Promise<void>

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
  /** Takes no more jobs, aborts those that run here and waits for them. */
  close(): Promise<void>
}
