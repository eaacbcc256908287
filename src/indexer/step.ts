import type { Chain } from '../chain/chain.ts'
import type { Block } from '../chain/rpc/requests.ts'
import type { Lease } from '../db/index/lease.ts'
import { type Progress, readProgress } from '../db/index/progress.ts'
import type { Database } from '../db/pool.ts'
import type { StoredBlock } from '../db/stored.ts'
import type { Logger } from '../lib/log.ts'
import { createCommits } from './commit.ts'
import { createDispute } from './dispute.ts'
import { DuplicateRow, MissingRow } from './gaps.ts'
import { UPGRADED } from './observer.ts'
import { createRangePrefetcher } from './prefetch.ts'
import { type Probe, probe } from './probe.ts'
import { ChainMoved, fetchTip } from './range.ts'
import { readOn } from './read-by-id.ts'
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
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number
}

/** The source of facts: logs, or reads of each entity by its id if no node serves logs. */
export type Source = 'logs' | 'ids'

type Done = {
  /**
   * `idle`: wrote nothing. `settled`: moved the cursor over blocks without logs. After both, the follower waits for new
   * blocks.
   */
  readonly did: 'idle' | 'settled' | 'advanced' | 'rolled back'
  /** The last block at which the step compared the index with the chain and found them equal. */
  readonly proven: StoredBlock | null
}

/** The result of one step. */
export type StepResult = Done & {
  /** The chain's newest block. */
  readonly head: Block
  readonly source: Source
  /** A sentence about the problem that prevents a proof of the index; null when there is none. */
  readonly problem: string | null
}

/** On a quiet chain the cursor follows the head in steps of this many seconds of chain time. */
const SETTLE_EVERY_SECONDS = 1n

/**
 * A probe includes the logs since the cursor if these blocks are this many times fewer than the log width of a node.
 * The margin covers blocks that are added during the request.
 */
const WIDTH_MARGIN = 4n

/**
 * How often the chain is probed while ranges are prefetched, in milliseconds. Each prefetched range proves that it
 * follows the one before.
 */
const PROBE_EVERY_MS = 1_000

/** A block is far behind the head from this many seconds of chain time on. */
const BEHIND_SECONDS = 600n

/** How often the protocol's own state, including its functions, is read on a chain without logs, in milliseconds. */
const PROTOCOL_EVERY_MS = 5_000

/** The number of entities of each kind that are read by id at once. It grows by a factor while there are more. */
const READ_BATCH = { first: 8, max: 2_048, factor: 4 }

const idle: Done = { did: 'idle', proven: null }

/** Whether entities are being read by id and the index already has some of them. */
const isReadingIds = ({ anchor, cursor }: Progress): boolean => (anchor?.number ?? -1n) > (cursor?.number ?? -1n)

/**
 * Creates the body of the follower's loop: probe the chain, then take the one step that brings the index closer to it.
 * A step may be stopped or killed, or may throw, at any point: each step writes one transaction, and the next step
 * continues from the stored state. `step` throws what nodes and database throw, and LeaseLost when another worker has
 * taken over.
 */
export const createStep = (deps: StepDeps) => {
  const { chain, database, leaseTtlMs, log } = deps
  const { widthMargin = WIDTH_MARGIN, readBatches = READ_BATCH, now = () => performance.now() } = deps
  const { chainId, deployment } = chain
  const commits = createCommits({ chainId, database, leaseTtlMs })
  const ranges = createRangePrefetcher({ chain })
  const repair = createRepair({ chain, database, log })
  const dispute = createDispute({ chain, log })
  /** The head of the last probe, if the index lacked nothing up to it. */
  let verifiedHead: Block | null = null
  let readBatch = readBatches.first
  let protocolDue = 0
  let lastProbe: { readonly head: Block; readonly at: number } | null = null

  /** The head up to which prefetched ranges can be used without a new probe; null when a probe is due. */
  const headForPrefetched = ({ cursor }: Progress): Block | null => {
    if (cursor === null || lastProbe === null || now() - lastProbe.at > PROBE_EVERY_MS) return null
    return ranges.isAhead(cursor) ? lastProbe.head : null
  }

  const rollBack = async (lease: Lease, top: StoredBlock, trusted: readonly number[]): Promise<void> => {
    ranges.drop()
    const ancestor = await findAncestor({ chain, database }, top, trusted)
    const fields = { chainId, from: top.number.toString(), to: ancestor?.number.toString() ?? null }
    if (await isBelowFinal(chain, ancestor)) log.error(fields, 'reorg below the finalized block')
    await commits.backTo(lease, ancestor)
    log.warn(fields, 'index rolled back')
  }

  /**
   * Continues by logs: up to the head if the probe has the logs, else by one range. Returns the block if it is the
   * head.
   */
  const readLogs = async (
    lease: Lease,
    { cursor, last }: Progress,
    head: Block,
    probed: Probe | null,
  ): Promise<Block | null> => {
    const isAtHead = cursor?.number === head.number
    const range =
      cursor === null || probed === null || (probed.logs === null && !isAtHead)
        ? await ranges.next({ after: cursor, head })
        : await fetchTip(chain, { ...probed, cursor, logs: probed.logs ?? [], last })
    const facts = await repair.complete({ last, range, head })
    // If the node left out logs of creations, it may have left out others too: the job `fees` requests these again.
    const fees = facts === range.facts ? range.fees : null
    const isBehind = head.timestamp - range.block.timestamp > BEHIND_SECONDS
    const protocol = cursor === null
    await commits.write(lease, { ...range, facts, fees, complete: true, protocol, isBehind, uncovers: false })
    // The first range contains the cuts of the deployment itself, which are no upgrades.
    for (const { subject, blockNumber, txHash } of range.hints)
      if (subject === 'code' && cursor !== null) log.warn({ chainId, block: blockNumber.toString(), txHash }, UPGRADED)
    if (range.block.number === head.number) return range.block
    log.info({ chainId, block: range.block.number.toString(), head: head.number.toString() }, 'catching up')
    return null
  }

  /** Whether the protocol's own state is due to be read again on a chain without logs. */
  const isProtocolDue = (): boolean => {
    if (now() < protocolDue) return false
    protocolDue = now() + PROTOCOL_EVERY_MS
    return true
  }

  /** Continues by ids, without logs. Returns the block if nothing is missing at it. */
  const readIds = async (lease: Lease, progress: Progress, block: Block): Promise<Block | null> => {
    const { anchor, last } = progress
    const { facts, complete } = await readOn(chain, block, last, readBatch)
    readBatch = complete ? readBatches.first : Math.min(readBatch * readBatches.factor, readBatches.max)
    const uncovers = isReadingIds(progress)
    await commits.write(lease, {
      block,
      facts,
      hints: [],
      fees: null,
      complete,
      protocol: anchor === null || isProtocolDue(),
      isBehind: anchor === null,
      uncovers,
    })
    if (!complete) log.info({ chainId, entities: facts.length, block: block.number.toString() }, 'reading entities')
    return complete ? block : null
  }

  /** Continues by logs or ids, and proves the index if it reaches the head. */
  const advance = async (
    lease: Lease,
    progress: Progress,
    source: Source,
    head: Block,
    probed: Probe | null,
  ): Promise<Done> => {
    verifiedHead = await (source === 'ids' ? readIds(lease, progress, head) : readLogs(lease, progress, head, probed))
    return { did: 'advanced', proven: verifiedHead }
  }

  /** Takes the step that a probe requires. */
  const react = async (
    lease: Lease,
    progress: Progress,
    source: Source,
    known: StoredBlock,
    probed: Probe,
  ): Promise<Done> => {
    const { anchor, cursor } = progress
    const { head } = probed
    // A head below the known block means that the node lags. A reorg shows as another hash.
    if (probed.known === null || probed.anchor === null || head.number < known.number) return idle
    if (anchor !== null && probed.anchor.hash !== anchor.hash) {
      const trusted = await dispute.resolve(anchor)
      if (trusted === null) return idle
      await rollBack(lease, anchor, trusted)
      return { did: 'rolled back', proven: null }
    }
    if (probed.known.hash !== known.hash) return idle
    dispute.confirm()
    const isQuiet = source === 'ids' || probed.logs?.length === 0 || head.number === cursor?.number
    if (!probed.complete || !isQuiet) return advance(lease, progress, source, head, probed)
    verifiedHead = head
    const isNewer = cursor === null || known.number > cursor.number
    const isOld = cursor === null || known.timestamp - cursor.timestamp >= SETTLE_EVERY_SECONDS
    if (!isNewer || !(isOld || known.number === head.number)) return { did: 'idle', proven: known }
    const uncovers = isReadingIds(progress)
    const protocol = source === 'ids' && isProtocolDue()
    const fees = source === 'logs' ? [] : null
    const settled = { facts: [], hints: [], fees, complete: true, protocol, isBehind: false, uncovers }
    await commits.write(lease, { block: known, ...settled })
    return { did: 'settled', proven: known }
  }

  /** The first block whose logs the next probe includes; null when these blocks may exceed the log width of a node. */
  const logsFrom = ({ cursor }: Progress, source: Source): bigint | null => {
    const width = chain.logWidth()
    if (source === 'ids' || cursor === null || verifiedHead === null || width === null) return null
    return (verifiedHead.number - cursor.number + 1n) * widthMargin <= width ? cursor.number + 1n : null
  }

  /** Begins the index of a chain once the chain has reached the start block. */
  const begin = async (lease: Lease, progress: Progress, source: Source, head: Block): Promise<Done> =>
    head.number < deployment.startBlock ? idle : advance(lease, progress, source, head, null)

  /** Does the work of a step. A missing row and answers of more than one chain leave the work to the next step. */
  const attempt = async (anchor: StoredBlock | null, head: Block, work: () => Promise<Done>) => {
    try {
      return { ...(await work()), head }
    } catch (fault) {
      ranges.drop()
      if (fault instanceof MissingRow) return { ...idle, head }
      if (!(fault instanceof ChainMoved || fault instanceof DuplicateRow)) throw fault
      // An endpoint may be on another fork, so all endpoints are asked about the anchor.
      log.info({ chainId, fault: fault.message }, 'the answers belong to more than one chain')
      if (anchor !== null) await dispute.resolve(anchor)
      return { ...idle, head }
    }
  }

  const take = async (lease: Lease, progress: Progress, source: Source): Promise<Done & { readonly head: Block }> => {
    const { anchor, last } = progress
    const prefetchedHead = headForPrefetched(progress)
    if (prefetchedHead !== null)
      return attempt(anchor, prefetchedHead, () => advance(lease, progress, source, prefetchedHead, null))
    const known = verifiedHead ?? anchor
    const from = logsFrom(progress, source)
    verifiedHead = null
    const probed = known === null ? null : await probe(chain, { known, anchor: anchor ?? known, last, logsFrom: from })
    const head = probed?.head ?? (await chain.head())
    lastProbe = { head, at: now() }
    const isNew = probed === null || known === null
    const done = await attempt(anchor, head, () =>
      isNew ? begin(lease, progress, source, head) : react(lease, progress, source, known, probed),
    )
    // After an idle step the next one probes again: using prefetched ranges could skip the reason for which this step
    // was idle.
    if (done.did === 'idle') lastProbe = null
    return done
  }

  return async (lease: Lease): Promise<StepResult> => {
    const progress = await readProgress(database, chainId)
    const source = isReadingIds(progress) || !chain.status().hasLogs ? 'ids' : 'logs'
    const done = await take(lease, progress, source)
    return { ...done, source, problem: repair.problem() ?? dispute.problem() }
  }
}
