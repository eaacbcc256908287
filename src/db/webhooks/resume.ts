import { and, eq, gt, inArray, sql } from 'drizzle-orm'
import type { Database } from '../pool.ts'
import { deliveries } from '../schema/webhooks.ts'
import { CLAIM_MS, replayDeliveries, waitingOf } from './deliveries.ts'
import { changeEndpoint } from './endpoints.ts'

/**
 * Makes an endpoint active and its waiting messages due at a time. Dead messages wait again with all their attempts,
 * unless `leavesDead`: they are sent before newer messages of the same entity. Returns how many messages wait, and how many
 * of them were dead; undefined when there is no such endpoint.
 */
export const resumeEndpoint = (
  database: Database,
  id: string,
  leavesDead: boolean,
  now: Date,
): Promise<{ readonly waiting: number; readonly revived: number } | undefined> =>
  database.transaction(async (handle) => {
    // Locks the endpoint: a failure that is recorded at the same time is either visible below or pauses it again.
    const active = { state: 'active', failingSince: null, retryAt: null, failure: null } as const
    if (!(await changeEndpoint(handle, id, active))) return undefined
    // The attempt of a claim may be under way, for the time of a claim at most: the clock may have been ahead.
    const [at, claim] = [sql`${now.toISOString()}::timestamptz`, sql`${CLAIM_MS} * interval '1 ms'`]
    const due = sql`least(greatest(${at}, ${deliveries.sentAt} + ${claim}), ${at} + ${claim})`
    const ofEndpoint = eq(deliveries.endpoint, id)
    const late = handle
      .select({ id: deliveries.id })
      .from(deliveries)
      .where(and(ofEndpoint, eq(deliveries.state, 'waiting'), gt(deliveries.nextAt, due)))
      // A locked message is being claimed.
      .for('update', { skipLocked: true })
    await handle
      .update(deliveries)
      .set({ nextAt: due })
      .where(and(ofEndpoint, inArray(deliveries.id, late)))
    const revived = leavesDead ? 0 : await replayDeliveries(handle, id, 'dead', now)
    return { waiting: await waitingOf(handle, id), revived }
  })
