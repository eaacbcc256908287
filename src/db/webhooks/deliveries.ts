import {
  and,
  asc,
  desc,
  eq,
  exists,
  gte,
  inArray,
  isNotNull,
  isNull,
  lt,
  lte,
  ne,
  notExists,
  or,
  sql,
} from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Database, Handle } from '../pool.ts'
import { deliveries, webhookEndpoints } from '../schema/webhooks.ts'
import type { Endpoint } from './endpoints.ts'

export type Delivery = Readonly<typeof deliveries.$inferSelect>

/** A message to store. */
export type NewDelivery = Pick<Delivery, 'id' | 'seq' | 'entity' | 'body'>

/** Locks an active endpoint for its next page of messages; undefined when it is not active or another worker has it. */
export const lockEndpoint = async (handle: Handle, id: string): Promise<Endpoint | undefined> => {
  const active = and(eq(webhookEndpoints.id, id), eq(webhookEndpoints.state, 'active'))
  const found = handle.select().from(webhookEndpoints).where(active)
  return (await found.for('update', { skipLocked: true }))[0]
}

/** How many deliveries of an endpoint wait. */
export const waitingOf = (handle: Handle, endpoint: string): Promise<number> =>
  handle.$count(deliveries, and(eq(deliveries.endpoint, endpoint), eq(deliveries.state, 'waiting')))

/** Takes back the messages of entities that wait and were never sent: newer ones replace them. */
export const takeBack = (handle: Handle, endpoint: string, entities: readonly string[]) =>
  handle
    .delete(deliveries)
    .where(
      and(
        eq(deliveries.endpoint, endpoint),
        inArray(deliveries.entity, [...entities]),
        eq(deliveries.state, 'waiting'),
        isNull(deliveries.sentAt),
      ),
    )
    .returning({ entity: deliveries.entity, seq: deliveries.seq, body: deliveries.body })

/** Stores messages that may be sent from `now` on, and moves the cursor of their endpoint. */
export const storeDeliveries = async (
  handle: Handle,
  endpoint: string,
  messages: readonly NewDelivery[],
  cursor: Pick<Endpoint, 'epoch' | 'seq'>,
  now: Date,
): Promise<void> => {
  await handle.update(webhookEndpoints).set(cursor).where(eq(webhookEndpoints.id, endpoint))
  if (messages.length === 0) return
  const rows = messages.map((message) => ({ ...message, endpoint, nextAt: now }))
  await handle.insert(deliveries).values(rows).onConflictDoNothing()
}

/**
 * Stores a message that is no change and may be sent from `now` on, unless one of its entity waits. Returns the one that
 * waits; undefined when there is no such endpoint.
 */
export const storeUnlessWaiting = (
  database: Database,
  endpoint: string,
  message: Omit<NewDelivery, 'seq'>,
  now: Date,
): Promise<Delivery | undefined> =>
  database.transaction(async (handle) => {
    const ofEndpoint = handle.select({ seq: webhookEndpoints.seq }).from(webhookEndpoints)
    const [locked] = await ofEndpoint.where(eq(webhookEndpoints.id, endpoint)).for('update')
    if (locked === undefined) return undefined
    const same = and(
      ...[eq(deliveries.endpoint, endpoint), eq(deliveries.entity, message.entity), eq(deliveries.state, 'waiting')],
    )
    const [waiting] = await handle.select().from(deliveries).where(same)
    if (waiting !== undefined) return waiting
    const row = { ...message, endpoint, seq: locked.seq, nextAt: now }
    return (await handle.insert(deliveries).values(row).returning())[0]
  })

/** Milliseconds of a claim: longer than an attempt takes. Then another worker sends a message whose worker ended. */
export const CLAIM_MS = 60_000

/**
 * Claims the deliveries of an endpoint that are due, the longest due first and `limit` at most: no other worker sends
 * them for the time of a claim, which begins when the database is asked. `now` is in Unix milliseconds. Of each entity
 * only the oldest is due, and nothing while the endpoint is not active or once `signal` has aborted. Returns them in the
 * order of their numbers.
 */
export const claimDeliveries = async (
  database: Database,
  endpoint: string,
  limit: number,
  now: () => number,
  signal: AbortSignal,
): Promise<Delivery[]> => {
  const older = alias(deliveries, 'older')
  const ofEndpoint = and(eq(deliveries.endpoint, endpoint), eq(deliveries.state, 'waiting'))
  const claimed = await database.run(async (handle) => {
    if (signal.aborted) return []
    const at = new Date(now())
    const before = handle
      .select({ one: sql`1` })
      .from(older)
      .where(
        and(
          ...[eq(older.endpoint, endpoint), eq(older.entity, deliveries.entity)],
          ...[eq(older.state, 'waiting'), lt(older.seq, deliveries.seq)],
        ),
      )
    // Read with the messages, because the last attempt of one makes it dead and pauses the endpoint together.
    const active = handle
      .select({ one: sql`1` })
      .from(webhookEndpoints)
      .where(and(eq(webhookEndpoints.id, endpoint), eq(webhookEndpoints.state, 'active')))
    const due = handle
      .select({ id: deliveries.id })
      .from(deliveries)
      .where(and(ofEndpoint, lte(deliveries.nextAt, at), exists(active), notExists(before)))
      .orderBy(asc(deliveries.nextAt), asc(deliveries.seq))
      .limit(limit)
      .for('update', { skipLocked: true })
    return (
      handle
        .update(deliveries)
        .set({ nextAt: new Date(at.getTime() + CLAIM_MS), sentAt: at })
        // As an array it is read once. A join could read it again, and lock more than `limit`.
        .where(and(ofEndpoint, sql`${deliveries.id} = ANY(ARRAY(${due}))`))
        .returning()
    )
  })
  return claimed.toSorted((a, b) => a.seq - b.seq)
}

/** The newest deliveries of an endpoint, `limit` at most. */
export const newestDeliveries = (
  handle: Handle,
  endpoint: string,
  state: Delivery['state'] | undefined,
  limit: number,
): Promise<Delivery[]> =>
  handle
    .select()
    .from(deliveries)
    .where(and(eq(deliveries.endpoint, endpoint), state && eq(deliveries.state, state)))
    .orderBy(desc(deliveries.seq))
    .limit(limit)

/**
 * Lets ended deliveries of an endpoint be sent once more, with all their attempts: one, those that are dead, or those
 * that ended at a time or later. Returns how many.
 */
export const replayDeliveries = async (
  handle: Handle,
  endpoint: string,
  which: { readonly id: string } | { readonly since: Date } | 'dead',
  now: Date,
): Promise<number> => {
  const chosen =
    which === 'dead'
      ? eq(deliveries.state, 'dead')
      : 'id' in which
        ? eq(deliveries.id, which.id)
        : gte(deliveries.endedAt, which.since)
  const replayed = await handle
    .update(deliveries)
    // A message that was sent once is not replaced by a newer one.
    .set({ state: 'waiting', attempt: 0, nextAt: now, endedAt: null, sentAt: now })
    .where(and(eq(deliveries.endpoint, endpoint), ne(deliveries.state, 'waiting'), chosen))
    .returning({ id: deliveries.id })
  return replayed.length
}

/** Deletes deliveries that ended before the time of their state, `limit` at most. Returns how many. */
export const pruneDeliveries = async (
  handle: Handle,
  before: Readonly<Record<'delivered' | 'dead', Date>>,
  limit: number,
): Promise<number> => {
  const ended = (state: 'delivered' | 'dead') => and(eq(deliveries.state, state), lt(deliveries.endedAt, before[state]))
  const old = handle
    .select({ place: sql`ctid` })
    .from(deliveries)
    .where(and(isNotNull(deliveries.endedAt), or(ended('delivered'), ended('dead'))))
    .orderBy(asc(deliveries.endedAt))
    .limit(limit)
  const pruned = handle.delete(deliveries).where(sql`ctid IN (${old})`)
  return (await pruned.returning({ id: deliveries.id })).length
}
