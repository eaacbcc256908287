import { randomUUID } from 'node:crypto'
import { sql } from 'drizzle-orm'
import type { Chain } from '../chain/chain.ts'
import { saveHeartbeat, saveProblem } from '../db/index/work/heartbeat.ts'
import {
  EXTENDED_EVERY,
  extendLease,
  holdLease,
  type Lease,
  LeaseLost,
  releaseLease,
  takeLease,
} from '../db/index/work/lease.ts'
import type { Database, Handle } from '../db/pool.ts'
import { backoffMs, isLogged } from '../lib/backoff.ts'
import { errorText } from '../lib/errors.ts'
import { sleep } from '../lib/lifecycle.ts'
import type { Logger } from '../lib/observe/log.ts'
import type { Demand } from './demand.ts'
import { createStep, type StepResult } from './step.ts'

export type FollowDeps = {
  readonly chain: Chain
  /** A database that the follower's signal aborts too, so that no long write delays its end. */
  readonly database: Database
  /**
   * A database with a single connection for the lease only. Other workers detect the end of the follower by the end of
   * this session.
   */
  readonly session: Database
  /** The pauses between two polls, in milliseconds: while no client waits for news, and while one does. */
  readonly pollMs: { readonly idle: number; readonly fast: number }
  /** What readers wait for. */
  readonly demand: Demand
  /** Called after each step that wrote, because it may have requested observations. */
  readonly onWrite: () => void
  /** Why the queue of jobs fails; null, which is the default, while it works. */
  readonly jobsFault?: () => string | null
  readonly log: Logger
  /** `LEASE_TTL_MS` unless given. */
  readonly leaseTtlMs?: number
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number
}

/** The lifetime of a lease that is not extended. */
const LEASE_TTL_MS = 2_500

/**
 * After how many polls of a quiet chain the index is proved, and its anchor compared with the chain. A proof also comes
 * after so many milliseconds, because the lag of an index is the age of its newest block.
 */
const PROVE_EVERY = 10
const PROVE_WITHIN_MS = 20_000
const CHECK_ANCHOR_EVERY = 3

/** The longest pause after a fault, in milliseconds. It bounds the delay after a node or the database recovers. */
const MAX_PAUSE_MS = 1_000

/**
 * How often the heartbeat is stored while the index catches up, in milliseconds. It is stored at once when the problem
 * changes, and with each poll near the head.
 */
const HEARTBEAT_EVERY_MS = 1_000

/**
 * Keeps the index of one chain up to date until `signal` aborts: takes the lease or stands by, then steps in a loop. A
 * fault of a node or of the database does not end it: each fault is logged and followed by a pause that grows with the
 * number of consecutive faults.
 *
 * @example await follow({ chain, database, session, pollMs, demand, onWrite, jobsFault, log }, controller.signal)
 */
export const follow = async (deps: FollowDeps, signal: AbortSignal): Promise<void> => {
  const {
    chain,
    database,
    session,
    pollMs,
    demand,
    onWrite,
    jobsFault = () => null,
    log,
    leaseTtlMs = LEASE_TTL_MS,
  } = deps
  const clock = deps.now ?? (() => performance.now())
  const { chainId } = chain
  const holder = randomUUID()
  // Half a pause less than the polls take: the poll itself may come a moment early.
  const proveEveryMs = Math.min(PROVE_EVERY * pollMs.idle, PROVE_WITHIN_MS) - 0.5 * pollMs.idle
  const anchorEveryMs = (CHECK_ANCHOR_EVERY - 0.5) * pollMs.idle
  const step = createStep({ chain, database, leaseTtlMs, log, proveEveryMs, anchorEveryMs })
  let lease: Lease | null = null
  let faults = 0
  let reported: { readonly at: number; readonly problem: string | null } | null = null

  /** Stores what only the holder of the lease may: another worker has proofs and problems of its own. */
  const store = (current: Lease, write: (handle: Handle) => Promise<void>): Promise<void> =>
    database.transaction(async (handle) => {
      await holdLease(handle, current, leaseTtlMs)
      await write(handle)
    })

  const report = async (current: Lease, result: StepResult): Promise<void> => {
    const { head, isQuiet, proven, source, problem, left } = result
    const now = clock()
    if (left === 'work' && reported?.problem === problem && now - reported.at < HEARTBEAT_EVERY_MS) return
    const heartbeat = { head, isQuiet, proven, source, problem, jobsFault: jobsFault(), nodes: chain.status() }
    await store(current, (handle) => saveHeartbeat(handle, chainId, heartbeat))
    reported = { at: now, problem }
  }

  let extension: Promise<void> | null = null
  /**
   * Extends the lease in the background. A step may take longer than the lifetime of a lease, so two workers with slow
   * nodes would otherwise take the lease from each other for ever; and on a quiet chain no step writes. Each write
   * transaction checks the lease itself.
   */
  const extend = (): void => {
    if (lease === null || extension !== null) return
    const current = lease
    // A worker whose steps cannot reach the database must not keep the lease by its session's connection.
    extension = database
      .run((handle) => handle.execute(sql`SELECT`))
      .then(() => extendLease(session, current, leaseTtlMs))
      .catch(() => {})
      .finally(() => {
        extension = null
      })
  }

  /** Takes one step and returns the pause after it, in milliseconds. */
  const iterate = async (): Promise<number> => {
    if (lease === null) {
      lease = await takeLease(session, chainId, holder, leaseTtlMs)
      if (lease === null) return leaseTtlMs / 8
      log.info({ chainId, epoch: lease.epoch.toString() }, 'following')
    }
    const result = await step(lease, { wanted: demand.wanted(), isFast: demand.isFast() })
    await report(lease, result)
    if (result.proven !== null) demand.reached(result.proven.number)
    faults = 0
    if (result.isWritten) onWrite()
    if (result.left === 'work') return 0
    return result.left === 'a decision' || demand.isFast() ? pollMs.fast : pollMs.idle
  }

  const extensions = setInterval(extend, leaseTtlMs * EXTENDED_EVERY)
  while (!signal.aborted) {
    try {
      const began = clock()
      const pause = await iterate()
      // The pause of a poll begins with it, so that a slow node does not make polls rarer.
      await demand.pause(pause === 0 ? 0 : Math.max(pause - (clock() - began), pause / 2), signal)
    } catch (fault) {
      if (signal.aborted) break
      if (fault instanceof LeaseLost) lease = null
      const pause = backoffMs(faults, 100, MAX_PAUSE_MS)
      faults += 1
      if (isLogged(faults))
        log.warn({ chainId, fault: errorText(fault), faults, pauseMs: Math.round(pause) }, 'index step failed')
      if (lease !== null && faults > 1)
        await store(lease, (handle) => saveProblem(handle, chainId, errorText(fault))).catch((failure) => {
          if (failure instanceof LeaseLost) lease = null
        })
      await sleep(pause, signal)
    }
  }
  clearInterval(extensions)
  // An extension under way would otherwise extend the lease after its release.
  await extension
  if (lease === null) return
  // If the release fails, the next worker has to wait until the lease expires.
  await releaseLease(session, lease).catch((fault) =>
    log.warn({ chainId, fault: errorText(fault) }, 'lease not released'),
  )
}
