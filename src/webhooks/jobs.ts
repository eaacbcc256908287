import type { Database } from '../db/pool.ts'
import { pruneDeliveries } from '../db/webhooks/deliveries.ts'
import { dueEndpoints } from '../db/webhooks/endpoints.ts'
import { type Delivering, deliver } from './deliver.ts'

/** How long an ended delivery is kept, for `webhooks deliveries` and `webhooks replay`. */
const KEPT_MS = 3 * 24 * 60 * 60 * 1_000

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
) => ({
  /** Requests deliveries to the endpoints that something is due for, and deletes old deliveries. */
  async dispatch(): Promise<void> {
    if (to === null) return
    const now = to.now()
    for (const endpoint of await database.run((handle) => dueEndpoints(handle, new Date(now)))) await request(endpoint)
    await database.run((handle) => pruneDeliveries(handle, new Date(now - KEPT_MS), MOST_PRUNED))
  },
  async deliver({ endpoint }: { readonly endpoint: string }, signal: AbortSignal): Promise<void> {
    if (to !== null) await deliver(to, endpoint, signal)
  },
})
