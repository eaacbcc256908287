import { randomUUID } from 'node:crypto'
import { sql } from 'drizzle-orm'
import type { Chain } from '../chain/chain.ts'
import { EXTENDED_EVERY, extendLease, holdLease, type Lease, LeaseLost, releaseLease, takeLease } from '../db/lease.ts'
import { saveLook } from '../db/looks.ts'
import type { Database } from '../db/pool.ts'
import { backoffMs } from '../lib/backoff.ts'
import { errorText } from '../lib/errors.ts'
import { sleep } from '../lib/lifecycle.ts'
import type { Logger } from '../lib/log.ts'
import { createStep, type StepResult } from './step.ts'

export type FollowDeps = {
  readonly chain: Chain
  /** One that the follower's signal ends too, so that no long write keeps it. */
  readonly database: Database
  /** A database of one connection of the follower's own: that it ended tells others that the follower did. */
  readonly session: Database
  /** Pause between two looks at a chain that has nothing new, in milliseconds. */
  readonly pollMs: number
  /** Called after a step that wrote: there may be something to observe. */
  readonly onNoted: () => void
  readonly log: Logger
}

/** A leader that says nothing for so long is taken for dead. */
const LEASE_TTL_MS = 2_500

/** Longest pause after a fault, in milliseconds: a node or database that is back is found within this. */
const MAX_PAUSE_MS = 1_000

/** What is seen of a chain is stored so often, in milliseconds, and at once when trouble comes or goes. */
const REMEMBER_EVERY_MS = 1_000

/**
 * Keeps one chain's index converging until `signal` aborts: takes the lease or stands by, then steps for ever. No fault of a node,
 * the database or a range ends it; each is logged and followed by a pause that grows while faults last.
 *
 * @example await follow({ chain, database, session, pollMs: 500, onNoted, log }, controller.signal)
 */
export const follow = async (
  { chain, database, session, pollMs, onNoted, log }: FollowDeps,
  signal: AbortSignal,
): Promise<void> => {
  const { chainId } = chain
  const holder = randomUUID()
  const step = createStep({ chain, database, leaseTtlMs: LEASE_TTL_MS, log })
  let lease: Lease | null = null
  let faults = 0
  let remembered: { readonly at: number; readonly trouble: string | null } | null = null

  const remember = async (held: Lease, { head, proven, source, trouble }: StepResult): Promise<void> => {
    const now = performance.now()
    if (remembered?.trouble === trouble && now - remembered.at < REMEMBER_EVERY_MS) return
    const look = { head, proven, source, trouble, nodes: chain.status() }
    await database.transaction(async (handle) => {
      // What was seen by one who does not lead any more proves nothing.
      await holdLease(handle, held, LEASE_TTL_MS)
      await saveLook(handle, chainId, look)
    })
    remembered = { at: now, trouble }
  }

  let extending = false
  /**
   * A step may take longer than the lease lives, two workers with slow nodes would take it from each other for ever; and on a quiet chain
   * no step writes. Whether the lease still holds is decided where it counts, in the transaction that writes.
   */
  const extend = (): void => {
    if (lease === null || extending) return
    const held = lease
    extending = true
    // One whose steps do not reach the database must not lead on by another connection.
    database
      .run((handle) => handle.execute(sql`SELECT`))
      .then(() => extendLease(session, held, LEASE_TTL_MS))
      .catch(() => {})
      .finally(() => {
        extending = false
      })
  }

  const turn = async (): Promise<number> => {
    if (lease === null) {
      lease = await takeLease(session, chainId, holder, LEASE_TTL_MS)
      if (lease === null) return LEASE_TTL_MS / 8
      log.info({ chainId, epoch: lease.epoch.toString() }, 'following')
    }
    const result = await step(lease)
    await remember(lease, result)
    faults = 0
    if (result.did !== 'idle') onNoted()
    const isBehind = result.did === 'rolled back' || (result.did === 'advanced' && result.proven === null)
    return isBehind ? 0 : pollMs
  }

  const extensions = setInterval(extend, LEASE_TTL_MS * EXTENDED_EVERY)
  while (!signal.aborted) {
    try {
      await sleep(await turn(), signal)
    } catch (fault) {
      if (signal.aborted) break
      if (fault instanceof LeaseLost) lease = null
      const pause = backoffMs(faults, 100, MAX_PAUSE_MS)
      faults += 1
      log.warn({ chainId, fault: errorText(fault), faults, pauseMs: Math.round(pause) }, 'index step failed')
      await sleep(pause, signal)
    }
  }
  clearInterval(extensions)
  if (lease === null) return
  // Without this the next worker waits for the lease to expire, which is all that is lost.
  await releaseLease(session, lease).catch((fault) =>
    log.warn({ chainId, fault: errorText(fault) }, 'lease not released'),
  )
}
