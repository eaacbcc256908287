import { asc, eq, gt, sql } from 'drizzle-orm'
import type { ChainId } from '../protocol/chains.ts'
import type { Handle } from './pool.ts'
import * as t from './schema.ts'
import * as work from './schema-work.ts'
import type { Scopes } from './scopes.ts'
import type { StoredBlock } from './stored.ts'

/*
 * What changed, from those who write to those who keep answers. A change is a row, numbered in the order of the commits; a notification
 * only rings the bell. So a reader that missed notifications, or reads a copy of the database that trails behind, misses no change.
 */

/** The channel that rings when something was committed. */
export const CHANNEL = 'changes'

/** How long a change is kept, in microseconds: whoever was away for longer starts anew. */
const KEPT = 60_000_000

const now = sql`(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`

/**
 * Says what a transaction has changed, and has it made known when it commits. To be called last: from here to the commit no other
 * transaction announces, so that the order of the numbers is the order of the commits. Takes `many` numbers and gives the last; 0 when
 * nothing was touched, which moves the chain's cursor alone and takes none. Numbers are microseconds of the server's clock, or one more than
 * the last, so that a database that is restored from an older copy does not give one twice.
 */
export const announce = async (handle: Handle, chainId: ChainId, scopes: Scopes, many = 1): Promise<number> => {
  if (scopes?.size === 0) {
    await handle.execute(sql`SELECT pg_notify(${CHANNEL}, '')`)
    return 0
  }
  const touched = sql`${scopes === null ? null : sql.param([...scopes])}::text[]`
  const { rows } = await handle.execute<{ seq: string }>(sql`WITH counted AS (
      INSERT INTO ${t.changeCounter} AS counter (one, last, before) VALUES (1, ${now} + ${many}::bigint, 0)
      ON CONFLICT (one) DO UPDATE SET before = counter.last, last = greatest(counter.last + ${many}::bigint, excluded.last)
      RETURNING last, before
    ), pruned AS (DELETE FROM ${t.changes} WHERE seq < ${now} - ${KEPT}::bigint), written AS (
      INSERT INTO ${t.changes} (seq, before, chain_id, scopes) SELECT last, before, ${chainId}::integer, ${touched} FROM counted RETURNING seq
    ) SELECT seq, pg_notify(${CHANNEL}, '') FROM written`)
  return Number(rows[0]?.seq)
}

/** A change as it was announced; `before` is the number of the one before. */
export type Change = {
  readonly seq: number
  readonly before: number
  readonly chainId: number
  readonly scopes: readonly string[] | null
}

/** The changes after a number, in order. */
export const changesAfter = (handle: Handle, seq: number): Promise<Change[]> =>
  handle.select().from(t.changes).where(gt(t.changes.seq, seq)).orderBy(asc(t.changes.seq))

/** The number of the newest change; 0 before the first. */
export const newestChange = async (handle: Handle): Promise<number> => {
  const [row] = await handle.select({ last: t.changeCounter.last }).from(t.changeCounter)
  return row?.last ?? 0
}

/** How far a chain's index has come: the block up to which facts are complete, and what the worker saw of the chain last. */
export type Reached = {
  readonly chainId: number
  readonly block: StoredBlock
  /** Null before the worker's first look. */
  readonly look: {
    /** How long ago it was, in seconds. */
    readonly ageSeconds: number
    /** The head's time, in Unix seconds. */
    readonly headTimestamp: bigint
    /** Whether the index is told by logs of what changes, and need not look for it. */
    readonly byLogs: boolean
  } | null
}

/** That of every chain which has an index. */
export const reached = async (handle: Handle): Promise<Reached[]> => {
  const { headTimestamp, source, lookedAt } = work.looks
  const rows = await handle
    .select({
      cursor: t.cursors,
      look: {
        headTimestamp,
        source,
        ageSeconds: sql`extract(epoch FROM clock_timestamp() - ${lookedAt})`.mapWith(Number),
      },
    })
    .from(t.cursors)
    .leftJoin(work.looks, eq(work.looks.chainId, t.cursors.chainId))
  return rows.map(({ cursor, look }) => ({
    chainId: cursor.chainId,
    block: { number: cursor.blockNumber, hash: cursor.blockHash, timestamp: cursor.blockTimestamp },
    look: look && {
      ageSeconds: look.ageSeconds,
      headTimestamp: look.headTimestamp,
      byLogs: look.source === 'logs',
    },
  }))
}
