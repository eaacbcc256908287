import { asc, eq, gt, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { ChainId } from '../../protocol/chains.ts'
import type { Handle } from '../pool.ts'
import { changeCounter, changes, cursors } from '../schema/index-state.ts'
import * as work from '../schema/work.ts'
import { storedBlock } from '../stored.ts'
import { CHANNEL } from './channel.ts'
import { feedRows, newEpoch, server, writeFeed } from './feed.ts'
import type { Touched } from './scopes.ts'
import { checkedHead, storedHeadOf } from './stored-head.ts'

/*
 * The change log, from processes that write the index to processes that cache answers. A change is a row, numbered in
 * commit order. A notification carries no data: it only reports that the log has grown. So a reader that missed
 * notifications, or that reads a replica with replication lag, still sees every change.
 */

/** How long a change is kept, in microseconds. A reader that was disconnected for longer drops all that it caches. */
const KEEP_MICROSECONDS = 60_000_000

const now = sql`(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`

/** How far the clocks of a database and of its copies may be apart, in microseconds. */
const MAX_CLOCK_SKEW = 5_000_000

/**
 * The greatest number that a reader can have, as SQL: a number is not above the clock, unless the clock was set back, and
 * a copy of the database may not have the newest changes yet. `last` is the last number here.
 */
export const greatestNumber = (last: SQLWrapper): SQL => sql`greatest(${last}, ${now} + ${MAX_CLOCK_SKEW}::bigint)`

/** The most scopes of a change in the log. A change that touches more counts as a change of everything. */
const MOST_LOGGED = 1_000

/**
 * Announces what a transaction touched when it commits. Call it last: until the commit it blocks announcements of other
 * transactions, which makes the order of the numbers the commit order. Takes a number for each row of the feed
 * (`feed.ts`) and for each of the `many` things that the caller numbers, and returns the last one. When nothing was
 * touched, because only the cursor moved, it takes no number and returns 0. A number is the server's clock in
 * microseconds, or one more than the last number, so that a database restored from an older backup does not reuse
 * numbers.
 */
export const announce = async (handle: Handle, chainId: ChainId, touched: Touched, many = 0): Promise<number> => {
  const { scopes, all, reset } = touched
  if (scopes.size === 0 && !all && many === 0) {
    await handle.execute(sql`SELECT pg_notify(${CHANNEL}, '')`)
    return 0
  }
  const rows = feedRows(touched)
  const taken = sql`${Math.max(1, rows.length + many)}::bigint`
  const logged = all || scopes.size > MOST_LOGGED ? null : sql.param([...scopes.keys()])
  const { rows: written } = await handle.execute<{ seq: string }>(sql`WITH old AS (
      SELECT last, fed, epoch FROM ${changeCounter} FOR UPDATE
    ), counted AS (
      INSERT INTO ${changeCounter} AS counter (one, last, before, fed, server, epoch)
      -- Reads the old row before it is replaced.
      SELECT 1, next, 0, next, ${server}, ${newEpoch} FROM (SELECT ${now} + ${taken} AS next) AS clock LEFT JOIN old ON true
      ON CONFLICT (one) DO UPDATE SET before = counter.last, last = greatest(counter.last + ${taken}, excluded.last),
        fed = greatest(counter.last + ${taken}, excluded.last), server = excluded.server,
        epoch = CASE WHEN counter.server = excluded.server THEN counter.epoch ELSE excluded.epoch END
      RETURNING last, before, epoch
    ), pruned AS (DELETE FROM ${changes} WHERE seq < ${now} - ${KEEP_MICROSECONDS}::bigint), written AS (
      INSERT INTO ${changes} (seq, before, chain_id, scopes) SELECT last, before, ${chainId}::integer, ${logged}::text[] FROM counted RETURNING seq
    ), ${writeFeed(chainId, rows, many, reset)} SELECT seq, pg_notify(${CHANNEL}, '') FROM written`)
  return Number(written[0]?.seq)
}

/** A change of the log. */
export type Change = Readonly<typeof changes.$inferSelect>

/** The changes after a number, in order. */
export const changesAfter = (handle: Handle, seq: number): Promise<Change[]> =>
  handle.select().from(changes).where(gt(changes.seq, seq)).orderBy(asc(changes.seq))

/** The number of the newest change; 0 before the first. */
export const newestChange = async (handle: Handle): Promise<number> => {
  const [row] = await handle.select({ last: changeCounter.last }).from(changeCounter)
  return row?.last ?? 0
}

/** The progress of a chain's index: the block up to which facts are complete, and the worker's last heartbeat. */
export type Reached = Readonly<ReturnType<typeof reachedOf>>

/** The query of the progress of chains that have an index. */
export const selectReached = (handle: Handle) =>
  handle
    .select({ cursor: cursors, heartbeat: { ...checkedHead, source: work.heartbeats.source } })
    .from(cursors)
    .leftJoin(work.heartbeats, eq(work.heartbeats.chainId, cursors.chainId))

export const reachedOf = ({ cursor, heartbeat }: Awaited<ReturnType<typeof selectReached>>[number]) => ({
  chainId: cursor.chainId,
  block: storedBlock(cursor),
  /** The worker's last heartbeat; null before the first. */
  heartbeat: heartbeat && {
    /** Its age in seconds. */
    ageSeconds: heartbeat.ageSeconds,
    head: { number: heartbeat.headNumber, timestamp: heartbeat.headTimestamp },
    /** The head for reads (`storedHeadOf`). */
    stored: storedHeadOf(heartbeat),
    /** Whether no log of the protocol lies between the block and the head. */
    isQuiet: heartbeat.isQuiet && heartbeat.checkedNumber === heartbeat.headNumber,
    /** Whether logs report changes. Otherwise the index polls for them. */
    byLogs: heartbeat.source === 'logs',
  },
})

/** Reads the progress of every chain that has an index. */
export const reached = async (handle: Handle): Promise<Reached[]> => (await selectReached(handle)).map(reachedOf)
