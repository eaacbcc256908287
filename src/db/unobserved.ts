import { asc, eq, sql } from 'drizzle-orm'
import type { ChainId } from '../protocol/chains.ts'
import { insertMany } from './bulk.ts'
import type { Database, Handle } from './pool.ts'
import * as t from './schema.ts'

/*
 * The notes of what has to be observed again. They are written in the transaction that learned it and deleted in the one that
 * observed it, so a process may die anywhere between.
 */

const subjects = ['event', 'deposit', 'position', 'chain'] as const

/** Something to observe: an entity, or the protocol's own state (`chain`, id 0). */
export type Subject = { readonly subject: (typeof subjects)[number]; readonly id: bigint }

const facts = { event: t.events, deposit: t.deposits, position: t.positions } as const

const bigints = (ids: readonly bigint[]) => sql`${sql.param(ids.map(String))}::bigint[]`

/** Notes the subjects. */
export const markUnobserved = (handle: Handle, chainId: ChainId, all: readonly Subject[]): Promise<void> =>
  insertMany(
    handle,
    t.unobserved,
    all.map(({ subject, id }) => ({ chainId, subject, id })),
  )

/** Notes the deposits or positions of events. */
export const markMembers = async (
  handle: Handle,
  chainId: ChainId,
  subject: 'deposit' | 'position',
  eventIds: readonly bigint[],
): Promise<void> => {
  if (eventIds.length === 0) return
  await handle.execute(sql`INSERT INTO ${t.unobserved} (chain_id, subject, id) SELECT chain_id, ${subject}, id FROM ${facts[subject]}
    WHERE chain_id = ${chainId} AND event_id = ANY(${bigints(eventIds)}) ON CONFLICT DO NOTHING`)
}

/** Notes the events that deposits or positions belong to. */
export const markEventsOf = async (
  handle: Handle,
  chainId: ChainId,
  subject: 'deposit' | 'position',
  ids: readonly bigint[],
): Promise<void> => {
  if (ids.length === 0) return
  await handle.execute(sql`INSERT INTO ${t.unobserved} (chain_id, subject, id) SELECT DISTINCT chain_id, 'event', event_id FROM ${facts[subject]}
    WHERE chain_id = ${chainId} AND id = ANY(${bigints(ids)}) ON CONFLICT DO NOTHING`)
}

/** Notes the events that may settle any moment: past their expiry at `now` (Unix seconds), not seen settled. */
export const markAwaitingSettlement = async (handle: Handle, chainId: ChainId, now: bigint): Promise<void> => {
  await handle.execute(sql`INSERT INTO ${t.unobserved} (chain_id, subject, id) SELECT fact.chain_id, 'event', fact.id
    FROM ${t.events} AS fact JOIN ${t.eventObservations} AS seen USING (chain_id, id)
    WHERE chain_id = ${chainId} AND expiry_date <= ${now} AND settled_at = 0 ON CONFLICT DO NOTHING`)
}

/**
 * Notes everything that can still change: the protocol's state, events, deposits not withdrawn or with premiums to claim, and
 * positions that are active or claimable. A deployment that emits the three creation logs alone is right by this.
 */
export const markChangeable = async (database: Database, chainId: ChainId): Promise<void> => {
  await database.transaction(async (handle) => {
    await handle.execute(sql`INSERT INTO ${t.unobserved} (chain_id, subject, id) SELECT chain_id, 'event', id FROM ${t.eventObservations}
      WHERE chain_id = ${chainId} ON CONFLICT DO NOTHING`)
    await handle.execute(sql`INSERT INTO ${t.unobserved} (chain_id, subject, id) SELECT chain_id, 'deposit', id FROM ${t.depositObservations}
      WHERE chain_id = ${chainId} AND (NOT withdrawn OR pending > 0) ON CONFLICT DO NOTHING`)
    await handle.execute(sql`INSERT INTO ${t.unobserved} (chain_id, subject, id) SELECT chain_id, 'position', id FROM ${t.positionObservations} AS seen
      WHERE chain_id = ${chainId} AND NOT claimed
        AND (payout_amount > 0 OR EXISTS (SELECT FROM ${t.positions} AS fact
          JOIN ${t.eventObservations} AS e ON e.chain_id = fact.chain_id AND e.id = fact.event_id
          WHERE fact.chain_id = seen.chain_id AND fact.id = seen.id AND e.settled_at = 0)) ON CONFLICT DO NOTHING`)
    await markUnobserved(handle, chainId, [{ subject: 'chain', id: 0n }])
  })
}

/** What has waited longest to be observed. */
export const nextUnobserved = async (database: Database, chainId: ChainId, limit: number): Promise<Subject[]> => {
  const rows = await database.run((handle) =>
    handle
      .select({ subject: t.unobserved.subject, id: t.unobserved.id })
      .from(t.unobserved)
      .where(eq(t.unobserved.chainId, chainId))
      .orderBy(asc(t.unobserved.noted))
      .limit(limit),
  )
  return rows.flatMap(({ subject, id }) =>
    subjects.filter((known) => known === subject).map((known) => ({ subject: known, id })),
  )
}

/** Takes notes back. */
export const clearUnobserved = async (handle: Handle, chainId: ChainId, all: readonly Subject[]): Promise<void> => {
  const names = sql`${sql.param(all.map(({ subject }) => subject))}::text[]`
  await handle.execute(sql`DELETE FROM ${t.unobserved} AS note USING unnest(${names}, ${bigints(all.map(({ id }) => id))}) AS seen (subject, id)
    WHERE chain_id = ${chainId} AND note.subject = seen.subject AND note.id = seen.id`)
}

/** Takes back the notes of entities that do not exist any more: after a rollback an id may be nobody's, or somebody else's. */
export const clearOrphans = async (
  handle: Handle,
  chainId: ChainId,
  subject: 'event' | 'deposit' | 'position',
): Promise<void> => {
  await handle.execute(sql`DELETE FROM ${t.unobserved} AS note WHERE chain_id = ${chainId} AND subject = ${subject}
    AND NOT EXISTS (SELECT FROM ${facts[subject]} AS fact WHERE fact.chain_id = note.chain_id AND fact.id = note.id)`)
}
