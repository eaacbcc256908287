import { and, asc, eq, gt, isNotNull, lte, or, sql } from 'drizzle-orm'
import { OperatorError, ServiceError } from '../../lib/errors.ts'
import { newestChange } from '../changes/changes.ts'
import type { Database, Handle } from '../pool.ts'
import { ageOf } from '../schema/columns.ts'
import { changeCounter } from '../schema/index-state.ts'
import { deliveries, webhookEndpoints } from '../schema/webhooks.ts'

export type Endpoint = Readonly<typeof webhookEndpoints.$inferSelect>

/** What the operator chooses of an endpoint. */
export type Subscription = Pick<Endpoint, 'url' | 'types' | 'chainIds' | 'wallets' | 'eventIds'>

/** The advisory lock of additions: two at the same time could exceed a limit. */
const LOCK = 7_202

/**
 * Adds an endpoint, which gets what changes from now on. Throws `conflict` when its key has `mostOfKey` already, and an
 * OperatorError when there are `most` of all.
 */
export const addEndpoint = (
  database: Database,
  given: Subscription & Pick<Endpoint, 'id' | 'secret' | 'createdAt'> & Partial<Pick<Endpoint, 'apiKey'>>,
  most: number,
  mostOfKey = most,
): Promise<void> =>
  database.transaction(async (handle) => {
    await handle.execute(sql`SELECT pg_advisory_xact_lock(${LOCK})`)
    const { apiKey = null } = given
    const own = apiKey === null ? 0 : await handle.$count(webhookEndpoints, eq(webhookEndpoints.apiKey, apiKey))
    if (own >= mostOfKey)
      throw new ServiceError('conflict', `the key has ${own} endpoints, the most that it may have: remove one first`)
    const many = await handle.$count(webhookEndpoints)
    if (many >= most)
      throw new OperatorError(`there are ${many} endpoints, the most that a worker serves: remove one first`)
    const [{ epoch } = { epoch: '' }] = await handle.select({ epoch: changeCounter.epoch }).from(changeCounter)
    await handle.insert(webhookEndpoints).values({ ...given, epoch, seq: await newestChange(handle) })
  })

/** The endpoints of a key, or all, the oldest first. */
export const readEndpoints = (handle: Handle, apiKey?: string): Promise<Endpoint[]> =>
  handle
    .select()
    .from(webhookEndpoints)
    .where(apiKey === undefined ? undefined : eq(webhookEndpoints.apiKey, apiKey))
    .orderBy(asc(webhookEndpoints.createdAt), asc(webhookEndpoints.id))

/** An endpoint; undefined when there is none with this id. */
export const readEndpoint = async (handle: Handle, id: string): Promise<Endpoint | undefined> =>
  (await handle.select().from(webhookEndpoints).where(eq(webhookEndpoints.id, id)))[0]

/** Changes an endpoint. Returns false when there is none with this id. */
export const changeEndpoint = async (handle: Handle, id: string, change: Partial<Endpoint>): Promise<boolean> => {
  const changed = handle.update(webhookEndpoints).set(change).where(eq(webhookEndpoints.id, id))
  return (await changed.returning({ id: webhookEndpoints.id })).length > 0
}

/**
 * Changes an endpoint to what `to` makes of it, while no other transaction can change it. An error that `to` throws
 * changes nothing. Returns false when there is none with this id.
 */
export const changeLocked = (
  database: Database,
  id: string,
  to: (endpoint: Endpoint) => Promise<Partial<Endpoint>>,
): Promise<boolean> =>
  database.transaction(async (handle) => {
    const found = handle.select().from(webhookEndpoints).where(eq(webhookEndpoints.id, id))
    const [endpoint] = await found.for('update')
    return endpoint !== undefined && changeEndpoint(handle, id, await to(endpoint))
  })

/** Removes an endpoint with its deliveries. Returns false when there is none with this id. */
export const removeEndpoint = async (handle: Handle, id: string): Promise<boolean> =>
  (await handle.delete(webhookEndpoints).where(eq(webhookEndpoints.id, id)).returning({ id: webhookEndpoints.id }))
    .length > 0

/** The active endpoints that have changes to read or deliveries to attempt at a time. */
export const dueEndpoints = async (handle: Handle, now: Date): Promise<string[]> => {
  const due = handle
    .select({ one: sql`1` })
    .from(deliveries)
    .where(
      and(eq(deliveries.endpoint, webhookEndpoints.id), eq(deliveries.state, 'waiting'), lte(deliveries.nextAt, now)),
    )
  const rows = await handle
    .select({ id: webhookEndpoints.id })
    .from(webhookEndpoints)
    .leftJoin(changeCounter, sql`true`)
    .where(
      and(
        eq(webhookEndpoints.state, 'active'),
        or(
          gt(changeCounter.last, webhookEndpoints.seq),
          sql`${changeCounter.epoch} <> ${webhookEndpoints.epoch}`,
          sql`EXISTS (${due}) AND coalesce(${webhookEndpoints.retryAt} <= ${now}, true)`,
        ),
      ),
    )
  return rows.map(({ id }) => id)
}

/** The health of the endpoints, for operators. */
export type WebhooksHealth = Readonly<Awaited<ReturnType<typeof webhooksHealth>>>

/** Reads what waits, and the endpoints that fail: since when, in seconds, and why they are not active. */
export const webhooksHealth = async (handle: Handle) => {
  const { id, state, failure, failingSince } = webhookEndpoints
  const waiting = handle.$count(deliveries, eq(deliveries.state, 'waiting'))
  const endpoints = await handle.$count(webhookEndpoints)
  const failing = await handle
    .select({ id, state, failure, failingSeconds: ageOf(failingSince) })
    .from(webhookEndpoints)
    .where(isNotNull(failingSince))
    .orderBy(asc(failingSince))
  return { endpoints, waiting: await waiting, failing }
}
