import { desc, eq, sql } from 'drizzle-orm'
import type { ChainId } from '../../../protocol/chains.ts'
import type { Database, Handle } from '../../pool.ts'
import { upgrades } from '../../schema/index-state.ts'
import * as t from '../../schema/records.ts'
import * as work from '../../schema/work.ts'
import { requestFullRefresh } from './refresh-queue.ts'

type RecordedUpgrade = Readonly<Omit<typeof upgrades.$inferSelect, 'chainId' | 'seq'>>

/** A change of the diamond's functions. Without a log, `txHash` is null and the block is that of its detection. */
type Upgrade = Omit<RecordedUpgrade, 'recordedAt'>

/**
 * Records a change of the diamond's functions and requests a refresh of every entity: the new code may return other
 * values, and its initializer may have changed state. The caller announces that everything changed.
 */
export const recordUpgrade = async (handle: Handle, chainId: ChainId, upgrade: Upgrade): Promise<void> => {
  const { blockNumber, blockHash, txHash } = upgrade
  await requestFullRefresh(handle, chainId, blockNumber)
  await handle.insert(upgrades).values({ chainId, blockNumber, blockHash, txHash })
  // The next observation stores the new hash. Compared with the old one, it would report the same upgrade a second
  // time.
  await handle.update(t.chainObservations).set({ loupeHash: null }).where(eq(t.chainObservations.chainId, chainId))
  // New code may also return other values for fields that are fixed at creation, so the audit starts a new round.
  await handle.update(work.audits).set({ kind: 'event', nextId: 0n }).where(eq(work.audits.chainId, chainId))
}

/** Whether the audit has completed no round since the newest upgrade. */
export const isAuditDue = async (database: Database, chainId: ChainId): Promise<boolean> => {
  const due = sql`SELECT FROM ${upgrades} LEFT JOIN ${work.audits} USING (chain_id)
    WHERE chain_id = ${chainId} AND (round_at IS NULL OR round_at < recorded_at) LIMIT 1`
  return (await database.run((handle) => handle.execute(due))).rows.length > 0
}

/** The newest recorded upgrade of a chain's diamond; null when there is none. */
export const lastUpgrade = async (handle: Handle, chainId: ChainId): Promise<RecordedUpgrade | null> => {
  const [row] = await handle
    .select()
    .from(upgrades)
    .where(eq(upgrades.chainId, chainId))
    .orderBy(desc(upgrades.seq))
    .limit(1)
  return row ?? null
}
