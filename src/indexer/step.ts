import type { Chain } from '../chain/chain.ts'
import { toServiceError } from '../chain/errors.ts'
import { type Block, getBlock } from '../chain/requests.ts'
import { holdLease, type Lease } from '../db/lease.ts'
import type { Database } from '../db/pool.ts'
import { type Progress, readProgress } from '../db/progress.ts'
import type { StoredBlock } from '../db/query.ts'
import {
  clearUnobserved,
  markAwaitingSettlement,
  markEventsOf,
  markUnobserved,
  nextUnobserved,
  type Subject,
} from '../db/unobserved.ts'
import { insertFacts, moveCursor, rollBack, storeObservations, thinAnchors } from '../db/write.ts'
import { isUnavailable, unavailable } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { checkComplete, checkDense, RowMissing } from './close.ts'
import { existAt, nextIds } from './existence.ts'
import { observe } from './observe.ts'
import { fetchRange, type Range } from './range.ts'
import { findAncestor, findBefore } from './reorg.ts'

export type StepDeps = {
  readonly chain: Chain
  readonly database: Database
  readonly leaseTtlMs: number
  readonly log: Logger
}

/** What one step did; `idle` means that index and chain agree and nothing waits. */
export type StepResult = {
  readonly did: 'idle' | 'advanced' | 'rolled back'
  readonly head: Block
  readonly indexed: bigint | null
}

/** Subjects observed in one step, so that a step stays short whatever piled up. */
const OBSERVED_AT_ONCE = 500

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
  let gap: { readonly row: string; readonly times: number } | undefined

  const commit = (lease: Lease, write: Parameters<Database['transaction']>[0]): Promise<void> =>
    database.transaction(async (handle) => {
      await holdLease(handle, lease, leaseTtlMs)
      await write(handle)
    })

  const look = async (cursor: { readonly number: bigint } | null): Promise<{ head: Block; anchor: Block | null }> => {
    const [head, anchor] = await chain.send([getBlock('latest'), getBlock(cursor?.number ?? 0n)])
    if (!head.ok) throw toServiceError(head.error)
    if (!anchor.ok) throw toServiceError(anchor.error)
    if (head.value === null) throw unavailable(`chain ${chainId} has no latest block`)
    return { head: head.value, anchor: anchor.value }
  }

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

  const observeNext = async (lease: Lease, head: Block): Promise<boolean> => {
    const subjects = await nextUnobserved(database, chainId, OBSERVED_AT_ONCE)
    if (subjects.length === 0) return false
    const seen = await observe({ chain, log }, head, subjects)
    await commit(lease, async (handle) => {
      await clearUnobserved(handle, chainId, subjects)
      await storeObservations(handle, chainId, head, seen)
    })
    return true
  }

  const advance = async (lease: Lease, { cursor, last }: Progress, head: Block): Promise<void> => {
    const from = cursor === null ? deployment.startBlock : cursor.number + 1n
    const range = await fetchRange(chain, { after: cursor, from, upTo: head.number })
    const atTip = range.block.number === head.number
    const next = checkDense(await nextIds(chain, head, last), range.facts)
    // Before the tip, later logs would show a gap; nodes that keep no old state cannot be asked there.
    if (atTip) await checkComplete(chain, range.block, next)
    await write(lease, range, cursor === null)
    gap = undefined
    if (atTip) await observeNext(lease, range.block)
    else log.info({ chainId, block: range.block.number.toString(), head: head.number.toString() }, 'catching up')
  }

  return async (lease: Lease): Promise<StepResult> => {
    const progress = await readProgress(database, chainId)
    const { cursor } = progress
    const { head, anchor } = await look(cursor)
    const result = (did: StepResult['did'], indexed = cursor?.number ?? null): StepResult => ({ did, head, indexed })

    // A head below the cursor is a node that lags, not a reorg: a reorg shows in the hash.
    if (cursor !== null && (anchor === null || head.number < cursor.number)) return result('idle')
    if (cursor !== null && anchor?.hash !== cursor.hash) {
      changed += 1
      if (changed < CHANGED_TIMES) return result('idle')
      changed = 0
      await backTo(lease, await findAncestor({ chain, database }, cursor), `block ${cursor.number} changed`)
      return result('rolled back')
    }
    changed = 0
    // Two answers, two forks: a hash that really changed shows in the anchor.
    if (cursor?.number === head.number && cursor.hash !== head.hash) return result('idle')
    if (cursor?.number === head.number || deployment.startBlock > head.number) {
      return result((await observeNext(lease, head)) ? 'advanced' : 'idle')
    }
    try {
      await advance(lease, progress, head)
    } catch (fault) {
      return result(await recover(lease, cursor, fault))
    }
    return result('advanced', null)
  }
}

const protocolState: Subject = { subject: 'chain', id: 0n }

/** What a range's logs say has changed; a new event also changes the protocol's count. */
const subjectsOf = ({ facts, hints }: Range): Subject[] => [
  ...facts.map(({ kind, id }) => ({ subject: kind, id })),
  ...hints.map((hint) => (hint.subject === 'chain' ? protocolState : { subject: hint.subject, id: hint.id })),
  ...(facts.some(({ kind }) => kind === 'event') ? [protocolState] : []),
]
