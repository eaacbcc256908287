import type { Chain } from '../chain/chain.ts'
import type { Block } from '../chain/requests.ts'
import { holdLease, type Lease } from '../db/lease.ts'
import type { Database } from '../db/pool.ts'
import { type Progress, readProgress } from '../db/progress.ts'
import type { StoredBlock } from '../db/query.ts'
import { markAwaitingSettlement, markEventsOf, markUnobserved, type Subject } from '../db/unobserved.ts'
import { insertFacts, moveCursor, rollBack, thinAnchors } from '../db/write.ts'
import { isUnavailable } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { RawLog } from '../protocol/logs.ts'
import { checkComplete, checkDense, RowMissing } from './close.ts'
import { existAt, nextIds } from './existence.ts'
import { fetchRange, fetchTip, type Range } from './range.ts'
import { findAncestor, findBefore } from './reorg.ts'
import { lookAt } from './tick.ts'

export type StepDeps = {
  readonly chain: Chain
  readonly database: Database
  readonly leaseTtlMs: number
  readonly log: Logger
}

/** What one step did; `idle` means that index and chain agree. */
export type StepResult = {
  readonly did: 'idle' | 'advanced' | 'rolled back'
  /** The chain's newest block, where the step saw it. */
  readonly head: Block | null
}

/** Blocks from cursor to head that are read in one request. */
const NEAR = 500n

/** Where nothing happens, the cursor follows the head in steps of so many seconds of the chain. */
const SETTLE_EVERY_SECONDS = 1n

/** Steps in a row that have to see a changed hash before it counts: one answer may come from a node on another fork. */
const CHANGED_TIMES = 2

/** Times a range that lacks a row is asked for again before older ranges are suspected. */
const MISSING_TIMES = 3

/**
 * The one loop body of the index: look at the chain, then take the single step that brings the index nearer to it. It may be
 * stopped, killed or thrown out of anywhere: what a step writes is one transaction, and the next step starts from what is stored.
 * `step` throws what nodes and database throw, and LeaseLost when another worker has taken over.
 */
export const createStep = ({ chain, database, leaseTtlMs, log }: StepDeps) => {
  const { chainId, deployment } = chain
  let changed = 0
  /** The head of the last look, when nothing had happened: complete if it still is at the next look. */
  let mark: Block | null = null
  let gap: { readonly row: string; readonly times: number } | undefined

  const commit = (lease: Lease, write: Parameters<Database['transaction']>[0]): Promise<void> =>
    database.transaction(async (handle) => {
      await holdLease(handle, lease, leaseTtlMs)
      await write(handle)
    })

  const backTo = async (lease: Lease, ancestor: StoredBlock | null, why: string): Promise<void> => {
    await commit(lease, (handle) => rollBack(handle, chainId, ancestor))
    log.warn({ chainId, ancestor: ancestor?.number.toString() ?? null, why }, 'index rolled back')
  }

  /** Whether a row that the index lacks was there at its cursor already; so it seems where nodes keep no state of that block. */
  const lostBefore = async (cursor: StoredBlock, { kind, id }: RowMissing): Promise<boolean> => {
    try {
      return (await existAt(chain, cursor, { event: 0n, deposit: 0n, position: 0n, [kind]: id }))[kind]
    } catch (fault) {
      if (isUnavailable(fault)) throw fault
      return true
    }
  }

  /**
   * A range that lacks a row is asked for again, for as long as it takes: a node that lags has the row in a moment. A row that was lost
   * in an older range sends the index back to before it.
   */
  const recover = async (lease: Lease, cursor: StoredBlock | null, fault: unknown): Promise<StepResult['did']> => {
    if (!(fault instanceof RowMissing)) throw fault
    // A busy chain grows between two answers, so some row may seem to be missing, each time another. One that stays missing is
    // left out by a node, which is said ever more rarely.
    const row = `${fault.kind} ${fault.id}`
    const times = gap?.row === row ? gap.times + 1 : 1
    gap = { row, times }
    const fields = { chainId, fault: fault.message, times }
    if (times === 1) log.info(fields, 'a row is missing')
    else if (Number.isInteger(Math.log2(times))) log.warn(fields, 'a row is missing')
    if (times < MISSING_TIMES || cursor === null || !(await lostBefore(cursor, fault))) return 'idle'
    gap = undefined
    await backTo(lease, await findBefore({ chain, database }, cursor, fault.kind, fault.id), fault.message)
    return 'rolled back'
  }

  const write = (lease: Lease, range: Range, first: boolean): Promise<void> =>
    commit(lease, async (handle) => {
      await insertFacts(handle, chainId, range.facts)
      await markUnobserved(handle, chainId, first ? [protocolState, ...subjectsOf(range)] : subjectsOf(range))
      for (const subject of ['deposit', 'position'] as const) {
        const ids = subjectsOf(range).filter((each) => each.subject === subject)
        await markEventsOf(
          handle,
          chainId,
          subject,
          ids.map(({ id }) => id),
        )
      }
      await markAwaitingSettlement(handle, chainId, range.block.timestamp)
      await moveCursor(handle, chainId, range.block)
      await thinAnchors(handle, chainId, range.block.number)
    })

  /** Reads on from the cursor: up to the head where that is near, else as far as a node gives at once. */
  const advance = async (lease: Lease, { cursor, last }: Progress, head: Block, expected: readonly RawLog[] | null) => {
    const from = cursor === null ? deployment.startBlock : cursor.number + 1n
    const isNear = cursor !== null && expected !== null && head.number - cursor.number <= NEAR
    const range = isNear
      ? await fetchTip(chain, { cursor, head, expected })
      : await fetchRange(chain, { after: cursor, from, upTo: head.number })
    const atTip = range.block.number === head.number
    const next = checkDense(await nextIds(chain, head, last), range.facts)
    // Before the tip, later logs would show a gap; nodes that keep no old state cannot be asked there.
    if (atTip) await checkComplete(chain, range.block, next)
    await write(lease, range, cursor === null)
    gap = undefined
    if (!atTip) log.info({ chainId, block: range.block.number.toString(), head: head.number.toString() }, 'catching up')
  }

  /** Moves the cursor to a block that is known to be complete though no range was read: nothing happened up to it. */
  const settleAt = (lease: Lease, block: StoredBlock): Promise<void> =>
    commit(lease, async (handle) => {
      await markAwaitingSettlement(handle, chainId, block.timestamp)
      await moveCursor(handle, chainId, block)
      await thinAnchors(handle, chainId, block.number)
    })

  return async (lease: Lease): Promise<StepResult> => {
    const progress = await readProgress(database, chainId)
    const { cursor, last } = progress
    let head: Block | null = null
    const result = (did: StepResult['did']): StepResult => ({ did, head })
    try {
      if (cursor === null) {
        head = await chain.head()
        if (head.number < deployment.startBlock) return result('idle')
        await advance(lease, progress, head, null)
        return result('advanced')
      }
      const known = mark ?? cursor
      mark = null
      const tick = await lookAt(chain, cursor, known, last)
      head = tick.head
      // A head below what was seen is a node that lags, not a reorg: a reorg shows in the hash.
      if (tick.known === null || head.number < known.number) return result('idle')
      if (tick.known.hash !== known.hash) {
        if (known !== cursor) return result('idle')
        changed += 1
        if (changed < CHANGED_TIMES) return result('idle')
        changed = 0
        await backTo(lease, await findAncestor({ chain, database }, cursor), `block ${cursor.number} changed`)
        return result('rolled back')
      }
      changed = 0
      if (!tick.complete || tick.logs === null || tick.logs.length > 0) {
        if (head.number > cursor.number) await advance(lease, progress, head, tick.logs)
        else await checkComplete(chain, cursor, await nextIds(chain, cursor, last))
        return result(head.number > cursor.number ? 'advanced' : 'idle')
      }
      mark = head
      const isOld = known.timestamp - cursor.timestamp >= SETTLE_EVERY_SECONDS || known.number === head.number
      if (known.number > cursor.number && isOld) await settleAt(lease, known)
      return result('idle')
    } catch (fault) {
      return result(await recover(lease, cursor, fault))
    }
  }
}

const protocolState: Subject = { subject: 'chain', id: 0n }

/** What a range's logs say has changed; a new event also changes the protocol's count. */
const subjectsOf = ({ facts, hints }: Range): Subject[] => [
  ...facts.map(({ kind, id }) => ({ subject: kind, id })),
  ...hints.map((hint) => (hint.subject === 'chain' ? protocolState : { subject: hint.subject, id: hint.id })),
  ...(facts.some(({ kind }) => kind === 'event') ? [protocolState] : []),
]
