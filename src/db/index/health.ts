import type { ChainId } from '../../protocol/chains.ts'
import type { Database } from '../pool.ts'
import { readAudit } from './audit/runs.ts'
import { readFeesContradiction } from './fees.ts'
import { readLedgerState } from './ledger-state.ts'
import { readHeartbeat } from './work/heartbeat.ts'
import { readLogGaps } from './work/log-gaps.ts'
import { readCursor } from './work/progress.ts'
import { refreshLag } from './work/refresh-queue.ts'
import { lastUpgrade } from './work/upgrades.ts'

/** The health of a chain's index, as far as the database knows; each field is null before its first value. */
export type IndexHealth = Readonly<Awaited<ReturnType<typeof readIndexHealth>>>

/** Reads the health of a chain's index. Throws `service_unavailable` when the database is out of reach. */
export const readIndexHealth = async (database: Database, chainId: ChainId) => {
  const observations = await refreshLag(database, chainId)
  const stored = await database.snapshot(async (handle) => ({
    /** The block up to which facts are complete. */
    indexed: await readCursor(handle, chainId),
    heartbeat: await readHeartbeat(handle, chainId),
    audit: await readAudit(handle, chainId),
    feesContradiction: await readFeesContradiction(handle, chainId),
    /** The rows that lack their log. */
    withoutLog: await readLogGaps(handle, chainId),
    /** The progress of the ledger and of its sums. */
    ledger: await readLedgerState(handle, chainId),
    /** The newest change of the diamond's functions. */
    upgrade: await lastUpgrade(handle, chainId),
  }))
  return { ...stored, observations }
}
