import { and, asc, eq, type SQL, sql } from 'drizzle-orm'
import type { ChainId } from '../protocol/chains.ts'
import { type Kind, kinds } from '../protocol/kinds.ts'
import { insertMany } from './bulk.ts'
import type { Database, Handle } from './pool.ts'
import * as t from './schema.ts'
import { entityTables } from './stored.ts'

/*
 * The notes of what has to be observed again. They are written in the transaction that learned it and deleted in the one that
 * observed it, so a process may die anywhere between. What happens while something is being observed raises the version of its note,
 * and a note is deleted at the version that was read alone.
 */

const subjects = ['event', 'deposit', 'position', 'chain'] as const

/** Something to observe: an entity, or the protocol's own state (`chain`, id 0). */
export type Subject = { readonly subject: (typeof subjects)[number]; readonly id: bigint }

/** Subjects of one kind: `many` ids from `id` on. What is created by the thousand is noted so. */
export type Run = Subject & { readonly many: number }

/** A run that waits. `noted` and `version` tell this note from any other of its subjects, before and after. */
export type Note = Run & { readonly noted: bigint; readonly version: number }

/** Most ids in a run, so that what is observed at once stays bounded. */
const LONGEST = 100

/** Subjects of one kind as few runs, as far as their ids follow each other. */
export const runsOf = (subject: Kind, facts: readonly { readonly id: bigint }[]): Run[] => {
  const runs: { subject: Kind; id: bigint; many: number }[] = []
  for (const { id } of facts) {
    const run = runs.at(-1)
    if (run !== undefined && run.many < LONGEST && id === run.id + BigInt(run.many)) run.many += 1
    else runs.push({ subject, id, many: 1 })
  }
  return runs
}

/** The subjects of runs, each once. */
export const subjectsIn = (runs: readonly Run[]): Subject[] => {
  const found = new Map<string, Subject>()
  for (const { subject, id: first, many } of runs) {
    for (let id = first; id < first + BigInt(many); id += 1n) found.set(`${subject} ${id}`, { subject, id })
  }
  return [...found.values()]
}

const bigints = (ids: readonly bigint[]) => sql`${sql.param(ids.map(String))}::bigint[]`

/** Our number among advisory locks of two keys, the second being the chain. */
const LOCK = 7_201

/**
 * Lets the transactions that write a chain's notes go one after another: each touches many, in an order of its own, and two at once would
 * end in a deadlock. One that also changes anchors or observations takes this first, for the same reason.
 */
export const holdNotes = async (handle: Handle, chainId: ChainId): Promise<void> => {
  await handle.execute(sql`SELECT pg_advisory_xact_lock(${LOCK}, ${chainId})`)
}

/** Something happened: a note that is there already counts from now on, so that no older observation takes it away. */
export const again = sql`ON CONFLICT (chain_id, subject, id) DO UPDATE SET version = ${t.unobserved.version} + 1,
  many = greatest(${t.unobserved.many}, excluded.many)`

/** It is looked at once more in any case: a note that is there already will do, and is not written again. */
const once = sql`ON CONFLICT DO NOTHING`

/** Notes the subjects: something happened to each. */
export const markUnobserved = async (
  handle: Handle,
  chainId: ChainId,
  all: readonly (Subject | Run)[],
): Promise<void> => {
  if (all.length === 0) return
  await holdNotes(handle, chainId)
  // One statement must not touch a row twice.
  const each = new Map<string, Run & { readonly chainId: ChainId }>()
  for (const it of all) {
    const note = { chainId, many: 1, ...it }
    const key = `${it.subject} ${it.id}`
    if (note.many > (each.get(key)?.many ?? 0)) each.set(key, note)
  }
  await insertMany(handle, t.unobserved, [...each.values()], again)
}

/** Notes the deposits or positions of events, but for some: something happened to each. */
export const markMembers = async (
  handle: Handle,
  chainId: ChainId,
  subject: 'deposit' | 'position',
  eventIds: readonly bigint[],
  except: readonly bigint[] = [],
): Promise<void> => {
  if (eventIds.length === 0) return
  await holdNotes(handle, chainId)
  await handle.execute(sql`INSERT INTO ${t.unobserved} (chain_id, subject, id) SELECT chain_id, ${subject}, id FROM ${entityTables[subject].facts}
    WHERE chain_id = ${chainId} AND event_id = ANY(${bigints(eventIds)}) AND NOT id = ANY(${bigints(except)}) ORDER BY id ${again}`)
}

/** Notes the events that deposits or positions belong to: something happened to each. */
export const markEventsOf = async (
  handle: Handle,
  chainId: ChainId,
  subject: 'deposit' | 'position',
  ids: readonly bigint[],
): Promise<void> => {
  if (ids.length === 0) return
  await holdNotes(handle, chainId)
  await handle.execute(sql`INSERT INTO ${t.unobserved} (chain_id, subject, id) SELECT DISTINCT chain_id, 'event', event_id FROM ${entityTables[subject].facts}
    WHERE chain_id = ${chainId} AND id = ANY(${bigints(ids)}) ${again}`)
}

/** Notes every entity that the index holds, and the protocol's own state: what the chain's views return may have changed for each. */
export const markEverything = async (handle: Handle, chainId: ChainId): Promise<void> => {
  await markUnobserved(handle, chainId, [{ subject: 'chain', id: 0n }])
  for (const kind of kinds) {
    // Ids are dense, so runs cover them all.
    await handle.execute(sql`INSERT INTO ${t.unobserved} (chain_id, subject, id, many)
      SELECT ${chainId}::integer, ${kind}, id, least(${LONGEST}, last - id + 1)
      FROM (SELECT min(id) AS first, max(id) AS last FROM ${entityTables[kind].facts} WHERE chain_id = ${chainId}) AS held,
        generate_series(first, last, ${LONGEST}) AS id ${again}`)
  }
}

/** Seconds past its expiry after which an event that nobody settles is left to the sweep. */
const AWAITED_SECONDS = 7n * 86_400n

/**
 * Notes the events that are not seen settled and may settle any moment: not long past their expiry at `now` (Unix seconds). With them those whose
 * expiry passed since the block that the index is at: from then on their capacity is none, without a log.
 */
export const markAwaitingSettlement = async (handle: Handle, chainId: ChainId, now: bigint): Promise<void> => {
  await holdNotes(handle, chainId)
  await handle.execute(sql`INSERT INTO ${t.unobserved} (chain_id, subject, id) SELECT fact.chain_id, 'event', fact.id
    FROM ${t.events} AS fact JOIN ${t.eventObservations} AS seen USING (chain_id, id)
    WHERE chain_id = ${chainId} AND settled_at = 0 AND expiry_date <= ${now}::numeric
      AND expiry_date > least(${now - AWAITED_SECONDS}, (SELECT block_timestamp FROM ${t.cursors} WHERE chain_id = ${chainId}))::numeric ${once}`)
}

/** What can still change by the protocol's rules, or was never seen (`at` null): its id and the block at which it was seen last. */
const changeable: Readonly<Record<Subject['subject'], (chainId: ChainId) => SQL>> = {
  event: (chainId) => sql`SELECT id, seen.block_number AS at
    FROM ${t.events} LEFT JOIN ${t.eventObservations} AS seen USING (chain_id, id) WHERE chain_id = ${chainId}`,
  deposit: (chainId) => sql`SELECT id, seen.block_number AS at
    FROM ${t.deposits} LEFT JOIN ${t.depositObservations} AS seen USING (chain_id, id)
    WHERE chain_id = ${chainId} AND (seen.withdrawn IS NOT TRUE OR seen.pending > 0)`,
  position: (chainId) => sql`SELECT fact.id, seen.block_number AS at FROM ${t.positions} AS fact
    LEFT JOIN ${t.positionObservations} AS seen ON seen.chain_id = fact.chain_id AND seen.id = fact.id
    LEFT JOIN ${t.eventObservations} AS event ON event.chain_id = fact.chain_id AND event.id = fact.event_id
    WHERE fact.chain_id = ${chainId} AND seen.claimed IS NOT TRUE
      AND (seen.id IS NULL OR event.id IS NULL OR seen.payout_amount > 0 OR event.settled_at = 0)`,
  chain: () => sql`SELECT 0 AS id, 0 AS at`,
}

/** Subjects of one kind noted by one sweep: each costs its reads, and a chain with a million of them must not drown its nodes. */
const SWEPT = 2_000

/** The same of those that were never seen. */
const SWEPT_UNSEEN = 500

/** Ids of which a sweep notes all, whether or not they can still change. */
const SWEPT_IN_TURN = 500

/** The entities of a kind that it is the turn of: their ids in slices, one after the other, another one each minute. */
const inTurn = (subject: Subject['subject'], chainId: ChainId): SQL => {
  if (subject === 'chain') return sql`SELECT 0, 3`
  const seen = entityTables[subject].observations
  const slices = sql`(SELECT max(id) / ${SWEPT_IN_TURN} + 1 FROM ${seen} WHERE chain_id = ${chainId})`
  const first = sql`(SELECT extract(epoch FROM now())::bigint / 60 % ${slices} * ${SWEPT_IN_TURN})`
  return sql`(SELECT id, 3 FROM ${seen} WHERE chain_id = ${chainId} AND id >= ${first} ORDER BY id LIMIT ${SWEPT_IN_TURN})`
}

/**
 * Notes what can still change and was not seen for longest: the protocol's state, events, deposits not withdrawn or with premiums to claim,
 * and positions that are active or claimable. A deployment that emits the three creation logs alone is right by this. Nothing is final
 * while an owner can replace the protocol's code, so some of the others are noted too, in turn. Of those that were never seen some
 * are noted besides, whichever they are: there may be more that cannot be observed than one sweep notes, and they must keep neither the
 * rest nor one another waiting.
 */
export const markChangeable = async (database: Database, chainId: ChainId, signal?: AbortSignal): Promise<void> => {
  for (const subject of subjects) {
    if (signal?.aborted) return
    const every = changeable[subject](chainId)
    const found = sql`SELECT id FROM (
        (SELECT id, 1 AS rank FROM (${every}) AS unseen WHERE at IS NULL ORDER BY random() LIMIT ${SWEPT_UNSEEN})
        UNION ALL (SELECT id, 2 FROM (${every}) AS seen WHERE at IS NOT NULL ORDER BY at, id LIMIT ${SWEPT})
        UNION ALL (${inTurn(subject, chainId)})
      ) AS found GROUP BY id ORDER BY min(rank)`
    // Looking takes its time on a long list; whoever writes waits for the noting alone.
    const { rows } = await database.run((handle) => handle.execute<{ id: string }>(found))
    const ids = rows.map(({ id }) => BigInt(id))
    await database.transaction(async (handle) => {
      await holdNotes(handle, chainId)
      await handle.execute(sql`INSERT INTO ${t.unobserved} (chain_id, subject, id)
        SELECT ${chainId}::integer, ${subject}, id FROM unnest(${bigints(ids)}) AS found (id) ${once}`)
    })
  }
}

/** What has waited longest to be observed, in at most `limit` notes, and little more than as many subjects; some notes are left out. */
export const nextUnobserved = async (
  database: Database,
  chainId: ChainId,
  limit: number,
  except: readonly Note[] = [],
): Promise<Note[]> => {
  const { subject, id, many, noted, version } = t.unobserved
  const rows = await database.run((handle) =>
    handle
      .select({ subject, id, many, noted, version })
      .from(t.unobserved)
      .where(and(eq(t.unobserved.chainId, chainId), sql`NOT ${noted} = ANY(${bigints(except.map((it) => it.noted))})`))
      .orderBy(asc(noted))
      .limit(limit),
  )
  let room = limit
  const next = rows.filter((row) => {
    const fits = room > 0
    room -= row.many
    return fits
  })
  return next.flatMap((row) =>
    subjects.filter((known) => known === row.subject).map((known) => ({ ...row, subject: known })),
  )
}

/** Takes notes back, as far as they are still what was read: one that was written again meanwhile stays. */
export const clearUnobserved = async (handle: Handle, chainId: ChainId, notes: readonly Note[]): Promise<void> => {
  const versions = sql`${sql.param(notes.map(({ version }) => version))}::integer[]`
  await holdNotes(handle, chainId)
  await handle.execute(sql`DELETE FROM ${t.unobserved} AS note
    USING unnest(${bigints(notes.map(({ noted }) => noted))}, ${versions}) AS seen (noted, version)
    WHERE chain_id = ${chainId} AND note.noted = seen.noted AND note.version = seen.version`)
}

/** What of a chain waits to be observed: how many subjects (one that was noted twice may count twice), and for how long the oldest, in seconds; null when nothing waits. */
export type ObservationLag = { readonly waiting: number; readonly oldestSeconds: number | null }

/** Looks up how far observations are behind. Throws `service_unavailable` when the database is out of reach. */
export const observationLag = async (database: Database, chainId: ChainId): Promise<ObservationLag> => {
  const [row] = await database.run((handle) =>
    handle
      .select({
        waiting: sql<string | null>`sum(${t.unobserved.many})`,
        oldest: sql<string | null>`extract(epoch FROM now() - min(${t.unobserved.since}))`,
      })
      .from(t.unobserved)
      .where(eq(t.unobserved.chainId, chainId)),
  )
  return { waiting: Number(row?.waiting ?? 0), oldestSeconds: row?.oldest == null ? null : Number(row.oldest) }
}
