import type { FeeLog, Hint } from '../../protocol/abi/logs.ts'
import { kinds } from '../../protocol/entities.ts'
import { announce } from '../changes/changes.ts'
import { type Touched, touchedByIds, touchedByMembers, touchingAll, union } from '../changes/scopes.ts'
import type { Database } from '../pool.ts'
import type { StoredBlock } from '../stored.ts'
import { completeFees, insertFees } from './fees.ts'
import { idsIn, writeHints } from './hints.ts'
import { type LedgerRow, newsIn, numberRows, putLedger, touchedByRows } from './ledger.ts'
import { fillSettlements } from './settlements.ts'
import { deferGap, fillRows, isSameGap, type LogGap, shortenGap } from './work/log-gaps.ts'
import { byKind, holdAnchor } from './work/progress.ts'
import { lockRefreshQueue } from './work/refresh-queue.ts'
import type { Dated, DatedFact } from './write.ts'

/** The logs of a gap from a block up to the newest one that was to be read. */
export type GapLogs = {
  readonly from: bigint
  readonly facts: readonly DatedFact[]
  readonly hints: readonly Hint[]
  readonly fees: readonly Dated<FeeLog>[]
  readonly ledger: readonly LedgerRow[]
}

/**
 * Stores logs of a gap: rows that lack their log get its values, and everything that shows them changes. Returns how
 * many rows got theirs, and whether all logs of the gap were read and rows still lack theirs. Stores nothing when the
 * gap has changed since it was read, and throws AnchorLost after a rollback of the anchor.
 */
export const storeGapLogs = (
  database: Pick<Database, 'transaction'>,
  gap: LogGap,
  anchor: StoredBlock,
  logs: GapLogs,
): Promise<{ readonly filled: number; readonly lacks: boolean }> =>
  database.transaction(async (handle) => {
    const { chainId } = gap
    await lockRefreshQueue(handle, chainId)
    await holdAnchor(handle, chainId, anchor)
    if (!(await isSameGap(handle, gap))) return { filled: 0, lacks: false }
    const facts = byKind(logs.facts)
    const touched: Touched[] = []
    let filled = 0
    for (const kind of kinds) {
      const ids = await fillRows(handle, chainId, kind, facts[kind])
      filled += ids.length
      touched.push(await touchedByIds(handle, chainId, kind, ids))
      // The fees of deposits and positions depend on the log of their event.
      if (kind === 'event') touched.push(await touchedByMembers(handle, chainId, ids))
    }
    await insertFees(handle, chainId, logs.fees)
    const added = await putLedger(handle, chainId, logs.ledger)
    // The past of a whole chain would be news for every reader of the feed.
    if (gap.ledgerOnly && added.length > 0) touched.push(touchingAll(null))
    else touched.push(await touchedByRows(handle, chainId, added))
    // No read waits for the refresh: the logs may be old.
    if (!gap.ledgerOnly) await writeHints(handle, chainId, logs.hints, null)
    touched.push(await fillSettlements(handle, chainId, idsIn(logs.hints, 'event')))
    const lacks = await shortenGap(handle, gap, logs.from)
    const all = union([...touched, await completeFees(handle, chainId)])
    const news = gap.ledgerOnly ? [] : newsIn(added, all)
    await numberRows(handle, chainId, news, await announce(handle, chainId, all, news.length))
    return { filled, lacks }
  })

/** Stores that no node has the log of some row of a gap, which is due again after `ms` milliseconds. */
export const markAbsent = (database: Pick<Database, 'transaction'>, gap: LogGap, ms: number): Promise<void> =>
  database.transaction(async (handle) => {
    await lockRefreshQueue(handle, gap.chainId)
    await deferGap(handle, gap, { ms, state: 'absent' })
    await announce(handle, gap.chainId, await completeFees(handle, gap.chainId))
  })
