import { and, eq, inArray, ne, sql } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import type { Database, Handle } from '../pool.ts'
import { deliveries, webhookEndpoints } from '../schema/webhooks.ts'
import type { Endpoint } from './endpoints.ts'

/**
 * The longest wait for the row of an endpoint, in milliseconds, which an operator's command may hold: shorter than the
 * orderly stop of a worker takes.
 */
const LOCK_WITHIN_MS = 3_000

/** A failed attempt. */
type Failure = {
  /** What failed, for operators. */
  readonly failure: string
  /** When to send the message again; null after its last attempt. */
  readonly nextAt: Date | null
  /** When to send other messages again. */
  readonly retryAt: Date
  /** The endpoint's state after it. */
  readonly state: Endpoint['state']
}

/** The result of an attempt to send a message at a time. */
export type Attempt = {
  readonly id: string
  readonly at: Date
  /** Null when the message was delivered. */
  readonly failed: Failure | null
  /** Whether it is kept for a replay when it was delivered. */
  readonly keeps: boolean
}

const keyed = ({ id }: Pick<Endpoint, 'id'>, ids: readonly string[]) =>
  and(eq(deliveries.endpoint, id), inArray(deliveries.id, [...ids]))

/** The endpoint has recovered unless another message failed since these were sent. */
const recordDelivered = async (handle: Handle, endpoint: Endpoint, delivered: readonly Attempt[]): Promise<void> => {
  const at = delivered.at(-1)?.at
  if (at === undefined) return
  const { failingSince, retryAt, failure } = webhookEndpoints
  const recovered = sql`${retryAt} IS NOT DISTINCT FROM ${endpoint.retryAt?.toISOString() ?? null}::timestamptz`
  const unlessRecovered = (column: PgColumn) => sql`CASE WHEN NOT ${recovered} THEN ${column} END`
  await handle
    .update(webhookEndpoints)
    .set({
      succeededAt: at,
      failingSince: unlessRecovered(failingSince),
      retryAt: unlessRecovered(retryAt),
      failure: unlessRecovered(failure),
    })
    .where(eq(webhookEndpoints.id, endpoint.id))
  const ended = { state: 'delivered', endedAt: at, failure: null, attempt: sql`${deliveries.attempt} + 1` } as const
  const idsOf = (keeps: boolean) => delivered.flatMap((it) => (it.keeps === keeps ? [it.id] : []))
  const [kept, done] = [idsOf(true), idsOf(false)]
  if (kept.length > 0) await handle.update(deliveries).set(ended).where(keyed(endpoint, kept))
  if (done.length > 0) await handle.delete(deliveries).where(keyed(endpoint, done))
}

/** Does nothing when the message was delivered meanwhile. */
const recordFailure = async (handle: Handle, endpoint: Endpoint, { id, at }: Attempt, it: Failure): Promise<void> => {
  const { failure, nextAt, retryAt, state } = it
  const next = nextAt === null ? ({ state: 'dead', endedAt: at } as const) : { nextAt }
  const { rowCount } = await handle
    .update(deliveries)
    .set({ ...next, failure, attempt: sql`${deliveries.attempt} + 1` })
    .where(and(keyed(endpoint, [id]), eq(deliveries.state, 'waiting')))
  // Another worker, which sent it after the end of this one's claim, has delivered it.
  if (rowCount === 0) return
  // Messages that were sent together may ask for different pauses.
  const latest = sql`greatest(${webhookEndpoints.retryAt}, ${retryAt.toISOString()}::timestamptz)`
  const failingSince = sql`coalesce(${webhookEndpoints.failingSince}, ${at.toISOString()}::timestamptz)`
  await handle
    .update(webhookEndpoints)
    .set({ failingSince, retryAt: latest, failure, ...(state !== 'active' && { state }) })
    .where(and(eq(webhookEndpoints.id, endpoint.id), ne(webhookEndpoints.state, 'disabled')))
}

/** Records attempts to send messages of an endpoint, as it was when they were sent; nothing when it was removed. */
export const recordAttempts = (
  database: Database,
  endpoint: Endpoint,
  attempts: readonly Attempt[],
  lockWithinMs = LOCK_WITHIN_MS,
): Promise<void> =>
  database.transaction(async (handle) => {
    await handle.execute(sql.raw(`SET LOCAL lock_timeout = ${lockWithinMs}`))
    // Transactions lock an endpoint before its deliveries, as its removal does.
    const found = handle.select({ id: webhookEndpoints.id }).from(webhookEndpoints)
    const [locked] = await found.where(eq(webhookEndpoints.id, endpoint.id)).for('update')
    if (locked === undefined) return
    await recordDelivered(
      handle,
      endpoint,
      attempts.filter(({ failed }) => failed === null),
    )
    for (const attempt of attempts)
      if (attempt.failed !== null) await recordFailure(handle, endpoint, attempt, attempt.failed)
  })
