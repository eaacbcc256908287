import { desc, eq, sql } from 'drizzle-orm'
import type { Hex } from 'viem'
import type { ChainId } from '../protocol/chains.ts'
import type { Database, Handle } from './pool.ts'
import * as t from './schema.ts'
import * as work from './schema-work.ts'
import { markEverything } from './unobserved.ts'

/** A change of the diamond's functions. `txHash` is null where no log reported it; the block is then the one at which it was found. */
export type Upgrade = { readonly blockNumber: bigint; readonly blockHash: Hex; readonly txHash: Hex | null }

/** An upgrade and when the index learned of it. */
export type DatedUpgrade = Upgrade & { readonly recordedAt: Date }

/**
 * Records that the diamond's functions changed and has every entity observed again: new code may return something else for each of them,
 * and an initializer may have changed their state. The caller announces that everything changed.
 */
export const recordUpgrade = async (handle: Handle, chainId: ChainId, upgrade: Upgrade): Promise<void> => {
  const { blockNumber, blockHash, txHash } = upgrade
  await markEverything(handle, chainId)
  await handle.insert(t.upgrades).values({ chainId, blockNumber, blockHash, txHash })
  // The next observation stores the new listing; compared with the old one it would be the same upgrade a second time.
  await handle.update(t.chainObservations).set({ loupeHash: null }).where(eq(t.chainObservations.chainId, chainId))
  // What creations fixed is read by views too, and compared anew.
  await handle.update(work.audits).set({ kind: 'event', nextId: 0n }).where(eq(work.audits.chainId, chainId))
}

/** Whether no round of the audit over all rows ended since the newest upgrade. */
export const isAuditDue = async (database: Database, chainId: ChainId): Promise<boolean> => {
  const due = sql`SELECT FROM ${t.upgrades} LEFT JOIN ${work.audits} USING (chain_id)
    WHERE chain_id = ${chainId} AND (round_at IS NULL OR round_at < recorded_at) LIMIT 1`
  return (await database.run((handle) => handle.execute(due))).rows.length > 0
}

/** The newest upgrade of a chain's diamond; null when the index knows of none. */
export const lastUpgrade = async (handle: Handle, chainId: ChainId): Promise<DatedUpgrade | null> => {
  const [row] = await handle
    .select()
    .from(t.upgrades)
    .where(eq(t.upgrades.chainId, chainId))
    .orderBy(desc(t.upgrades.seq))
    .limit(1)
  return row ?? null
}
