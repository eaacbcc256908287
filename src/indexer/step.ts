import type { Chain } from '../chain/chain.ts'
import type { Block } from '../chain/requests.ts'
import type { Lease } from '../db/lease.ts'
import type { Database } from '../db/pool.ts'
import { type Progress, readProgress } from '../db/progress.ts'
import type { StoredBlock } from '../db/stored.ts'
import type { Logger } from '../lib/log.ts'
import { createRanges } from './ahead.ts'
import { createCommits } from './commit.ts'
import { RowMissing, RowTwice } from './dense.ts'
import { createDispute } from './dispute.ts'
import { readOn } from './ids.ts'
import { UPGRADED } from './observer.ts'
import { ChainMoved, fetchTip } from './range.ts'
import { findAncestor, isBelowFinal } from './reorg.ts'
import { createRepair } from './repair.ts'
import { lookAt, type Tick } from './tick.ts'

export type StepDeps = {
  readonly chain: Chain
  readonly database: Database
  readonly leaseTtlMs: number
  readonly log: Logger
}

/** Where facts come from: the logs, or, where no node serves logs, entity by entity. */
export type Source = 'logs' | 'ids'

type Done = {
  /** `idle` wrote nothing; `settled` moved the cursor along a chain on which nothing had happened. Both wait for the chain to go on. */
  readonly did: 'idle' | 'settled' | 'advanced' | 'rolled back'
  /** The last block at which the step compared index and chain and found them equal. */
  readonly proven: StoredBlock | null
}

/** What one step did and saw. */
export type StepResult = Done & {
  /** The chain's newest block. */
  readonly head: Block
  readonly source: Source
  /** What keeps the index from being proved, in words. */
  readonly trouble: string | null
}

/** Where nothing happens, the cursor follows the head in steps of so many seconds of the chain. */
const SETTLE_EVERY_SECONDS = 1n

/** Logs are asked for beside the head where the blocks since the cursor, which go on while one asks, are so many times fewer than a node gives. */
const NEARNESS = 4n

/** While ranges are fetched ahead, each of which shows that it follows the one before, the chain is looked at so often, in milliseconds. */
const LOOK_EVERY_MS = 1_000

/** Without logs the protocol's own state, its functions included, is read so often, in milliseconds. */
const PROTOCOL_EVERY_MS = 5_000

/** Entities of each kind that are read by their ids at once: few where few are new, ever more while there are more. */
const READ = { from: 8, to: 2_048, by: 4 }

const idle: Done = { did: 'idle', proven: null }

/** Entities are being read by their ids, and some were written already. */
const isReadingIds = ({ anchor, cursor }: Progress): boolean => (anchor?.number ?? -1n) > (cursor?.number ?? -1n)

/**
 * The one loop body of the index: look at the chain, then take the single step that brings the index nearer to it. It may be
 * stopped, killed or thrown out of anywhere: what a step writes is one transaction, and the next step starts from what is stored.
 * `step` throws what nodes and database throw, and LeaseLost when another worker has taken over.
 */
export const createStep = ({ chain, database, leaseTtlMs, log }: StepDeps) => {
  const { chainId, deployment } = chain
  const commits = createCommits({ chainId, database, leaseTtlMs })
  const ranges = createRanges({ chain })
  const repair = createRepair({ chain, database, log })
  const dispute = createDispute({ chain, log })
  /** The head of the last look, up to which nothing had happened then that the index lacks. */
  let mark: Block | null = null
  let readAtOnce = READ.from
  let protocolDue = 0
  let looked: { readonly head: Block; readonly at: number } | null = null

  /** The head to read on to without a look, by what was fetched ahead; null when it is time for one. */
  const headAhead = ({ cursor }: Progress): Block | null => {
    if (cursor === null || looked === null || performance.now() - looked.at > LOOK_EVERY_MS) return null
    return ranges.isAhead(cursor) ? looked.head : null
  }

  const rollBack = async (lease: Lease, top: StoredBlock, believed: readonly number[]): Promise<void> => {
    ranges.drop()
    const ancestor = await findAncestor({ chain, database }, top, believed)
    const fields = { chainId, from: top.number.toString(), to: ancestor?.number.toString() ?? null }
    if (await isBelowFinal(chain, ancestor)) log.error(fields, 'reorg below the finalized block')
    await commits.backTo(lease, ancestor)
    log.warn(fields, 'index rolled back')
  }

  /** Reads on by logs: up to the head where its logs were seen already, else as far as a node gives at once. */
  const readLogs = async (
    lease: Lease,
    { cursor, last }: Progress,
    head: Block,
    tick: Tick | null,
  ): Promise<Block | null> => {
    const isAtHead = cursor?.number === head.number
    const range =
      cursor === null || tick === null || (tick.logs === null && !isAtHead)
        ? await ranges.next({ after: cursor, head })
        : await fetchTip(chain, { ...tick, cursor, logs: tick.logs ?? [], last })
    const facts = await repair.close({ last, range, head })
    await commits.write(lease, { ...range, facts, complete: true, protocol: cursor === null, uncovers: false })
    // The deployment's own cuts are in the first range.
    for (const { subject, blockNumber, txHash } of range.hints)
      if (subject === 'code' && cursor !== null) log.warn({ chainId, block: blockNumber.toString(), txHash }, UPGRADED)
    if (range.block.number === head.number) return range.block
    log.info({ chainId, block: range.block.number.toString(), head: head.number.toString() }, 'catching up')
    return null
  }

  /** Whether the protocol's own state has to be read again where no log reports its changes. */
  const isProtocolDue = (): boolean => {
    if (performance.now() < protocolDue) return false
    protocolDue = performance.now() + PROTOCOL_EVERY_MS
    return true
  }

  /** Reads on by ids, without logs: as many entities as may be new. */
  const readIds = async (lease: Lease, progress: Progress, block: Block): Promise<Block | null> => {
    const { anchor, last } = progress
    const { facts, complete } = await readOn(chain, block, last, readAtOnce)
    readAtOnce = complete ? READ.from : Math.min(readAtOnce * READ.by, READ.to)
    const uncovers = isReadingIds(progress)
    await commits.write(lease, {
      block,
      facts,
      hints: [],
      complete,
      protocol: anchor === null || isProtocolDue(),
      uncovers,
    })
    if (!complete) log.info({ chainId, entities: facts.length, block: block.number.toString() }, 'reading entities')
    return complete ? block : null
  }

  /** Reads on, and proves the index at the head where it gets there. */
  const advance = async (
    lease: Lease,
    progress: Progress,
    source: Source,
    head: Block,
    tick: Tick | null,
  ): Promise<Done> => {
    mark = await (source === 'ids' ? readIds(lease, progress, head) : readLogs(lease, progress, head, tick))
    return { did: 'advanced', proven: mark }
  }

  /** Does what a look at the chain shows to be due. */
  const react = async (
    lease: Lease,
    progress: Progress,
    source: Source,
    known: StoredBlock,
    tick: Tick,
  ): Promise<Done> => {
    const { anchor, cursor } = progress
    const { head } = tick
    // A head below what was seen is a node that lags, not a reorg: a reorg shows in the hash.
    if (tick.known === null || tick.anchor === null || head.number < known.number) return idle
    if (anchor !== null && tick.anchor.hash !== anchor.hash) {
      const believed = await dispute.isGone(anchor)
      if (believed === null) return idle
      await rollBack(lease, anchor, believed)
      return { did: 'rolled back', proven: null }
    }
    if (tick.known.hash !== known.hash) return idle
    dispute.over()
    const isQuiet = source === 'ids' || tick.logs?.length === 0 || head.number === cursor?.number
    if (!tick.complete || !isQuiet) return advance(lease, progress, source, head, tick)
    mark = head
    const isNewer = cursor === null || known.number > cursor.number
    const isOld = cursor === null || known.timestamp - cursor.timestamp >= SETTLE_EVERY_SECONDS
    if (!isNewer || !(isOld || known.number === head.number)) return { did: 'idle', proven: known }
    const uncovers = isReadingIds(progress)
    const protocol = source === 'ids' && isProtocolDue()
    await commits.write(lease, { block: known, facts: [], hints: [], complete: true, protocol, uncovers })
    return { did: 'settled', proven: known }
  }

  /** Blocks from which on the tip's logs are asked for with each look; null where they may be more than a node gives at once. */
  const logsFrom = ({ cursor }: Progress, source: Source): bigint | null => {
    const width = chain.logWidth()
    if (source === 'ids' || cursor === null || mark === null || width === null) return null
    return (mark.number - cursor.number + 1n) * NEARNESS <= width ? cursor.number + 1n : null
  }

  /** Looks at a chain of which nothing is indexed yet, and begins. */
  const begin = async (lease: Lease, progress: Progress, source: Source, head: Block): Promise<Done> =>
    head.number < deployment.startBlock ? idle : advance(lease, progress, source, head, null)

  /** Does the work that ends a step. What a range lacks, or what was of more than one chain, is left to the next one. */
  const closing = async (anchor: StoredBlock | null, head: Block, work: () => Promise<Done>) => {
    try {
      return { ...(await work()), head }
    } catch (fault) {
      ranges.drop()
      if (fault instanceof RowMissing) return { ...idle, head }
      if (!(fault instanceof ChainMoved || fault instanceof RowTwice)) throw fault
      // Answers that belong to two chains: perhaps an endpoint has gone astray, which the others tell.
      log.info({ chainId, fault: fault.message }, 'answers of more than one chain')
      if (anchor !== null) await dispute.isGone(anchor)
      return { ...idle, head }
    }
  }

  const take = async (lease: Lease, progress: Progress, source: Source): Promise<Done & { readonly head: Block }> => {
    const { anchor, last } = progress
    const ahead = headAhead(progress)
    if (ahead !== null) return closing(anchor, ahead, () => advance(lease, progress, source, ahead, null))
    const known = mark ?? anchor
    const from = logsFrom(progress, source)
    mark = null
    const tick = known === null ? null : await lookAt(chain, { known, anchor: anchor ?? known, last, logsFrom: from })
    const head = tick?.head ?? (await chain.head())
    looked = { head, at: performance.now() }
    const isNew = tick === null || known === null
    const done = await closing(anchor, head, () =>
      isNew ? begin(lease, progress, source, head) : react(lease, progress, source, known, tick),
    )
    // What kept this step from going on must not be passed over by what was fetched ahead.
    if (done.did === 'idle') looked = null
    return done
  }

  return async (lease: Lease): Promise<StepResult> => {
    const progress = await readProgress(database, chainId)
    const source = isReadingIds(progress) || !chain.status().hasLogs ? 'ids' : 'logs'
    const done = await take(lease, progress, source)
    return { ...done, source, trouble: repair.trouble() ?? dispute.trouble() }
  }
}
