import { and, asc, between, eq, ne, sql } from 'drizzle-orm'
import type { ChainId } from '../../../protocol/chains.ts'
import { announce } from '../../changes/changes.ts'
import { type Touched, touchedByEvents, touching, union } from '../../changes/scopes.ts'
import type { Database, Handle } from '../../pool.ts'
import { logGaps } from '../../schema/index-state.ts'
import { ledger } from '../../schema/ledger.ts'
import * as work from '../../schema/work.ts'
import type { StoredBlock } from '../../stored.ts'
import { insertFees, judgeFees } from '../fees.ts'
import type { GapLogs } from '../gap-logs.ts'
import { idsIn, writeHints } from '../hints.ts'
import { completeRows, type LedgerRow, newsIn, numberRows, putLedger, storedRows, touchedByRows } from '../ledger.ts'
import { fillSettlements } from '../settlements.ts'
import { holdAnchor, readCursor } from '../work/progress.ts'
import { lockRefreshQueue } from '../work/refresh-queue.ts'

/** A row of the ledger as it is stored. */
export type StoredLedgerRow = Readonly<typeof ledger.$inferSelect>

/** Blocks whose logs the ledger lacks, both ends included. */
type Unread = { readonly from: bigint; readonly to: bigint }

export type LedgerPart = {
  readonly stored: readonly StoredLedgerRow[]
  /** The rows of the given logs, with what the facts of the index add to them. */
  readonly rows: readonly LedgerRow[]
  readonly unread: readonly Unread[]
}

/** The newest block up to which the ledger is compared; null while nothing is indexed. */
export const ledgerEnd = (database: Pick<Database, 'snapshot'>, chainId: ChainId): Promise<StoredBlock | null> =>
  database.snapshot((handle) => readCursor(handle, chainId))

/** Reads the rows of a range of blocks, and completes those of the logs of the same range. */
export const readLedgerPart = (
  database: Pick<Database, 'snapshot'>,
  chainId: ChainId,
  range: { readonly from: bigint; readonly upTo: bigint },
  logs: readonly LedgerRow[],
): Promise<LedgerPart> =>
  database.snapshot(async (handle) => {
    const { blockNumber, logIndex } = ledger
    const stored = await handle
      .select()
      .from(ledger)
      .where(and(eq(ledger.chainId, chainId), between(blockNumber, range.from, range.upTo)))
      .orderBy(asc(blockNumber), asc(logIndex))
    const unread = await handle
      .select({ from: logGaps.fromBlock, to: logGaps.unreadTo })
      .from(logGaps)
      .where(and(eq(logGaps.chainId, chainId), ne(logGaps.state, 'absent')))
    return { stored, rows: await completeRows(handle, chainId, logs), unread }
  })

/** The block at which the continuous audit of a chain's ledger goes on; 0 for the first. */
export const nextLedgerBlock = (database: Pick<Database, 'run'>, chainId: ChainId): Promise<bigint> =>
  database.run(async (handle) => {
    const [row] = await handle
      .select({ next: work.audits.ledgerNext })
      .from(work.audits)
      .where(eq(work.audits.chainId, chainId))
    return row?.next ?? 0n
  })

/** What logs mean to the rest of the index. */
export type Meanings = Pick<GapLogs, 'hints' | 'fees'>

/** What logs of rates, in the order of the chain, touch that were missing: the events above the first of them. */
const touchedByFees = async (handle: Handle, chainId: ChainId, [first]: Meanings['fees']): Promise<Touched> => {
  if (first === undefined) return touching()
  const isAbove = sql`events.block_number >= ${first.blockNumber}::bigint`
  return union([await judgeFees(handle, chainId), await touchedByEvents(handle, chainId, isAbove)])
}

/**
 * Stores the findings in a part of the ledger: moves the audit on, makes rows what their logs are, and stores what
 * follows from these logs. `cursor` must be on the chain of the index: throws AnchorLost after a rollback of it.
 */
export const saveLedgerPart = (
  database: Pick<Database, 'transaction'>,
  chainId: ChainId,
  cursor: StoredBlock,
  found: {
    readonly next: bigint
    readonly compared: number
    readonly repairs: readonly LedgerRow[]
    readonly differences: readonly string[]
  } & Meanings,
): Promise<void> =>
  database.transaction(async (handle) => {
    await lockRefreshQueue(handle, chainId)
    await holdAnchor(handle, chainId, cursor)
    const { next, compared, repairs, differences, hints, fees } = found
    const { audits } = work
    await handle
      .update(audits)
      .set({
        ledgerNext: next,
        compared: sql`${audits.compared} + ${compared}`,
        differences: sql`${audits.differences} + ${differences.length}`,
        repaired: sql`${audits.repaired} + ${repairs.length}`,
        ...(differences.length > 0 && {
          lastDifference: differences.at(-1) ?? null,
          lastDifferenceAt: sql`now()`,
        }),
      })
      .where(eq(audits.chainId, chainId))
    if (repairs.length === 0) return
    // A wrong row leaves the activity of the wallet and the event that it named.
    const wrong = await touchedByRows(handle, chainId, await storedRows(handle, chainId, repairs))
    const added = await putLedger(handle, chainId, repairs)
    await insertFees(handle, chainId, fees)
    await writeHints(handle, chainId, hints, null)
    const all = union([
      ...[wrong, await touchedByRows(handle, chainId, repairs)],
      await fillSettlements(handle, chainId, idsIn(hints, 'event')),
      await touchedByFees(handle, chainId, fees),
    ])
    const news = newsIn(added, all)
    await numberRows(handle, chainId, news, await announce(handle, chainId, all, news.length))
  })
