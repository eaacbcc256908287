import type { Chain } from '../chain/chain.ts'
import type { Block } from '../chain/rpc/requests.ts'
import { type Observations, storeObservations } from '../db/index/observations.ts'
import { storeTokens } from '../db/index/tokens.ts'
import { AnchorLost, holdAnchor, newestAnchor } from '../db/index/work/progress.ts'
import {
  lockRefreshQueue,
  nextRefreshRequests,
  type RefreshRequest,
  subjectsIn,
} from '../db/index/work/refresh-queue.ts'
import type { Database } from '../db/pool.ts'
import type { StoredBlock } from '../db/stored.ts'
import type { Logger } from '../lib/observe/log.ts'
import type { Token } from '../protocol/tokens.ts'
import { createEventTokens } from './reading/event-tokens.ts'
import { readViews } from './reading/read-views.ts'

export type ObserverDeps = {
  readonly chain: Chain
  readonly database: Database
  readonly log: Logger
  /** The clock by which the head and tokens are read again, in milliseconds since the epoch. */
  readonly now?: () => number
  /** `BATCH` unless given. */
  readonly batch?: number
}

export type Observer = {
  /**
   * Observes the subjects of the refresh queue, oldest request first, until the queue is empty, the index is too far
   * behind, or `signal` aborts. Several processes may do so at once. Throws what nodes and database throw; stored
   * batches stay.
   */
  observeAll(signal: AbortSignal): Promise<void>
}

/** The log message of an upgrade. */
export const UPGRADED = 'the functions of the diamond changed: every entity is read again'

/** The log message of a token that has other decimals, or another symbol, than the index. */
const TOKEN_CHANGED = 'a token changed its decimals or its symbol: its rows show the new ones'

/** Refresh requests and the observations of their subjects at a block. */
type Batch = {
  readonly requests: readonly RefreshRequest[]
  readonly anchor: StoredBlock
  readonly observations: Observations
  /** The tokens of the observed events that have to be stored. */
  readonly tokens: readonly Token[]
}

/** Requests observed per batch, so that transactions stay short for any length of the queue. */
const BATCH = 500

/** Consecutive anchors that may be lost during observations before the observer gives up. */
const MAX_LOST_ANCHORS = 5

/**
 * How far the index may be behind the head to be observed, in seconds of chain time. Nodes keep only the state of the
 * newest blocks, and observations in the middle of a backfill would have to be repeated.
 */
const NEAR_SECONDS = 30n

/** How long a head is used to decide whether the index is near it, in milliseconds. */
const HEAD_MAX_AGE_MS = 10_000

/**
 * Observes a chain's subjects at the newest block of the index. No lease is needed: an older block never replaces a
 * newer one, a rollback deletes the observations of orphaned blocks, and a request that was raised since it was read is
 * not completed.
 *
 * @example
 * const observer = createObserver({ chain, database, log })
 * await observer.observeAll(signal)
 */
export const createObserver = (deps: ObserverDeps): Observer => {
  const { chain, database, log, now = Date.now, batch: batchSize = BATCH } = deps
  const { chainId } = chain
  const tokens = createEventTokens(chain, now)
  let head: { readonly block: Block; readonly at: number } | null = null

  const isNear = async (anchor: StoredBlock): Promise<boolean> => {
    const near = ({ timestamp }: Block): boolean => timestamp - anchor.timestamp <= NEAR_SECONDS
    if (head !== null && now() - head.at <= HEAD_MAX_AGE_MS && near(head.block)) return true
    // The stored head may be of an orphaned fork with a later time.
    head = { block: await chain.head(), at: now() }
    return near(head.block)
  }

  /**
   * Observes the subjects of the oldest requests, except those that are being stored; null when there is nothing to do.
   */
  const readNext = async (except: readonly RefreshRequest[]): Promise<Batch | null> => {
    const requests = await nextRefreshRequests(database, chainId, batchSize, except)
    if (requests.length === 0) return null
    // Read after the requests, so that the anchor is not older than the changes that caused them.
    const anchor = await database.run((handle) => newestAnchor(handle, chainId))
    if (anchor === null || !(await isNear(anchor))) return null
    const observations = await readViews({ chain, log }, anchor, subjectsIn(requests))
    return { requests, anchor, observations, tokens: await tokens.read(observations.events) }
  }

  const store = async ({ requests, anchor, observations, tokens: found }: Batch): Promise<void> => {
    const { changed, isUpgraded } = await database.transaction(async (handle) => {
      await lockRefreshQueue(handle, chainId)
      await holdAnchor(handle, chainId, anchor)
      const changed = await storeTokens(handle, chainId, found)
      const isUpgraded = await storeObservations(handle, chainId, anchor, observations, requests)
      return { changed, isUpgraded }
    })
    tokens.stored(found)
    for (const change of changed) log.warn({ chainId, ...change }, TOKEN_CHANGED)
    if (isUpgraded) log.warn({ chainId, block: anchor.number.toString() }, UPGRADED)
  }

  /**
   * Reads each batch while the previous one is stored. Throws AnchorLost, or what nodes and database throw; stored
   * batches stay.
   */
  const observeSome = async (signal: AbortSignal, onStored: () => void): Promise<void> => {
    let last: Batch | null = null
    let storing = Promise.resolve()
    try {
      while (!signal.aborted) {
        const batch = await readNext(last?.requests ?? [])
        await storing
        if (last !== null) onStored()
        // Storing the last batch may have added requests.
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
      let lostAnchors = 0
      const onStored = (): void => {
        lostAnchors = 0
      }
      for (;;) {
        try {
          return await observeSome(signal, onStored)
        } catch (fault) {
          lostAnchors += 1
          if (!(fault instanceof AnchorLost) || lostAnchors === MAX_LOST_ANCHORS) throw fault
        }
      }
    },
  }
}
