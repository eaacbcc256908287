import { sql } from 'drizzle-orm'
import { announce } from '../db/changes/changes.ts'
import { resumeFeed, suspendFeed } from '../db/changes/feed.ts'
import {
  type Touched,
  touchedAbove,
  touchedByFacts,
  touchedByIds,
  touchedByLedger,
  touching,
  touchingAll,
  touchingProtocol,
  union,
} from '../db/changes/scopes.ts'
import { insertFees } from '../db/index/fees.ts'
import { idsIn, writeHints } from '../db/index/hints.ts'
import { insertLedger, type LedgerRow, newsIn, numberRows } from '../db/index/ledger.ts'
import { noteUnknownLogs } from '../db/index/work/heartbeat.ts'
import { holdLease, type Lease } from '../db/index/work/lease.ts'
import { addGap, type GapRange } from '../db/index/work/log-gaps.ts'
import { byKind } from '../db/index/work/progress.ts'
import {
  type IdRange,
  idRangesOf,
  lockRefreshQueue,
  type RefreshSubject,
  requestMemberRefresh,
  requestRefresh,
  requestSettlementRefresh,
} from '../db/index/work/refresh-queue.ts'
import { recordUpgrade } from '../db/index/work/upgrades.ts'
import {
  addAnchor,
  type Dated,
  type DatedFact,
  deleteSomeObservations,
  insertFacts,
  moveCursor,
  pruneAnchors,
  rollBack,
} from '../db/index/write.ts'
import type { Copy, Database, Handle } from '../db/pool.ts'
import { cursors } from '../db/schema/index-state.ts'
import type { StoredBlock } from '../db/stored.ts'
import type { FeeLog, Hint } from '../protocol/abi/logs.ts'
import type { RawLog } from '../protocol/abi/packed-log.ts'
import type { ChainId } from '../protocol/chains.ts'
import { kinds } from '../protocol/entities.ts'

/** The content of one write: facts and the hints of logs, as of a block. */
type Written = {
  readonly block: StoredBlock
  readonly facts: readonly DatedFact[]
  readonly hints: readonly Hint[]
  /** The logs that this build does not know. What they may have changed is among the hints. */
  readonly unknown: readonly RawLog[]
  /** The fee rates that logs set. */
  readonly fees: readonly Dated<FeeLog>[]
  /** Every log, in order. */
  readonly ledger: readonly LedgerRow[]
  /** The blocks up to this one of which not all logs are known; null when all are. */
  readonly gap: GapRange | null
  /** Whether facts are complete up to the block. */
  readonly complete: boolean
  /** Whether to read the protocol's own state: on the first write of a chain, and where no log reports its changes. */
  readonly protocol: boolean
  /** Whether the block is far behind the head. */
  readonly isBehind: boolean
  /** Whether earlier writes were incomplete. Their facts become visible when the cursor moves past them. */
  readonly uncovers: boolean
}

/**
 * The writes of a chain's index. Each transaction locks the lease and throws LeaseLost when another worker has taken
 * over.
 */
export type Commits = {
  write(lease: Lease, written: Written): Promise<void>
  /** Rolls the index back to a block; null empties it. */
  backTo(lease: Lease, ancestor: StoredBlock | null): Promise<void>
}

/** A write of more facts than this that is behind the head belongs to a backfill. */
const BACKFILL_FACTS = 2_000

const protocolState: RefreshSubject = { subject: 'chain', id: 0n }

/**
 * The subjects that facts change: with a deposit or position also its event, with an event also the protocol's count.
 */
const changedBy = ({ facts, protocol }: Written): (RefreshSubject | IdRange)[] => {
  const made = byKind(facts)
  const touched = new Set(facts.flatMap((fact) => (fact.kind === 'event' ? [] : fact.eventId)))
  for (const { id } of made.event) touched.delete(id)
  return [
    ...kinds.flatMap((kind) => idRangesOf(kind, made[kind])),
    ...[...touched].map((id) => ({ subject: 'event', id }) as const),
    ...(protocol || made.event.length > 0 ? [protocolState] : []),
  ]
}

/** The events that positions were bought from. */
const boughtFrom = (facts: readonly DatedFact[]): bigint[] => [
  ...new Set(facts.flatMap((fact) => (fact.kind === 'position' ? fact.eventId : []))),
]

export const createCommits = (deps: {
  readonly chainId: ChainId
  readonly database: Database
  readonly leaseTtlMs: number
  /** `BACKFILL_FACTS` unless given. */
  readonly backfillFacts?: number
  /** Observations of one kind that a rollback deletes per transaction; see `deleteSomeObservations`. */
  readonly deleteBatch?: number
}): Commits => {
  const { chainId, database, leaseTtlMs, backfillFacts = BACKFILL_FACTS, deleteBatch } = deps
  /** Whether a write belongs to a backfill, of which the feed of changes has no rows. */
  const isBackfill = ({ isBehind, facts }: Written): boolean => isBehind && facts.length > backfillFacts
  /**
   * What facts and hints touch. Hints name deposits and positions by id only; the index has their owners. Before the
   * cursor moves.
   */
  const touchedBy = async (handle: Handle, written: Written): Promise<Touched> => {
    const { facts, hints, ledger, uncovers } = written
    if (isBackfill(written)) return touchingAll(null)
    const touched: Touched[] = [touchedByFacts(facts), touchedByLedger(ledger)]
    for (const kind of kinds) touched.push(await touchedByIds(handle, chainId, kind, idsIn(hints, kind)))
    if (hints.some(({ subject }) => subject === 'chain')) touched.push(touchingProtocol)
    // After an upgrade every entity is observed again, which announces those that changed.
    if (hints.some(({ subject }) => subject === 'code')) touched.push(touchingAll(null))
    if (uncovers) touched.push(touchingAll(null), await touchedAbove(handle, chainId, shown))
    return union(touched)
  }
  /** Suspends the feed of changes during a backfill, and resumes it near the head. */
  const feedStateOf = async (handle: Handle, written: Written): Promise<Touched> => {
    if (isBackfill(written)) await suspendFeed(handle, chainId, 'backfill')
    const reset = written.isBehind ? null : await resumeFeed(handle, chainId)
    return reset === null ? touching() : touchingAll(reset)
  }
  /** The block up to which facts are visible. */
  const shown = sql`(SELECT coalesce(max(block_number), -1) FROM ${cursors} WHERE chain_id = ${chainId})`
  const commit = <T>(lease: Lease, write: (handle: Handle, copy: Copy) => Promise<T>): Promise<T> =>
    database.transaction(async (handle, copy) => {
      await holdLease(handle, lease, leaseTtlMs)
      return write(handle, copy)
    })

  return {
    write: (lease, written) =>
      commit(lease, async (handle, copy) => {
        const { block, facts, hints, unknown, fees, ledger, gap, complete } = written
        // Locked before any row, as in every transaction that writes requests and rows: another order could deadlock.
        await lockRefreshQueue(handle, chainId)
        await insertFacts(copy, chainId, facts)
        await insertFees(handle, chainId, fees)
        const rows = await insertLedger(handle, copy, chainId, ledger)
        if (gap !== null) await addGap(handle, chainId, gap)
        await requestRefresh(handle, chainId, changedBy(written), block.number)
        // The premium of a position goes to the deposits: one request to a node reads them together with their event.
        if (!written.isBehind) await requestMemberRefresh(handle, chainId, 'deposit', boughtFrom(facts), block.number)
        await writeHints(handle, chainId, hints, block.number)
        for (const hint of hints) if (hint.subject === 'code') await recordUpgrade(handle, chainId, hint)
        await requestSettlementRefresh(handle, chainId, block)
        await addAnchor(handle, chainId, block, complete)
        const touched = await touchedBy(handle, { ...written, ledger: rows })
        if (complete) await moveCursor(handle, chainId, block, { hasLogs: gap === null })
        await noteUnknownLogs(handle, chainId, unknown)
        await pruneAnchors(handle, chainId, block.number)
        const all = union([touched, await feedStateOf(handle, written)])
        const news = isBackfill(written) ? [] : newsIn(rows, all)
        await numberRows(handle, chainId, news, await announce(handle, chainId, all, news.length))
      }),
    async backTo(lease, ancestor) {
      // Observations may be deleted in several transactions first, because they are made again in any case. The
      // rollback itself is one transaction.
      while (await commit(lease, (handle) => deleteSomeObservations(handle, chainId, ancestor, deleteBatch)));
      await commit(lease, (handle) => rollBack(handle, chainId, ancestor, deleteBatch))
    },
  }
}
