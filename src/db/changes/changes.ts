import { asc, eq, gt, sql } from 'drizzle-orm'
import type { ChainId } from '../../protocol/chains.ts'
import { ageOf } from '../columns.ts'
import type { Handle } from '../pool.ts'
import { changeCounter, changes, cursors } from '../schema-index.ts'
import * as work from '../schema-work.ts'
import { storedBlock } from '../stored.ts'
import type { Scopes } from './scopes.ts'

/*
 * The change log, from processes that write the index to processes that cache answers. A change is a row, numbered in
 * commit order. A notification carries no data: it only reports that the log has grown. So a reader that missed
 * notifications, or that reads a replica with replication lag, still sees every change.
 */

/** The PostgreSQL notification channel for commits. */
export const CHANNEL = 'changes'

/** How long a change is kept, in microseconds. A reader that was disconnected for longer drops all that it caches. */
const KEEP_MICROSECONDS = 60_000_000

const now = sql`(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`

/**
 * Announces the changes of a transaction when it commits. Call it last: until the commit it blocks announcements of
 * other transactions, which makes the order of the numbers the commit order. Takes `many` numbers and returns the last
 * one. With no scopes, when only the cursor moved, it takes no number and returns 0. A number is the server's clock in
 * microseconds, or one more than the last number, so that a database restored from an older backup does not reuse
 * numbers.
 */
export const announce = async (handle: Handle, chainId: ChainId, scopes: Scopes, many = 1): Promise<number> => {
  if (scopes?.size === 0) {
    await handle.execute(sql`SELECT pg_notify(${CHANNEL}, '')`)
    return 0
  }
  const touched = sql`${scopes === null ? null : sql.param([...scopes])}::text[]`
  const { rows } = await handle.execute<{ seq: string }>(sql`WITH counted AS (
      INSERT INTO ${changeCounter} AS counter (one, last, before) VALUES (1, ${now} + ${many}::bigint, 0)
      ON CONFLICT (one) DO UPDATE SET before = counter.last, last = greatest(counter.last + ${many}::bigint, excluded.last)
      RETURNING last, before
    ), pruned AS (DELETE FROM ${changes} WHERE seq < ${now} - ${KEEP_MICROSECONDS}::bigint), written AS (
      INSERT INTO ${changes} (seq, before, chain_id, scopes) SELECT last, before, ${chainId}::integer, ${touched} FROM counted RETURNING seq
    ) SELECT seq, pg_notify(${CHANNEL}, '') FROM written`)
  return Number(rows[0]?.seq)
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
export type Reached = Readonly<Awaited<ReturnType<typeof reached>>[number]>

/** Reads the progress of every chain that has an index. */
export const reached = async (handle: Handle) => {
  const { headTimestamp, source, reportedAt } = work.heartbeats
  const rows = await handle
    .select({ cursor: cursors, look: { headTimestamp, source, ageSeconds: ageOf(reportedAt) } })
    .from(cursors)
    .leftJoin(work.heartbeats, eq(work.heartbeats.chainId, cursors.chainId))
  return rows.map(({ cursor, look }) => ({
    chainId: cursor.chainId,
    block: storedBlock(cursor),
    /** The worker's last heartbeat; null before the first. */
    heartbeat: look && {
      /** Its age in seconds. */
      ageSeconds: look.ageSeconds,
      /** The head's time, in Unix seconds. */
      headTimestamp: look.headTimestamp,
      /** Whether logs report changes. Otherwise the index polls for them. */
      byLogs: look.source === 'logs',
    },
  }))
}
