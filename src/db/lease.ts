import { sql } from 'drizzle-orm'
import type { ChainId } from '../protocol/chains.ts'
import type { Database, Handle } from './pool.ts'
import { leases } from './schema-work.ts'

/** The right to write one chain's index, as long as its epoch is the current one. */
export type Lease = { readonly chainId: ChainId; readonly holder: string; readonly epoch: bigint }

/** Somebody else writes this chain now: what was about to be written must not be. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}

const after = (ms: number) => sql`now() + ${ms} * interval '1 millisecond'`

/** Part of its time that a lease has left when nobody has extended it for so long that one asks whether its holder is still there. */
const LEFT_WHEN_SILENT = 0.7

/** Part of its time after which a lease is extended: a few times within the silence after which its holder is asked for. */
export const EXTENDED_EVERY = 0.1

/** The session that a statement runs in. Another role's is not told; then it counts as there for as long as its process is. */
const ours = {
  sessionPid: sql`pg_backend_pid()`,
  sessionSince: sql`(SELECT backend_start FROM pg_stat_get_activity(pg_backend_pid()))`,
} as const

const isGone = sql`${leases.sessionPid} IS NOT NULL AND NOT EXISTS (SELECT FROM pg_stat_get_activity(${leases.sessionPid}) AS session
  WHERE coalesce(session.backend_start = ${leases.sessionSince}, true))`

/**
 * Takes a chain's lease when it is free, expired or already the holder's, or when its holder is silent and its session gone; null while
 * another holds it. `session` is a database of one connection, kept for as long as the lease is. Times are the database's, so the clocks
 * of the processes do not matter.
 */
export const takeLease = async (
  session: Database,
  chainId: ChainId,
  holder: string,
  ttlMs: number,
): Promise<Lease | null> => {
  const taken = { holder, expiresAt: after(ttlMs), ...ours }
  const [row] = await session.run((handle) =>
    handle
      .insert(leases)
      .values({ chainId, epoch: 1n, ...taken })
      .onConflictDoUpdate({
        target: leases.chainId,
        set: { ...taken, epoch: sql`${leases.epoch} + 1` },
        setWhere: sql`${leases.expiresAt} < now() OR ${leases.holder} = ${holder}
          OR (${leases.expiresAt} < ${after(ttlMs * LEFT_WHEN_SILENT)} AND ${isGone})`,
      })
      .returning({ epoch: leases.epoch }),
  )
  return row === undefined ? null : { chainId, holder, epoch: row.epoch }
}

/**
 * Holds the lease for the rest of a transaction and extends it. A lock on a connection alone would not do: a process that was
 * stopped and continued still has its connection. Throws LeaseLost when the epoch has moved on.
 */
export const holdLease = async (handle: Handle, lease: Lease, ttlMs: number): Promise<void> => {
  const held = await handle
    .update(leases)
    .set({ expiresAt: after(ttlMs) })
    .where(sql`${leases.chainId} = ${lease.chainId} AND ${leases.epoch} = ${lease.epoch}`)
    .returning({ epoch: leases.epoch })
  if (held.length === 0)
    throw new LeaseLost(`chain ${lease.chainId} is written by another worker since epoch ${lease.epoch}`)
}

/**
 * Extends a lease, and tells the session as `takeLease` does: it may be another one by now. Not while a transaction holds the lease, which
 * extends it itself. Waiting for that one would not do: the server would extend the lease of a process that has stopped in the middle of it.
 */
export const extendLease = async (session: Database, { chainId, epoch }: Lease, ttlMs: number): Promise<void> => {
  await session.run((handle) =>
    handle
      .update(leases)
      .set({ expiresAt: after(ttlMs), ...ours })
      .where(
        sql`${leases.chainId} = (SELECT chain_id FROM ${leases} WHERE chain_id = ${chainId} AND epoch = ${epoch} FOR UPDATE SKIP LOCKED)`,
      ),
  )
}

/** Gives a lease up, so that another worker need not wait for it to expire. */
export const releaseLease = async (database: Database, lease: Lease): Promise<void> => {
  await database.run((handle) =>
    handle
      .update(leases)
      .set({ expiresAt: sql`now()` })
      .where(sql`${leases.chainId} = ${lease.chainId} AND ${leases.epoch} = ${lease.epoch}`),
  )
}
