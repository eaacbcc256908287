import type { Chain } from '../chain/chain.ts'
import type { Block } from '../chain/requests.ts'
import { storeObservations } from '../db/observations.ts'
import type { Database } from '../db/pool.ts'
import { AnchorGone, holdAnchor, newestAnchor } from '../db/progress.ts'
import type { StoredBlock } from '../db/query.ts'
import { clearUnobserved, holdNotes, nextUnobserved, subjectsIn } from '../db/unobserved.ts'
import type { Logger } from '../lib/log.ts'
import { observe } from './observe.ts'

export type ObserverDeps = { readonly chain: Chain; readonly database: Database; readonly log: Logger }

export type Observer = {
  /**
   * Observes what is noted, oldest first, until nothing waits, the index is too far behind, or `signal` aborts. Any number of processes may
   * do so at once. Throws what nodes and database throw; what was stored until then stays.
   */
  observeAll(signal: AbortSignal): Promise<void>
}

/** Subjects observed at once, so that transactions stay short whatever piled up. */
const AT_ONCE = 500

/** Blocks in a row that may leave the chain under an observation before it is given up. */
const MOST_GONE = 5

/**
 * Seconds of the chain that an index may be behind its head and still be observed at. Nodes keep the state of the last blocks alone, and what
 * is seen in the middle of a backfill would have to be seen again.
 */
const NEAR_SECONDS = 30n

/** A head seen so long ago, in milliseconds, still tells whether an index is near it. */
const HEAD_KEPT_MS = 10_000

/**
 * Observes a chain's subjects, each at the newest block of the index. An older block never replaces a newer one, a block that leaves the
 * chain takes its observations with it, and a note outlives an observation from before it: so nobody has to lead.
 *
 * @example
 * const observer = createObserver({ chain, database, log })
 * await observer.observeAll(signal)
 */
export const createObserver = ({ chain, database, log }: ObserverDeps): Observer => {
  const { chainId } = chain
  let head: { readonly block: Block; readonly at: number } | null = null

  const isNear = async (anchor: StoredBlock): Promise<boolean> => {
    if (head === null || Date.now() - head.at > HEAD_KEPT_MS) head = { block: await chain.head(), at: Date.now() }
    return head.block.timestamp - anchor.timestamp <= NEAR_SECONDS
  }

  /** Observes what has waited longest; false when there is nothing to do. Throws AnchorGone, or what nodes and database throw. */
  const observeNext = async (): Promise<boolean> => {
    const notes = await nextUnobserved(database, chainId, AT_ONCE)
    if (notes.length === 0) return false
    // Looked up after the notes, so that it is not older than what they tell of.
    const anchor = await database.run((handle) => newestAnchor(handle, chainId))
    if (anchor === null || !(await isNear(anchor))) return false
    const seen = await observe({ chain, log }, anchor, subjectsIn(notes))
    await database.transaction(async (handle) => {
      await holdNotes(handle, chainId)
      await holdAnchor(handle, chainId, anchor)
      await clearUnobserved(handle, chainId, notes)
      await storeObservations(handle, chainId, anchor, seen)
    })
    return true
  }

  return {
    async observeAll(signal) {
      for (let gone = 0; !signal.aborted; ) {
        try {
          if (!(await observeNext())) return
          gone = 0
        } catch (fault) {
          gone += 1
          if (!(fault instanceof AnchorGone) || gone === MOST_GONE) throw fault
        }
      }
    },
  }
}
