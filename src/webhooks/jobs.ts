import type { Database } from '../db/pool.ts'
import { pruneDeliveries } from '../db/webhooks/deliveries.ts'
import { dueEndpoints } from '../db/webhooks/endpoints.ts'
import { type Delivering, deliver } from './deliver.ts'

const DAY_MS = 24 * 60 * 60 * 1_000

/** How long an ended delivery is kept, for `webhooks deliveries`, `resume` and `replay`. */
const KEPT_MS = { delivered: 3 * DAY_MS, dead: 30 * DAY_MS }

/** Deliveries that one run deletes at most. */
const MOST_PRUNED = 5_000

/**
 * The jobs of webhooks. Without keys they do nothing: another worker may have them.
 *
 * @example const { dispatch, deliver } = createWebhookJobs(database, to, (endpoint) => jobs.add('deliver', { endpoint }))
 */
export const createWebhookJobs = (
  database: Database,
  to: Delivering | null,
  request: (endpoint: string) => Promise<void>,
  mostPruned = MOST_PRUNED,
) => ({
  /** Requests deliveries to the endpoints that something is due for, and deletes old deliveries. */
  async dispatch(): Promise<void> {
    if (to === null) return
    const now = to.now()
    for (const endpoint of await database.run((handle) => dueEndpoints(handle, new Date(now)))) await request(endpoint)
    const before = { delivered: new Date(now - KEPT_MS.delivered), dead: new Date(now - KEPT_MS.dead) }
    await database.run((handle) => pruneDeliveries(handle, before, mostPruned))
  },
  async deliver({ endpoint }: { readonly endpoint: string }, signal: AbortSignal): Promise<void> {
    if (to !== null) await deliver(to, endpoint, signal)
  },
})
