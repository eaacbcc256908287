import { z } from 'zod'
import { chainIds } from '../protocol/chains.ts'

/** A kind of job. Its payload crosses processes, so it is checked where it arrives as well. */
type Queue = {
  /** Plain JSON both ways. Jobs of equal payload are one job. */
  readonly payload: z.ZodType
  /** How often a job is tried in all before it is dropped. */
  readonly attempts: number
  /** The wait before the first retry, in milliseconds; it doubles. */
  readonly backoffMs: number
  /** Jobs of this kind that one process runs side by side. */
  readonly concurrency: number
  /**
   * A job whose worker is silent for this long, in milliseconds, is run again. When Redis refuses a job's result, the job stays locked for as
   * long and keeps its like from being run; but a job that blocks its process for longer is run twice at once.
   */
  readonly lockMs: number
}

const OfChain = z.strictObject({ chainId: z.literal(chainIds) })

/** Every job there is. Each one is idempotent and follows from the database, so a lost one costs nothing but time. */
export const queues = {
  /** Notes what can still change on a chain, so that it is observed again. */
  sweep: { payload: OfChain, attempts: 4, backoffMs: 250, concurrency: chainIds.length, lockMs: 4_000 },
  /** Observes what is noted of a chain. What fails is done by the next run, which is asked for every second: no retry may hold that up. */
  observe: { payload: OfChain, attempts: 1, backoffMs: 250, concurrency: chainIds.length, lockMs: 4_000 },
  /** Compares the next slice of a chain's index with the chain. What fails is done by the next run. */
  audit: { payload: OfChain, attempts: 1, backoffMs: 250, concurrency: chainIds.length, lockMs: 30_000 },
  /** Renders the rows of a chain that have no text, or one of an earlier format. What fails is done by the next run. */
  render: { payload: OfChain, attempts: 1, backoffMs: 250, concurrency: chainIds.length, lockMs: 30_000 },
  /** Calibrates the market and stores what it comes to. */
  calibrate: { payload: z.strictObject({}), attempts: 4, backoffMs: 1_000, concurrency: 1, lockMs: 30_000 },
} as const satisfies Record<string, Queue>

export type JobName = keyof typeof queues

export type Payload<N extends JobName> = z.output<(typeof queues)[N]['payload']>
