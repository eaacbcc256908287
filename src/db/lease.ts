import { sql } from 'drizzle-orm'
import type { ChainId } from '../protocol/chains.ts'
import type { Database, Handle } from './pool.ts'
import { leases } from './schema.ts'

/** The right to write one chain's index, as long as its epoch is the current one. */
export type Lease = { readonly chainId: ChainId; readonly holder: string; readonly epoch: bigint }

/** Somebody else writes this chain now: what was about to be written must not be. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}

const until = (ttlMs: number) => sql`now() + ${ttlMs} * interval '1 millisecond'`

/**
 * Takes a chain's lease when it is free, expired or already the holder's; null while another holds it. Times are the database's,
 * so the clocks of the processes do not matter.
 */
export const takeLease = async (
  database: Database,
  chainId: ChainId,
  holder: string,
  ttlMs: number,
): Promise<Lease | null> => {
  const [row] = await database.run((handle) =>
    handle
      .insert(leases)
      .values({ chainId, holder, epoch: 1n, expiresAt: until(ttlMs) })
      .onConflictDoUpdate({
        target: leases.chainId,
        set: { holder, epoch: sql`${leases.epoch} + 1`, expiresAt: until(ttlMs) },
        setWhere: sql`${leases.expiresAt} < now() OR ${leases.holder} = ${holder}`,
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
    .set({ expiresAt: until(ttlMs) })
    .where(sql`${leases.chainId} = ${lease.chainId} AND ${leases.epoch} = ${lease.epoch}`)
    .returning({ epoch: leases.epoch })
  if (held.length === 0)
    throw new LeaseLost(`chain ${lease.chainId} is written by another worker since epoch ${lease.epoch}`)
}

/**
 * Extends a lease beside a long step, unless a transaction holds it, which extends it itself. Waiting for that one would not do: the server
 * would extend the lease of a process that has stopped in the middle of it.
 */
export const extendLease = async (database: Database, { chainId, epoch }: Lease, ttlMs: number): Promise<void> => {
  await database.run((handle) =>
    handle.execute(sql`UPDATE ${leases} SET expires_at = ${until(ttlMs)} WHERE chain_id =
      (SELECT chain_id FROM ${leases} WHERE chain_id = ${chainId} AND epoch = ${epoch} FOR UPDATE SKIP LOCKED)`),
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
