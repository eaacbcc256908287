import { z } from 'zod'
import { MAX_CHAINS } from '../protocol/chains.ts'

/** A kind of job. Its payload crosses processes, so it is validated on arrival as well. */
type Queue = {
  /** Plain JSON in both directions. Jobs of equal payload are one job. */
  readonly payload: z.ZodType
  /** The number of attempts after which a job is dropped. */
  readonly attempts: number
  /** The pause before the first retry, in milliseconds; it doubles with each retry. */
  readonly backoffMs: number
  /** Jobs of this kind that one process runs concurrently. Equal jobs never do, so one per chain is enough. */
  readonly concurrency: number
  /**
   * A job whose worker does not renew its lock for this long, in milliseconds, is run again. When Redis rejects a job's
   * result, the job stays locked for this long and blocks equal jobs. A job that blocks the event loop for longer may
   * run twice at once.
   */
  readonly lockMs: number
}

const OfChain = z.strictObject({ chainId: z.int().positive() })

/** All jobs. Each one is idempotent and derives its work from the database, so a lost job only costs time. */
export const queues = {
  /** Requests a refresh of the entities of a chain that can still change. */
  sweep: { payload: OfChain, attempts: 4, backoffMs: 250, concurrency: MAX_CHAINS, lockMs: 4_000 },
  /**
   * Observes the refresh queue of a chain. It is requested every second, so a failed run needs no retry, which would
   * only delay the next one.
   */
  observe: { payload: OfChain, attempts: 1, backoffMs: 250, concurrency: MAX_CHAINS, lockMs: 4_000 },
  /** Compares the next slice of a chain's index with the chain. The next run repeats a failed one. */
  audit: { payload: OfChain, attempts: 1, backoffMs: 250, concurrency: MAX_CHAINS, lockMs: 30_000 },
  /** Reads the logs of blocks that the index was written without. The next run continues. */
  gaps: { payload: OfChain, attempts: 1, backoffMs: 250, concurrency: MAX_CHAINS, lockMs: 30_000 },
  /** Reports the settlements of a chain that became final. The next run repeats a failed one. */
  finalize: { payload: OfChain, attempts: 1, backoffMs: 250, concurrency: MAX_CHAINS, lockMs: 30_000 },
  /** Sums new rows of a chain's ledger by day. The next run continues. */
  sum: { payload: OfChain, attempts: 1, backoffMs: 250, concurrency: MAX_CHAINS, lockMs: 30_000 },
  /** Requests deliveries to the webhook endpoints that something is due for. The next run repeats a failed one. */
  dispatch: { payload: z.strictObject({}), attempts: 1, backoffMs: 250, concurrency: 1, lockMs: 30_000 },
  /** Delivers to a webhook endpoint. Endpoints that hang must not delay others: there are as many as can run at once. */
  deliver: {
    payload: z.strictObject({ endpoint: z.string().max(100) }),
    attempts: 1,
    backoffMs: 250,
    concurrency: 200,
    lockMs: 30_000,
  },
  /** Calibrates the market and stores the result. */
  calibrate: { payload: z.strictObject({}), attempts: 4, backoffMs: 1_000, concurrency: 1, lockMs: 30_000 },
} as const satisfies Record<string, Queue>

export type JobName = keyof typeof queues

/** How the jobs of each kind run. */
export type QueueSettings = Readonly<Record<JobName, Omit<Queue, 'payload'>>>

export type Payload<N extends JobName> = z.output<(typeof queues)[N]['payload']>
