import { eq } from 'drizzle-orm'
import type { ChainId } from '../protocol/chains.ts'
import { type AuditState, readAudit } from './audits.ts'
import { type DatedLook, readLook } from './looks.ts'
import type { Database } from './pool.ts'
import { cursors } from './schema.ts'
import type { StoredBlock } from './stored.ts'
import { type ObservationLag, observationLag } from './unobserved.ts'
import { type DatedUpgrade, lastUpgrade } from './upgrades.ts'

/** How a chain's index is, as far as the database tells; each null before there is any. */
export type Vitals = {
  /** The block up to which facts are complete. */
  readonly indexed: StoredBlock | null
  readonly look: DatedLook | null
  readonly audit: AuditState | null
  readonly observations: ObservationLag
  /** The newest change of the diamond's functions. */
  readonly upgrade: DatedUpgrade | null
}

/** Reads how a chain's index is. Throws `service_unavailable` when the database is out of reach. */
export const readVitals = async (database: Database, chainId: ChainId): Promise<Vitals> => {
  const observations = await observationLag(database, chainId)
  const kept = await database.snapshot(async (handle) => {
    const [row] = await handle.select().from(cursors).where(eq(cursors.chainId, chainId))
    return {
      indexed:
        row === undefined ? null : { number: row.blockNumber, hash: row.blockHash, timestamp: row.blockTimestamp },
      look: await readLook(handle, chainId),
      audit: await readAudit(handle, chainId),
      upgrade: await lastUpgrade(handle, chainId),
    }
  })
  return { ...kept, observations }
}
