import type { Chain } from '../chain/chain.ts'
import { isMissingBlock } from '../chain/rpc/errors.ts'
import type { Block } from '../chain/rpc/requests.ts'
import type { Lease } from '../db/index/work/lease.ts'
import { type Progress, readProgress } from '../db/index/work/progress.ts'
import type { Database } from '../db/pool.ts'
import type { StoredBlock } from '../db/stored.ts'
import type { Logger } from '../lib/observe/log.ts'
import type { RawLog } from '../protocol/abi/packed-log.ts'
import { createCommits } from './commit.ts'
import { createDispute } from './dispute.ts'
import { createDue } from './due.ts'
import { finalBlock } from './finalize.ts'
import { UPGRADED } from './observer.ts'
import { type Poll, poll } from './poll.ts'
import { DuplicateRow, MissingRow, WrongRow } from './reading/gaps.ts'
import { createRangePrefetcher } from './reading/prefetch.ts'
import { type BlockId, ChainMoved, fetchTip, isPruned, type Range } from './reading/range.ts'
import { readOn } from './reading/read-by-id.ts'
import { hintsOf } from './reading/unknown-logs.ts'
import { findAncestor, isBelowFinal } from './reorg.ts'
import { createRepair } from './repair.ts'

export type StepDeps = {
  readonly chain: Chain
  readonly database: Database
  readonly leaseTtlMs: number
  readonly log: Logger
  /** `WIDTH_MARGIN` unless given. */
  readonly widthMargin?: bigint
  /** `READ_BATCH` unless given. */
  readonly readBatches?: typeof READ_BATCH
  /** `PROVE_EVERY_MS` unless given. */
  readonly proveEveryMs?: number
  /** How often the anchor is compared with the chain while no reader waits, in milliseconds; `ANCHOR_EVERY_MS` unless given. */
  readonly anchorEveryMs?: number
  /** How long the log of a missing row is waited for; see `createRepair`. */
  readonly wait?: Parameters<typeof createRepair>[0]['wait']
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number
}

/** The blocks that readers wait for, and whether the chain is polled fast for them. */
export type Wanted = { readonly wanted: readonly bigint[]; readonly isFast: boolean }

/** The source of facts: logs, or reads of each entity by its id if no node serves logs, or logs as old as needed. */
export type Source = 'logs' | 'ids'

/** The log message of a log with an unknown first topic. */
const UNKNOWN_LOG = 'the diamond emits a log that this release does not know: what it may name is read again'

/** What a step left to do: nothing, something that another answer decides, or work that is known already. */
type Left = 'nothing' | 'a decision' | 'work'

type Done = {
  /** The last block at which the step compared the index with the chain and found them equal; null without one. */
  readonly proven: StoredBlock | null
  readonly left: Left
  /** Whether it wrote: entities may have to be read again. */
  readonly isWritten: boolean
  /** Whether nothing of the protocol lies between the cursor and the head. */
  readonly isQuiet: boolean
}

/** The result of one step. */
export type StepResult = Done & {
  /** The chain's newest block. */
  readonly head: Block
  readonly source: Source
  /** A sentence about the problem that prevents a proof of the index; null when there is none. */
  readonly problem: string | null
}

/**
 * How often the index of a quiet chain is proved equal to the chain, in milliseconds. The cursor moves with each proof.
 * Logs, and blocks that a reader waits for, cause one at once.
 */
const PROVE_EVERY_MS = 10_000

/**
 * How often the anchor is compared with the chain while it can be replaced, and whether it still can, in milliseconds.
 * A reader that has waited for less time needs none: each move of the index compares the cursor.
 */
const ANCHOR_EVERY_MS = 1_000
const FINAL_EVERY_MS = 60_000

/**
 * A poll includes the logs since the cursor if these blocks are this many times fewer than the log width of a node. The
 * margin covers blocks that are added during the request.
 */
const WIDTH_MARGIN = 4n

/**
 * How often the chain is polled while ranges are prefetched, in milliseconds. Each prefetched range proves that it
 * follows the one before.
 */
const POLL_EVERY_MS = 1_000

/** A block is far behind the head from this many seconds of chain time on. */
const BEHIND_SECONDS = 600n

/** How often the protocol's own state, including its functions, is read on a chain without logs, in milliseconds. */
const PROTOCOL_EVERY_MS = 5_000

/** The number of entities of each kind that are read by id at once. It grows by a factor while there are more. */
const READ_BATCH = { first: 8, max: 2_048, factor: 4 }

const later = (a: BlockId, b: BlockId): BlockId => (b.number > a.number ? b : a)

/** The newest block of logs. */
const newestOf = (logs: readonly RawLog[]): BlockId =>
  logs.map(({ blockNumber: number, blockHash: hash }): BlockId => ({ number, hash })).reduce(later)

const nothing: Done = { proven: null, left: 'nothing', isWritten: false, isQuiet: false }
const undecided: Done = { ...nothing, left: 'a decision' }

/** Whether entities are being read by id and the index already has some of them. */
const isReadingIds = ({ anchor, cursor }: Progress): boolean => (anchor?.number ?? -1n) > (cursor?.number ?? -1n)

/**
 * Creates the body of the follower's loop: poll the chain, then take the one step that brings the index closer to it. A
 * step may be stopped or killed, or may throw, at any point: each step writes one transaction, and the next step
 * continues from the stored state. The index is moved to a wanted block without waiting for the next proof. `step`
 * throws what nodes and database throw, and LeaseLost when another worker has taken over.
 */
export const createStep = (deps: StepDeps) => {
  const { chain, database, leaseTtlMs, log } = deps
  const { widthMargin = WIDTH_MARGIN, readBatches = READ_BATCH, now = () => performance.now() } = deps
  const { chainId, deployment } = chain
  const commits = createCommits({ chainId, database, leaseTtlMs })
  const ranges = createRangePrefetcher({ chain })
  const repair = createRepair({ chain, database, log, now, wait: deps.wait })
  const dispute = createDispute({ chain, log })
  const { proveEveryMs = PROVE_EVERY_MS, anchorEveryMs = ANCHOR_EVERY_MS } = deps
  const [proof, anchorCheck, finality, protocolRead] = [createDue(now), createDue(now), createDue(now), createDue(now)]
  let readBatch = readBatches.first
  /** The last head that was polled, and its time. */
  let last: { readonly head: Block; readonly at: number } | null = null
  /** Since when readers wait without a pause; null while none waits. */
  let fastSince: number | null = null
  /** The newest block with something of the protocol that a reorg may replace; undefined while it is not known. */
  let replaceable: bigint | null | undefined

  /** The head up to which prefetched ranges can be used without a new poll; null when a poll is due. */
  const headForPrefetched = ({ cursor }: Progress): Block | null => {
    if (cursor === null || last === null || now() - last.at > POLL_EVERY_MS) return null
    return ranges.isAhead(cursor) ? last.head : null
  }

  /** Rolls the index back to the newest anchor at or below a block that the trusted endpoints have. */
  const rollBack = async (lease: Lease, top: bigint, trusted: readonly number[]): Promise<Done> => {
    ranges.drop()
    replaceable = undefined
    const ancestor = await findAncestor({ chain, database }, top, trusted)
    const fields = { chainId, from: top.toString(), to: ancestor?.number.toString() ?? null }
    if (await isBelowFinal(chain, ancestor)) log.error(fields, 'reorg below the finalized block')
    await commits.backTo(lease, ancestor)
    log.warn(fields, 'index rolled back')
    return { ...nothing, left: 'work', isWritten: true }
  }

  /** Decides whether the anchor was replaced, and rolls the index back if it was. */
  const settleDispute = async (lease: Lease, anchor: StoredBlock): Promise<Done> => {
    const trusted = await dispute.resolve(anchor)
    return trusted === null ? undecided : rollBack(lease, anchor.number, trusted)
  }

  /** The first block that the index may lack. */
  const after = (cursor: StoredBlock | null): bigint => (cursor === null ? deployment.startBlock : cursor.number + 1n)

  /** Writes a range of logs. */
  const writeRange = async (
    lease: Lease,
    { cursor, last: lastIds }: Progress,
    range: Range,
    head: Block,
  ): Promise<Done> => {
    const { facts, gapFrom, isComplete } = await repair.complete({ last: lastIds, range, head })
    // If the node left out logs of creations, it may have left out others too.
    const from = gapFrom === null || gapFrom > after(cursor) ? after(cursor) : gapFrom
    const gap = gapFrom === null ? null : { from, to: range.block.number }
    const { fees, ledger } = range
    const unknown = cursor === null ? [] : range.unknown
    const hints = [...range.hints, ...unknown.flatMap((each) => hintsOf(each, lastIds))]
    for (const { topics, blockNumber, transactionHash: txHash } of unknown)
      log.warn({ chainId, topic: topics[0] ?? null, block: blockNumber.toString(), txHash }, UNKNOWN_LOG)
    const isBehind = head.timestamp - range.block.timestamp > BEHIND_SECONDS
    const state = { complete: isComplete, protocol: cursor === null, isBehind, uncovers: false }
    await commits.write(lease, { block: range.block, facts, hints, fees, ledger, gap, unknown, ...state })
    if (facts.length + hints.length > 0) replaceable = range.block.number
    // The first range contains the cuts of the deployment itself, which are no upgrades.
    for (const { subject, blockNumber, txHash } of range.hints)
      if (subject === 'code' && cursor !== null) log.warn({ chainId, block: blockNumber.toString(), txHash }, UPGRADED)
    if (!isComplete) return { ...nothing, left: 'work', isWritten: true }
    if (range.complete === null && range.block.number < head.number) {
      log.info({ chainId, block: range.block.number.toString(), head: head.number.toString() }, 'catching up')
      return { ...nothing, left: 'work', isWritten: true }
    }
    proof.done()
    return { proven: range.block, left: 'nothing', isWritten: true, isQuiet: true }
  }

  /** Reads the next range of logs, which may be wide. */
  const readRange = async (lease: Lease, progress: Progress, head: Block): Promise<Done> => {
    const range = await ranges.next({ after: progress.cursor, head })
    return writeRange(lease, progress, range, head)
  }

  /** Moves the index to a block, with the logs up to it. */
  const moveTo = async (
    lease: Lease,
    progress: Progress & { readonly cursor: StoredBlock },
    to: BlockId,
    { endpoint, head }: Poll,
    logs: readonly RawLog[],
  ): Promise<Done> => {
    const { cursor, last: lastIds } = progress
    const range = await fetchTip(chain, { endpoint, cursor, to, logs, last: lastIds })
    // The cursor was found on the chain.
    anchorCheck.done()
    return writeRange(lease, progress, range, head)
  }

  /** Continues by ids, without logs. */
  const readIds = async (lease: Lease, progress: Progress, block: Block): Promise<Done> => {
    const { anchor, cursor, last: lastIds } = progress
    const { facts, complete, denied } = await readOn(chain, block, lastIds, readBatch)
    if (facts.length === 0 && denied !== undefined) return repair.refute(block, denied)
    await repair.confirm(block, facts).catch((fault) => {
      // The last of these rows is denied: fewer may not be.
      if (fault instanceof MissingRow) readBatch = Math.max(Math.floor(readBatch / readBatches.factor), 1)
      throw fault
    })
    readBatch = complete ? readBatches.first : Math.min(readBatch * readBatches.factor, readBatches.max)
    const protocol = anchor === null || protocolRead.is(PROTOCOL_EVERY_MS)
    if (protocol) protocolRead.done()
    const state = { complete, protocol, isBehind: anchor === null, uncovers: isReadingIds(progress) }
    const from = after(cursor)
    const gap = from > block.number ? null : { from, to: block.number }
    await commits.write(lease, { block, facts, hints: [], fees: [], ledger: [], gap, unknown: [], ...state })
    replaceable = block.number
    if (complete) return { proven: block, left: 'nothing', isWritten: true, isQuiet: true }
    log.info({ chainId, entities: facts.length, block: block.number.toString() }, 'reading entities')
    return { ...nothing, left: 'work', isWritten: true }
  }

  /** Takes the step that a poll requires. `earlier` is the head of the poll before. */
  const react = async (
    lease: Lease,
    progress: Progress,
    source: Source,
    polled: Poll,
    { earlier, wanted, isAnchorDue }: { earlier: Block | undefined; wanted: readonly bigint[]; isAnchorDue: boolean },
  ): Promise<Done> => {
    const { anchor, cursor } = progress
    const { head, logs } = polled
    if (anchor !== null) {
      const isBelow = head.number < anchor.number
      // Mostly the node lags.
      if (isBelow && !isAnchorDue) return nothing
      const isReplaced = !isBelow && polled.anchor !== undefined && polled.anchor?.hash !== anchor.hash
      if (isReplaced || isBelow) {
        const done = await settleDispute(lease, anchor)
        if (isBelow && !dispute.isWaiting()) anchorCheck.done()
        return done
      }
      if (polled.anchor !== undefined) {
        anchorCheck.done()
        dispute.confirm()
      }
    } else if (head.number < deployment.startBlock) return nothing
    if (source === 'ids') return readIds(lease, progress, head)
    if (cursor === null || (logs === null && cursor.number < head.number)) return readRange(lease, progress, head)
    const indexed = { ...progress, cursor }
    const fresh = (logs ?? []).filter(({ blockNumber }) => blockNumber > cursor.number && blockNumber <= head.number)
    // The logs of the earlier head were requested twice: nodes may have those of a new block later than the block.
    const twice = earlier !== undefined && earlier.number > cursor.number && earlier.number <= head.number
    if (fresh.length > 0) return moveTo(lease, indexed, later(newestOf(fresh), twice ? earlier : cursor), polled, fresh)
    const target = twice ? earlier : head
    const isWanted = wanted.some((block) => block > cursor.number && block <= target.number)
    if (target.number > cursor.number && (proof.is(proveEveryMs) || isWanted))
      return moveTo(lease, indexed, target, polled, [])
    return { ...nothing, isQuiet: logs !== null }
  }

  /** The first block whose logs the next poll includes; null when these blocks may exceed the log width of a node. */
  const logsFrom = ({ cursor }: Progress, source: Source): bigint | null => {
    const width = chain.logWidth()
    if (source === 'ids' || cursor === null || last === null || width === null) return null
    const { number } = last.head
    if ((number - cursor.number + 1n) * widthMargin > width) return null
    // Nodes refuse a range that begins above their head.
    return number > cursor.number ? cursor.number + 1n : number
  }

  /** Whether the anchor has to be compared with the chain. */
  const isAnchorDue = (source: Source, isFast: boolean): boolean => {
    fastSince = isFast ? (fastSince ?? now()) : null
    // Without logs nothing else links a write to the one before.
    if (source === 'ids' || anchorCheck.is(anchorEveryMs)) return true
    return fastSince !== null && now() - fastSince >= ANCHOR_EVERY_MS && anchorCheck.is(ANCHOR_EVERY_MS)
  }

  /** Whether a reorg may replace something of the protocol. */
  const isReplaceable = async (anchor: StoredBlock): Promise<boolean> => {
    if (replaceable === undefined) replaceable = anchor.number
    if (replaceable !== null && finality.is(FINAL_EVERY_MS)) {
      finality.done()
      const final = await finalBlock(chain)
      if (final !== null && final.number >= replaceable) replaceable = null
    }
    return replaceable !== null
  }

  /** Does the work of a step. A missing row and answers of more than one chain leave the work to the next step. */
  const attempt = async (lease: Lease, anchor: StoredBlock | null, head: Block, work: () => Promise<Done>) => {
    try {
      return { ...(await work()), head }
    } catch (fault) {
      ranges.drop()
      if (fault instanceof MissingRow) return { ...undecided, head }
      if (fault instanceof WrongRow) {
        log.error({ chainId, fault: fault.message }, 'the index has a row that the chain does not have there')
        return { ...(await rollBack(lease, fault.since - 1n, fault.trusted)), head }
      }
      const isOther = fault instanceof ChainMoved || fault instanceof DuplicateRow
      if (isOther) {
        // Either the anchor was replaced, or an endpoint is on another fork, and is penalized.
        log.info({ chainId, fault: fault.message }, 'the answers belong to more than one chain')
        replaceable = anchor?.number
        const done = anchor === null ? undecided : await settleDispute(lease, anchor)
        if (done.isWritten) return { ...done, head }
      }
      // A head that does not exist may be plausible all the same: one more block, with a hash of its own.
      if (fault instanceof ChainMoved || isMissingBlock(fault)) chain.dropHead(head)
      if (!isOther) throw fault
      return { ...undecided, head }
    }
  }

  /** Polls the chain and takes the step that this requires, or uses the next prefetched range. */
  const take = async (lease: Lease, progress: Progress, source: Source, { wanted, isFast }: Wanted) => {
    const { anchor } = progress
    const prefetchedHead = source === 'logs' ? headForPrefetched(progress) : null
    if (prefetchedHead !== null) {
      const done = await attempt(lease, anchor, prefetchedHead, () => readRange(lease, progress, prefetchedHead))
      return { ...done, source }
    }
    const isDue = isAnchorDue(source, isFast)
    const isChecked = anchor !== null && isDue && (source === 'ids' || (await isReplaceable(anchor)))
    const earlier = last?.head
    const from = logsFrom(progress, source)
    // When the poll fails, the next one is without logs, which may be why: `readRange` reads them in parts.
    last = null
    const polled = await poll(chain, { anchor: isChecked ? anchor : null, logsFrom: from })
    last = { head: polled.head, at: now() }
    const how = { earlier, wanted, isAnchorDue: isDue }
    const done = await attempt(lease, anchor, polled.head, () => react(lease, progress, source, polled, how))
    // The next step polls again: using prefetched ranges could skip the reason why this one could not decide.
    if (done.left === 'a decision') last = null
    return { ...done, source }
  }

  return async (lease: Lease, readers: Wanted = { wanted: [], isFast: true }): Promise<StepResult> => {
    const progress = await readProgress(database, chainId)
    const source = isReadingIds(progress) || !chain.status().hasLogs ? 'ids' : 'logs'
    const done = await take(lease, progress, source, readers).catch(async (fault) => {
      // No node serves logs from now on, or logs as old as these.
      if (source === 'logs' && (isPruned(fault) || !chain.status().hasLogs))
        return take(lease, await readProgress(database, chainId), 'ids', readers)
      throw fault
    })
    return { ...done, problem: repair.problem() ?? dispute.problem() }
  }
}
