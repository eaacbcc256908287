import { and, asc, eq, type SQL, sql } from 'drizzle-orm'
import type { ChainId } from '../../../protocol/chains.ts'
import { type Kind, kinds, type MemberKind } from '../../../protocol/entities.ts'
import { bigints, insertMany } from '../../bulk.ts'
import type { Database, Handle } from '../../pool.ts'
import { cursors, refreshQueue } from '../../schema/index-state.ts'
import * as t from '../../schema/records.ts'
import { entityTables, type StoredBlock } from '../../stored.ts'

/*
 * The refresh queue: requests to observe entities again. The transaction that stores a change writes them, and the
 * transaction that stores the observation deletes them, so a process may die at any point in between. A change during
 * an observation raises the version of its request, and an observation only completes the version that it read.
 */

/** A subject of observations: an entity, or the protocol's own state (`chain`, id 0). */
export type RefreshSubject = { readonly subject: (typeof refreshQueue.$inferSelect)['subject']; readonly id: bigint }

/** Subjects of one kind: `many` ids from `id` on. Keeps the queue short when entities are created by the thousand. */
export type IdRange = RefreshSubject & { readonly many: number }

/** A request in the queue. `sequence` and `version` together identify it among all requests for its subjects. */
export type RefreshRequest = IdRange & { readonly sequence: bigint; readonly version: number }

/** The most ids of a range, which bounds the entities that are observed at once. */
const MAX_RANGE = 100

/** Subjects of one kind as ranges of consecutive ids, of at most `most` each. */
export const idRangesOf = (subject: Kind, facts: readonly { readonly id: bigint }[], most = MAX_RANGE): IdRange[] => {
  const ranges: { subject: Kind; id: bigint; many: number }[] = []
  for (const { id } of facts) {
    const range = ranges.at(-1)
    if (range !== undefined && range.many < most && id === range.id + BigInt(range.many)) range.many += 1
    else ranges.push({ subject, id, many: 1 })
  }
  return ranges
}

/** The subjects of ranges, each once. */
export const subjectsIn = (ranges: readonly IdRange[]): RefreshSubject[] => {
  const found = new Map<string, RefreshSubject>()
  for (const { subject, id: first, many } of ranges)
    for (let id = first; id < first + BigInt(many); id += 1n) found.set(`${subject} ${id}`, { subject, id })
  return [...found.values()]
}

/**
 * The first key of the advisory lock; the second key is the chain. The triggers that a database from 0.1.0 has take the
 * same lock.
 */
const LOCK = 7_201

/**
 * Locks the refresh queue of a chain until the end of the transaction. Transactions that write requests touch many rows
 * in different orders, so two at once would deadlock. A transaction that also changes anchors or observations must take
 * this lock first.
 */
export const lockRefreshQueue = async (handle: Handle, chainId: ChainId): Promise<void> => {
  await handle.execute(sql`SELECT pg_advisory_xact_lock(${LOCK}, ${chainId})`)
}

/**
 * The oldest block whose changes a request has to show; null when no block caused it. Reads with `minBlock` or `afterTx`
 * wait for the requests up to their block.
 */
type FromBlock = bigint | null

/** For requests that every read has to wait for: the index may be wrong at any block. */
const ANY_BLOCK = 0n

/** Both blocks have to be shown, so the older one counts; `least` ignores null. */
const olderBlock = sql`from_block = least(${refreshQueue.fromBlock}, excluded.from_block)`

/** For a change: raises the version of an existing request, so that an older observation does not complete it. */
export const onConflictRaiseVersion = sql`ON CONFLICT (chain_id, subject, id) DO UPDATE SET version = ${refreshQueue.version} + 1,
  many = greatest(${refreshQueue.many}, excluded.many), ${olderBlock}`

/** For a routine refresh: an existing request suffices. */
const onConflictKeep = sql`ON CONFLICT DO NOTHING`

/** For a routine refresh that reads wait for. */
const onConflictKeepVersion = sql`ON CONFLICT (chain_id, subject, id) DO UPDATE SET ${olderBlock}
  WHERE ${refreshQueue.fromBlock} IS NULL`

/** Adds a request for each row `(chain_id, subject, id, from_block)` of a query. */
const insertRequests = async (handle: Handle, chainId: ChainId, rows: SQL, onConflict = onConflictRaiseVersion) => {
  await lockRefreshQueue(handle, chainId)
  await handle.execute(sql`INSERT INTO ${refreshQueue} (chain_id, subject, id, from_block) ${rows} ${onConflict}`)
}

/** Requests a refresh of subjects that changed in `fromBlock` or later. */
export const requestRefresh = async (
  handle: Handle,
  chainId: ChainId,
  all: readonly (RefreshSubject | IdRange)[],
  fromBlock: FromBlock = ANY_BLOCK,
) => {
  if (all.length === 0) return
  await lockRefreshQueue(handle, chainId)
  // One statement must not update a row twice.
  const each = new Map<string, IdRange & { readonly chainId: ChainId; readonly fromBlock: FromBlock }>()
  for (const it of all) {
    const request = { chainId, many: 1, fromBlock, ...it }
    const key = `${it.subject} ${it.id}`
    if (request.many > (each.get(key)?.many ?? 0)) each.set(key, request)
  }
  await insertMany(handle, refreshQueue, [...each.values()], onConflictRaiseVersion)
}

/** Requests a refresh of the deposits or positions of events that changed in `fromBlock`. */
export const requestMemberRefresh = async (
  handle: Handle,
  chainId: ChainId,
  subject: MemberKind,
  eventIds: readonly bigint[],
  fromBlock: FromBlock,
) => {
  if (eventIds.length === 0) return
  const members = sql`SELECT chain_id, ${subject}, id, ${fromBlock}::bigint FROM ${entityTables[subject].facts}
    WHERE chain_id = ${chainId} AND event_id = ANY(${bigints(eventIds)}) ORDER BY id`
  await insertRequests(handle, chainId, members)
}

/**
 * Requests a refresh of the deposits or positions of events of which an observation at `block` found a change, except
 * some. A read that waits for the request of the event has to wait for these too, so they are from the same block. The
 * request of the event must still be in the queue.
 */
export const requestFollowUps = async (
  handle: Handle,
  chainId: ChainId,
  subject: MemberKind,
  { eventIds, block, except }: { eventIds: readonly bigint[]; block: bigint; except: readonly bigint[] },
) => {
  if (eventIds.length === 0) return
  // A request covers up to MAX_RANGE ids. The primary key finds those that may contain the event.
  const members = sql`WITH changed AS MATERIALIZED (
      SELECT id, least(${block}::bigint, (SELECT min(from_block) FROM ${refreshQueue} AS request
        WHERE request.chain_id = ${chainId} AND request.subject = 'event'
          AND request.id <= event.id AND request.id > event.id - ${MAX_RANGE} AND request.id + request.many > event.id)) AS from_block
      FROM (SELECT DISTINCT unnest(${bigints(eventIds)}) AS id) AS event
    ) SELECT fact.chain_id, ${subject}, fact.id, changed.from_block
    FROM ${entityTables[subject].facts} AS fact JOIN changed ON fact.event_id = changed.id
    WHERE fact.chain_id = ${chainId} AND NOT fact.id = ANY(${bigints(except)}) ORDER BY fact.id`
  await insertRequests(handle, chainId, members)
}

/** Requests a refresh of the events of deposits or positions that changed in `fromBlock`. */
export const requestEventRefresh = async (
  handle: Handle,
  chainId: ChainId,
  subject: MemberKind,
  ids: readonly bigint[],
  fromBlock: FromBlock,
) => {
  if (ids.length === 0) return
  const events = sql`SELECT DISTINCT chain_id, 'event', event_id, ${fromBlock}::bigint FROM ${entityTables[subject].facts}
    WHERE chain_id = ${chainId} AND id = ANY(${bigints(ids)})`
  await insertRequests(handle, chainId, events)
}

/** Requests a refresh of every entity of the index and of the protocol's own state, which changed in `fromBlock`. */
export const requestFullRefresh = async (handle: Handle, chainId: ChainId, fromBlock: bigint): Promise<void> => {
  await requestRefresh(handle, chainId, [{ subject: 'chain', id: 0n }], fromBlock)
  for (const kind of kinds) {
    // Ids are dense, so consecutive ranges cover all of them.
    await handle.execute(sql`INSERT INTO ${refreshQueue} (chain_id, subject, id, many, from_block)
      SELECT ${chainId}::integer, ${kind}, id, least(${MAX_RANGE}, last - id + 1), ${fromBlock}::bigint
      FROM (SELECT min(id) AS first, max(id) AS last FROM ${entityTables[kind].facts} WHERE chain_id = ${chainId}) AS stored,
        generate_series(first, last, ${MAX_RANGE}) AS id ${onConflictRaiseVersion}`)
  }
}

/** Seconds after its expiry from which an unsettled event is refreshed by sweeps only. */
const AWAITED_SECONDS = 7n * 86_400n

/**
 * Requests a refresh of the unsettled events that may be settled at any moment: those whose expiry passed not long
 * before the time of `block`. Called before the cursor moves to that block. The capacity of events whose expiry passed
 * since the block of the cursor becomes 0 without a log: that is a change, and an observation that is being made of an
 * earlier block does not complete it.
 */
export const requestSettlementRefresh = async (
  handle: Handle,
  chainId: ChainId,
  { number, timestamp: now }: Pick<StoredBlock, 'number' | 'timestamp'>,
): Promise<void> => {
  const expiredSince = (since: SQL) => sql`SELECT chain_id, 'event', id, ${number}::bigint
    FROM ${t.events} LEFT JOIN ${t.eventObservations} USING (chain_id, id)
    WHERE chain_id = ${chainId} AND coalesce(settled_at, 0) = 0 AND expiry_date <= ${now}::numeric AND expiry_date > ${since}`
  const indexedAt = sql`(SELECT block_timestamp FROM ${cursors} WHERE chain_id = ${chainId})::numeric`
  await insertRequests(handle, chainId, expiredSince(indexedAt))
  await insertRequests(handle, chainId, expiredSince(sql`${now - AWAITED_SECONDS}::numeric`), onConflictKeepVersion)
}

/** The ids of subjects that can still change by the protocol's rules, and the blocks of their last observations. */
const changeable: Readonly<Record<RefreshSubject['subject'], (chainId: ChainId) => SQL>> = {
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

/**
 * The most subjects of one kind per sweep: observed ones that can change, ones that were never observed, and the slice
 * of the rotation. Each costs reads, and a chain with a million must not overload nodes.
 */
const SWEEP = { observed: 2_000, unobserved: 500, slice: 500 } as const

type SweepSizes = Readonly<Record<keyof typeof SWEEP, number>>

/** The rotation over all observed entities of a kind: consecutive slices of ids, another slice each minute. */
const rotatingSlice = (subject: RefreshSubject['subject'], chainId: ChainId, size: number): SQL => {
  if (subject === 'chain') return sql`SELECT 0, 3`
  const { observations } = entityTables[subject]
  const slices = sql`(SELECT max(id) / ${size} + 1 FROM ${observations} WHERE chain_id = ${chainId})`
  const first = sql`(SELECT extract(epoch FROM now())::bigint / 60 % ${slices} * ${size})`
  return sql`(SELECT id, 3 FROM ${observations} WHERE chain_id = ${chainId} AND id >= ${first} ORDER BY id LIMIT ${size})`
}

/**
 * Requests a refresh of subjects that can still change, the oldest observations first: the protocol's state, events,
 * deposits that are not withdrawn or have premiums to claim, and positions that are active or claimable. This keeps the
 * index correct on a deployment that emits only the three creation logs. An owner can replace the protocol's code, so
 * no state is final: a rotation also covers all other entities. Of subjects that were never observed, each sweep picks
 * some at random. There may be more entities that cannot be observed than one sweep requests, and these must not delay
 * the others or one another. Reads do not wait for a sweep: no block caused it.
 */
export const requestSweep = async (
  database: Database,
  chainId: ChainId,
  signal?: AbortSignal,
  { observed, unobserved, slice }: SweepSizes = SWEEP,
): Promise<void> => {
  for (const subject of refreshQueue.subject.enumValues) {
    if (signal?.aborted) return
    const every = changeable[subject](chainId)
    const found = sql`SELECT id FROM (
        (SELECT id, 1 AS rank FROM (${every}) AS unobserved WHERE at IS NULL ORDER BY random() LIMIT ${unobserved})
        UNION ALL (SELECT id, 2 FROM (${every}) AS observed WHERE at IS NOT NULL ORDER BY at, id LIMIT ${observed})
        UNION ALL (${rotatingSlice(subject, chainId, slice)})
      ) AS found GROUP BY id ORDER BY min(rank)`
    // The search may be slow on a large index, so it runs outside the transaction that locks the queue.
    const { rows } = await database.run((handle) => handle.execute<{ id: string }>(found))
    const ids = rows.map(({ id }) => BigInt(id))
    const requests = sql`SELECT ${chainId}::integer, ${subject}, id, NULL::bigint FROM unnest(${bigints(ids)}) AS found (id)`
    await database.transaction((handle) => insertRequests(handle, chainId, requests, onConflictKeep))
  }
}

/** The oldest requests, except some: at most `limit`, with little more than `limit` subjects in all. */
export const nextRefreshRequests = async (
  database: Database,
  chainId: ChainId,
  limit: number,
  except: readonly RefreshRequest[] = [],
): Promise<RefreshRequest[]> => {
  const { subject, id, many, sequence, version } = refreshQueue
  const rows = await database.run((handle) =>
    handle
      .select({ subject, id, many, sequence, version })
      .from(refreshQueue)
      .where(
        and(eq(refreshQueue.chainId, chainId), sql`NOT ${sequence} = ANY(${bigints(except.map((it) => it.sequence))})`),
      )
      .orderBy(asc(sequence))
      .limit(limit),
  )
  let room = limit
  return rows.filter((row) => {
    const fits = room > 0
    room -= row.many
    return fits
  })
}

/**
 * Deletes requests whose subjects were observed at `block`. A request that was raised to a new version since it was read
 * stays; what it still has to show is later than that block.
 */
export const completeRefreshRequests = async (
  handle: Handle,
  chainId: ChainId,
  done: readonly RefreshRequest[],
  block: bigint,
) => {
  if (done.length === 0) return
  const versions = sql`${sql.param(done.map(({ version }) => version))}::integer[]`
  await lockRefreshQueue(handle, chainId)
  await handle.execute(sql`WITH completed AS (
      SELECT * FROM unnest(${bigints(done.map(({ sequence }) => sequence))}, ${versions}) AS completed (sequence, version)
    ), deleted AS (
      DELETE FROM ${refreshQueue} AS request USING completed
      WHERE chain_id = ${chainId} AND request.sequence = completed.sequence AND request.version = completed.version
    ) UPDATE ${refreshQueue} AS request SET from_block = ${block + 1n} FROM completed
    WHERE chain_id = ${chainId} AND request.sequence = completed.sequence AND request.version <> completed.version
      AND request.from_block <= ${block}`)
}

/**
 * The length of a chain's refresh queue in subjects (overlapping ranges count twice), and the age of its oldest request
 * in seconds; null when the queue is empty. Throws `service_unavailable` when the database is out of reach.
 */
export const refreshLag = async (database: Database, chainId: ChainId) => {
  const waiting = sql`coalesce(sum(${refreshQueue.many}), 0)`.mapWith(Number)
  const oldestSeconds = sql`extract(epoch FROM now() - min(${refreshQueue.since}))`.mapWith(Number)
  const [lag] = await database.run((handle) =>
    handle.select({ waiting, oldestSeconds }).from(refreshQueue).where(eq(refreshQueue.chainId, chainId)),
  )
  return lag ?? { waiting: 0, oldestSeconds: null }
}
