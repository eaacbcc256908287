import { LRUCache } from 'lru-cache'
import type { Chain } from '../chain/chain.ts'
import { isCurrent } from '../chain/endpoints/ranking.ts'
import { getBlock } from '../chain/rpc/requests.ts'
import { markAbsent, storeGapLogs } from '../db/index/gap-logs.ts'
import { adoptGaps, deferGap, type LogGap, nextGap } from '../db/index/work/log-gaps.ts'
import { AnchorLost, readProgress } from '../db/index/work/progress.ts'
import type { Database } from '../db/pool.ts'
import type { StoredBlock } from '../db/stored.ts'
import { isUnavailable, ServiceError } from '../lib/errors.ts'
import type { Logger } from '../lib/observe/log.ts'
import { createDue } from './due.ts'
import { ChainMoved, type Fetched, fetchRange, isPruned } from './reading/range.ts'
import { hintsOf } from './reading/unknown-logs.ts'

/** Reads the logs that were missing when the index was written. */
export type LogGaps = {
  /**
   * Reads the logs of the gaps that are due. Each part is stored on its own, so a later run continues there. Does
   * nothing while no node serves logs, and throws nothing when nodes or the database are out of reach.
   */
  fill(signal: AbortSignal): Promise<void>
}

/** How long a gap waits after a fault of a node, in milliseconds. */
const FAULT_MS = 5_000

/** How long a gap waits for logs that nodes left out: as long as it has waited already, within these bounds. */
const RETRY_MS = { least: 2_000, most: 60_000 }

/** How long nodes have to leave out the log of a row until it counts as absent, in milliseconds. */
const ABSENT_MS = 600_000

/** How often the blocks that nodes have pruned, and absent logs, are requested again, in milliseconds. */
const AGAIN_MS = 3_600_000

/** Gaps of which something is remembered. They get a new number when they are merged. */
const KEPT = 1_000

/** The logs of the newest blocks of a gap, in ranges that follow each other. */
type Part = { readonly from: bigint; readonly ranges: readonly Fetched[] }

/**
 * No lease is needed, because a write is refused after a rollback or another write of the gap.
 *
 * @example await createLogGaps({ chain, database, log }).fill(signal)
 */
export const createLogGaps = (deps: {
  readonly chain: Chain
  readonly database: Database
  readonly log: Logger
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number
  /** `ABSENT_MS` unless given. */
  readonly absentMs?: number
  /** `AGAIN_MS` unless given. */
  readonly againMs?: number
}): LogGaps => {
  const { chain, database, log, now = () => performance.now() } = deps
  const { absentMs = ABSENT_MS, againMs = AGAIN_MS } = deps
  const { chainId, deployment } = chain
  /** Since when which endpoints have returned a gap without the log of some row. */
  const omissions = new LRUCache<bigint, { readonly since: number; readonly by: Set<number> }>({ max: KEPT })
  /** The gaps whose newest unread block was pruned when it was last requested. */
  const pruned = new LRUCache<bigint, true>({ max: KEPT })
  const prunedCheck = createDue(now)
  let isFirst = true

  const defer = (gap: LogGap, to: Parameters<typeof deferGap>[2]) => database.run((handle) => deferGap(handle, gap, to))
  const fieldsOf = (gap: LogGap) => ({ chainId, from: gap.fromBlock.toString(), to: gap.toBlock.toString() })

  /** Reads at most `width` of the newest blocks of a gap; null when nodes have logs of none of them. */
  const readPart = async (gap: LogGap, head: StoredBlock, width: bigint): Promise<Part | null> => {
    const upTo = gap.unreadTo
    const from = upTo - width < gap.fromBlock ? gap.fromBlock : upTo - width + 1n
    const ranges: Fetched[] = []
    try {
      for (let next = from; next <= upTo; ) {
        const range = await fetchRange(chain, { from: next, upTo, head, askedLast: omissions.get(gap.seq)?.by })
        const last = ranges.at(-1)?.block
        if (last !== undefined && range.before?.hash !== last.hash) throw new ChainMoved(`block ${last.number} changed`)
        ranges.push(range)
        next = range.block.number + 1n
      }
      return { from, ranges }
    } catch (fault) {
      if (!isPruned(fault)) throw fault
      return from === upTo ? null : readPart(gap, head, (upTo - from + 1n) / 2n)
    }
  }

  /** Throws ChainMoved unless the last block of a part is of the chain of the index. */
  const verify = async ({ ranges }: Part, anchor: StoredBlock): Promise<void> => {
    const known = [anchor, ...ranges.slice(-1).map(({ block }) => block)]
    const { blocks } = await chain.send({ blocks: known.map(({ number }) => getBlock(number)) })
    for (const [at, { number, hash }] of known.entries()) {
      const outcome = blocks[at]
      if (!outcome?.ok || outcome.value?.hash !== hash) throw new ChainMoved(`block ${number} changed`)
    }
  }

  const giveUp = async (gap: LogGap): Promise<void> => {
    await markAbsent(database, gap, againMs)
    omissions.delete(gap.seq)
    if (gap.state === 'open') log.warn({ ...fieldsOf(gap), rows: 'absent' }, 'nodes have no logs of rows')
  }

  /**
   * Postpones a gap of which endpoints left out a log, or gives it up. One that was given up before is requested once from
   * each endpoint, and shows no fault of it.
   */
  const retry = async (gap: LogGap, { from, ranges }: Part): Promise<void> => {
    // These may be the logs of the rows: waiting would not help, and no endpoint is at fault.
    const isUnknown = ranges.some(({ unknown }) => unknown.length > 0)
    const omission = omissions.get(gap.seq) ?? { since: now(), by: new Set() }
    omissions.set(gap.seq, omission)
    for (const { endpoint } of ranges) {
      omission.by.add(endpoint)
      if (gap.state === 'open' && !isUnknown)
        chain.reportMissingLogs(endpoint, `it left out logs of rows from block ${from} on`)
    }
    const ms = now() - omission.since
    const isAsked = ({ index, rank, missing }: ReturnType<Chain['status']>['endpoints'][number]): boolean =>
      omission.by.has(index) || missing.includes('logs') || !isCurrent(rank)
    const isLate = ms >= absentMs
    const areAsked = chain.status().endpoints.every(isAsked)
    if (gap.state === 'absent' ? areAsked || isLate : areAsked && (isLate || isUnknown)) await giveUp(gap)
    else await defer(gap, { ms: Math.min(Math.max(ms, RETRY_MS.least), RETRY_MS.most) })
  }

  const fillGap = async (gap: LogGap, anchor: StoredBlock): Promise<void> => {
    // One block suffices to find that the logs are still pruned.
    const width = pruned.has(gap.seq) ? 1n : chain.logWidth()
    const part = await readPart(gap, anchor, width ?? 1n)
    if (part === null) {
      if (gap.state === 'absent') return giveUp(gap)
      pruned.set(gap.seq, true)
      await defer(gap, { state: 'pruned' })
      return log.warn({ ...fieldsOf(gap), rows: 'pruned' }, 'nodes have no logs of rows')
    }
    pruned.delete(gap.seq)
    await verify(part, anchor)
    const { from, ranges } = part
    const facts = ranges.flatMap((range) => range.facts)
    const unknown = ranges.flatMap((range) => range.unknown)
    const { last } = await readProgress(database, chainId)
    const hints = [...ranges.flatMap((range) => range.hints), ...unknown.flatMap((each) => hintsOf(each, last))]
    const fees = ranges.flatMap((range) => range.fees)
    const ledger = ranges.flatMap((range) => range.ledger)
    const { filled, lacks } = await storeGapLogs(database, gap, anchor, { from, facts, hints, fees, ledger })
    if (filled > 0) log.info({ ...fieldsOf(gap), rows: filled }, 'rows were completed by their logs')
    if (lacks) await retry(gap, part)
    else if (filled > 0) omissions.delete(gap.seq)
  }

  /** Reads the logs of a part of the newest gap that is due. Returns false when there is none. */
  const fillSome = async (): Promise<boolean> => {
    const next = await nextGap(database, chainId)
    if (next === null) return false
    try {
      await fillGap(next.gap, next.anchor)
    } catch (fault) {
      // The follower finds the reorg, or reports that nodes are out of reach.
      if (!(fault instanceof ChainMoved || fault instanceof AnchorLost || fault instanceof ServiceError)) throw fault
      log.debug({ chainId, fault: fault.message }, 'reading missing logs waits')
      await defer(next.gap, { ms: next.gap.state === 'absent' ? againMs : FAULT_MS })
    }
    return true
  }

  return {
    async fill(signal) {
      try {
        if (!chain.status().hasLogs) return
        const retriesPruned = prunedCheck.is(againMs)
        await adoptGaps(database, chainId, { startBlock: deployment.startBlock, isFirst, retriesPruned })
        isFirst = false
        if (retriesPruned) prunedCheck.done()
        while (!signal.aborted && chain.status().hasLogs && (await fillSome()));
      } catch (fault) {
        if (!isUnavailable(fault)) throw fault
        log.debug({ chainId, fault: fault.message }, 'reading missing logs waits')
      }
    },
  }
}
