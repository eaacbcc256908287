import { and, eq, sql } from 'drizzle-orm'
import type { ChainId } from '../../../protocol/chains.ts'
import type { Database, Handle } from '../../pool.ts'
import { leases } from '../../schema/work.ts'

/** The right to write the index of one chain, valid while its epoch and its holder are the current ones. */
export type Lease = { readonly chainId: ChainId; readonly holder: string; readonly epoch: bigint }

/** Another worker has the lease now. The transaction must not commit. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}

const after = (ms: number) => sql`now() + ${ms} * interval '1 millisecond'`

/** Part of its lifetime that a lease has left when other workers begin to check whether its holder's session exists. */
const LEFT_WHEN_SILENT = 0.7

/** Part of its lifetime after which a lease is extended (decision 11). */
export const EXTENDED_EVERY = 0.1

/**
 * The session that runs the statement. PostgreSQL hides the start of another role's session; such a session counts as
 * open while its process id exists.
 */
const ownSession = {
  sessionPid: sql`pg_backend_pid()`,
  sessionSince: sql`(SELECT backend_start FROM pg_stat_get_activity(pg_backend_pid()))`,
} as const

const hasSessionEnded = sql`${leases.sessionPid} IS NOT NULL AND NOT EXISTS (SELECT FROM pg_stat_get_activity(${leases.sessionPid}) AS session
  WHERE coalesce(session.backend_start = ${leases.sessionSince}, true))`

/**
 * Takes a chain's lease when it is free, expired or already the holder's, or when its holder is silent and the holder's
 * session has ended; null while another worker holds it. `session` is a database with a single connection, open for the
 * lifetime of the lease. All times are the database's, so the clocks of the processes do not matter.
 */
export const takeLease = async (session: Database, chainId: ChainId, holder: string, ttlMs: number) => {
  const taken = { holder, expiresAt: after(ttlMs), ...ownSession }
  const [row] = await session.run((handle) =>
    handle
      .insert(leases)
      .values({ chainId, epoch: 1n, ...taken })
      .onConflictDoUpdate({
        target: leases.chainId,
        set: { ...taken, epoch: sql`${leases.epoch} + 1` },
        setWhere: sql`${leases.expiresAt} < now() OR ${leases.holder} = ${holder}
          OR (${leases.expiresAt} < ${after(ttlMs * LEFT_WHEN_SILENT)} AND ${hasSessionEnded})`,
      })
      .returning({ epoch: leases.epoch }),
  )
  return row === undefined ? null : ({ chainId, holder, epoch: row.epoch } satisfies Lease)
}

/**
 * The row of a lease while it is valid. The epoch alone does not suffice: after an asynchronous failover that lost the
 * commit of one holder, another one may take the same epoch.
 */
const isValid = ({ chainId, holder, epoch }: Lease) =>
  and(eq(leases.chainId, chainId), eq(leases.epoch, epoch), eq(leases.holder, holder))

/** Sets a lease to expire in `ms`. Returns no row when it is not valid. */
const expireAfter = (handle: Handle, lease: Lease, ms: number) =>
  handle
    .update(leases)
    .set({ expiresAt: after(ms) })
    .where(isValid(lease))
    .returning({ epoch: leases.epoch })

/**
 * Extends the lease and locks it until the end of the transaction. A lock of the connection would not suffice: a
 * process that was suspended and resumed still has its connection. Throws LeaseLost when it is not valid.
 */
export const holdLease = async (handle: Handle, lease: Lease, ttlMs: number): Promise<void> => {
  const extended = await expireAfter(handle, lease, ttlMs)
  if (extended.length === 0)
    throw new LeaseLost(`another worker took the lease of chain ${lease.chainId} after epoch ${lease.epoch}`)
}

/**
 * Extends a lease and records the current session, which may have changed since `takeLease`. Skips a lease that a
 * transaction has locked, because the transaction extends it. Waiting for that lock would be wrong: the server would
 * then extend the lease of a process that was suspended inside the transaction.
 */
export const extendLease = async (session: Database, lease: Lease, ttlMs: number): Promise<void> => {
  await session.run((handle) =>
    handle
      .update(leases)
      .set({ expiresAt: after(ttlMs), ...ownSession })
      .where(sql`${leases.chainId} = (SELECT chain_id FROM ${leases} WHERE ${isValid(lease)} FOR UPDATE SKIP LOCKED)`),
  )
}

/** Releases a lease, so that another worker can take it before it expires. */
export const releaseLease = async (database: Database, lease: Lease): Promise<void> => {
  await database.run((handle) => expireAfter(handle, lease, 0))
}
