import { type SQL, sql } from 'drizzle-orm'
import type { ChainId } from '../../protocol/chains.ts'
import type { Handle } from '../pool.ts'
import { feed, feedEpochs, feedFloors } from '../schema/feed.ts'
import { cursors } from '../schema/index-state.ts'
import { aspects, type Touched } from './scopes.ts'

/*
 * The feed of changes: one row for each subject that ever changed, with the number of its newest change. A reader with
 * a cursor asks for the rows with a larger number. It is complete from the floor of a chain on, and it belongs to a
 * history, the epoch: a database that was restored or promoted begins a new one, and remembers up to which number it
 * shares the earlier ones (decision 27).
 */

/**
 * The running server, its database and the file of the counter. A copy that is promoted or cloned has another start time
 * or another database id, and a backup that is restored in place gives the counter another file.
 */
export const server = sql`(SELECT concat_ws(' ', pg_postmaster_start_time(), oid, pg_relation_filenode('change_counter'))
  FROM pg_database WHERE datname = current_database())`

/** The name of a new epoch. */
export const newEpoch = sql`left(replace(gen_random_uuid()::text, '-', ''), 12)`

/** A row of the feed: the subject, and the bits of the `aspects` that changed. */
type FeedRow = { readonly type: string; readonly key: string; readonly bits: number }

/** The rows of the feed that a transaction writes. */
export const feedRows = ({ scopes, reset }: Touched): FeedRow[] => {
  if (reset !== null) return []
  return [...scopes].flatMap(([scope, bits]) => {
    const [type = '', key = ''] = scope.split(':')
    return type === 'protocol' || bits > 0 ? [{ type, key, bits }] : []
  })
}

const aspectNames = Object.keys(aspects) as (keyof typeof aspects)[]
const names = sql.raw(aspectNames.join(', '))

/** The number of a row where its bits have the aspect, else 0. */
const numbers = sql.raw(
  aspectNames.map((name) => `CASE WHEN bits & ${aspects[name]} > 0 THEN seq ELSE 0 END`).join(', '),
)
const newest = sql.raw(aspectNames.map((name) => `${name} = greatest(feed.${name}, excluded.${name})`).join(', '))

/**
 * Parts of the statement that announces a change (`changes.ts`), after `old` and `counted`: the counter before and after
 * it. Writes `rows` under the numbers before the last `many`, or raises the floor of the chain to the last number. When
 * another writer took numbers without the feed, raises the floors of all chains. Ends the epoch of another server.
 */
export const writeFeed = (chainId: ChainId, rows: readonly FeedRow[], many: number, reset: Touched['reset']): SQL => {
  const column = (name: keyof FeedRow) => sql.param(rows.map((row) => row[name]))
  const given = sql`unnest(${column('type')}::text[], ${column('key')}::text[], ${column('bits')}::integer[])
    WITH ORDINALITY AS given (type, key, bits, nth)`
  const isRaised = reset === null ? sql`false` : sql`chain_id = ${chainId}`
  return sql`ended AS (
      INSERT INTO ${feedEpochs} (epoch, last) SELECT old.epoch, old.last FROM old, counted
      WHERE old.epoch NOT IN (counted.epoch, '') ON CONFLICT DO NOTHING
    ), unannounced AS (
      UPDATE ${feedFloors} SET seq = counted.last, reason = 'unannounced' FROM old, counted
      WHERE old.fed <> old.last AND seq IS NOT NULL AND NOT ${isRaised}
    ), raised AS (
      INSERT INTO ${feedFloors} (chain_id, seq, reason) SELECT ${chainId}::integer, last, ${reset ?? ''} FROM counted WHERE ${reset !== null}::boolean
      ON CONFLICT (chain_id) DO UPDATE SET seq = excluded.seq, reason = excluded.reason WHERE feed_floors.seq IS NOT NULL
    ), fed AS (
      INSERT INTO ${feed} (chain_id, type, key, ${names}, seq, block_number, block_hash)
      SELECT ${chainId}::integer, type, key, ${numbers}, seq, block_number, block_hash
      FROM (SELECT type, key, bits, last - ${rows.length + many}::bigint + nth AS seq FROM counted, ${given}) AS numbered,
        ${cursors} AS cursor
      WHERE cursor.chain_id = ${chainId} AND EXISTS (SELECT FROM ${feedFloors} WHERE chain_id = ${chainId} AND seq IS NOT NULL)
      ON CONFLICT (chain_id, type, key) DO UPDATE SET ${newest}, seq = excluded.seq,
        block_number = excluded.block_number, block_hash = excluded.block_hash
    )`
}

/** Suspends the feed of a chain, whose index is about to change as a whole. */
export const suspendFeed = async (handle: Handle, chainId: ChainId, reason: 'backfill' | 'rebuilt'): Promise<void> => {
  await handle.execute(sql`INSERT INTO ${feedFloors} (chain_id, seq, reason) VALUES (${chainId}, NULL, ${reason})
    ON CONFLICT (chain_id) DO UPDATE SET seq = NULL, reason = excluded.reason WHERE feed_floors.seq IS NOT NULL`)
}

/**
 * Continues the feed of a chain after a suspension, and begins it the first time. Returns the reason to announce a reset
 * with; null when the feed was not suspended.
 */
export const resumeFeed = async (handle: Handle, chainId: ChainId): Promise<Touched['reset']> => {
  const { rows } = await handle.execute<{ reason: NonNullable<Touched['reset']> }>(sql`
    INSERT INTO ${feedFloors} AS floor (chain_id, seq, reason) VALUES (${chainId}, 0, 'backfill')
    ON CONFLICT (chain_id) DO UPDATE SET seq = 0 WHERE floor.seq IS NULL RETURNING reason`)
  return rows[0]?.reason ?? null
}
