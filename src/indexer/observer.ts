import type { Chain } from '../chain/chain.ts'
import type { Block } from '../chain/requests.ts'
import { type Observations, storeObservations } from '../db/observations.ts'
import type { Database } from '../db/pool.ts'
import { AnchorGone, holdAnchor, newestAnchor } from '../db/progress.ts'
import { createRenderer, storeTokens } from '../db/rendering.ts'
import type { StoredBlock } from '../db/stored.ts'
import { clearUnobserved, holdNotes, type Note, nextUnobserved, subjectsIn } from '../db/unobserved.ts'
import type { Logger } from '../lib/log.ts'
import type { Token } from '../protocol/tokens.ts'
import { createEventTokens } from './event-tokens.ts'
import { observe } from './observe.ts'

export type ObserverDeps = { readonly chain: Chain; readonly database: Database; readonly log: Logger }

export type Observer = {
  /**
   * Observes what is noted, oldest first, until nothing waits, the index is too far behind, or `signal` aborts. Any number of processes may
   * do so at once. Throws what nodes and database throw; what was stored until then stays.
   */
  observeAll(signal: AbortSignal): Promise<void>
}

/** Logged once an upgrade. */
export const UPGRADED = 'the functions of the diamond changed: every entity is read again'

/** Subjects that were read at a block, by their notes. */
type Batch = {
  readonly notes: readonly Note[]
  readonly anchor: StoredBlock
  readonly seen: Observations
  /** The tokens of the events among them, as far as they are to be stored. */
  readonly tokens: readonly Token[]
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

/** An index that was near a head seen at most so long ago, in milliseconds, is near the newest one. */
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
  const renderer = createRenderer(chain.deployment)
  const tokens = createEventTokens(chain, renderer)
  let head: { readonly block: Block; readonly at: number } | null = null

  const isNear = async (anchor: StoredBlock): Promise<boolean> => {
    const near = ({ timestamp }: Block): boolean => timestamp - anchor.timestamp <= NEAR_SECONDS
    if (head !== null && Date.now() - head.at <= HEAD_KEPT_MS && near(head.block)) return true
    // The head that was kept may be of a fork that is gone, whose clock was ahead.
    head = { block: await chain.head(), at: Date.now() }
    return near(head.block)
  }

  /** Reads what has waited longest, except what is being stored just now; null when there is nothing to do. */
  const readNext = async (except: readonly Note[]): Promise<Batch | null> => {
    const notes = await nextUnobserved(database, chainId, AT_ONCE, except)
    if (notes.length === 0) return null
    // Looked up after the notes, so that it is not older than what they tell of.
    const anchor = await database.run((handle) => newestAnchor(handle, chainId))
    if (anchor === null || !(await isNear(anchor))) return null
    const seen = await observe({ chain, log }, anchor, subjectsIn(notes))
    return { notes, anchor, seen, tokens: await tokens.read(seen.events) }
  }

  const store = async ({ notes, anchor, seen, tokens: found }: Batch): Promise<void> => {
    const isUpgraded = await database.transaction(async (handle) => {
      await holdNotes(handle, chainId)
      await holdAnchor(handle, chainId, anchor)
      await clearUnobserved(handle, chainId, notes)
      await storeTokens(handle, chainId, found)
      return storeObservations(handle, chainId, anchor, seen, renderer)
    })
    tokens.stored(found)
    if (isUpgraded) log.warn({ chainId, block: anchor.number.toString() }, UPGRADED)
  }

  /** Reads one batch while the one before is stored. Throws AnchorGone, or what nodes and database throw; what was stored until then stays. */
  const observeSome = async (signal: AbortSignal, onStored: () => void): Promise<void> => {
    let last: Batch | null = null
    let storing = Promise.resolve()
    try {
      while (!signal.aborted) {
        const batch = await readNext(last?.notes ?? [])
        await storing
        if (last !== null) onStored()
        // What was stored may have noted more.
        if (batch === null && last === null) return
        last = batch
        if (batch !== null) storing = store(batch)
        storing.catch(() => {})
      }
    } finally {
      await storing
    }
  }

  return {
    async observeAll(signal) {
      let gone = 0
      const onStored = (): void => {
        gone = 0
      }
      for (;;) {
        try {
          return await observeSome(signal, onStored)
        } catch (fault) {
          gone += 1
          if (!(fault instanceof AnchorGone) || gone === MOST_GONE) throw fault
        }
      }
    },
  }
}
