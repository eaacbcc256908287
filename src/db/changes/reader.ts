import { errorText, isUnavailable } from '../../lib/errors.ts'
import { sleep } from '../../lib/lifecycle.ts'
import type { Logger } from '../../lib/observe/log.ts'
import type { Reader } from '../pool.ts'
import { hasState } from '../refusals.ts'
import { newestChange } from './changes.ts'

/** How long after a failure the replica is tried again, in milliseconds. */
const RETURN_AFTER_MS = 5_000

/** The longest pause, in pauses after a failure. It doubles with each time that reads waited for the replica in vain. */
const LONGEST_PAUSE = 12

/** How long reads may wait until the replica has everything that was read from the primary, in milliseconds. */
const CATCH_UP_WITHIN_MS = 500

/** The SQLSTATE with which a replica cancels a statement that conflicts with recovery. */
const CONFLICT = '40001'

/**
 * Reads from a replica that may lag behind its primary, and from the primary while the replica is out of reach. Reads
 * never lose a change: the replica is used again only after it has every change that was read from the primary, for
 * which reads wait briefly (decision 18). Throws as a database does when both are out of reach.
 */
export const createReader = (deps: {
  readonly copy: Reader
  readonly origin: Reader
  readonly log: Logger
  readonly returnAfterMs?: number
  readonly catchUpWithinMs?: number
}): Reader & {
  /** Whether reads use the replica. */
  readonly isReplicaUsed: () => boolean
} => {
  const { copy, origin, log } = deps
  const { returnAfterMs = RETURN_AFTER_MS, catchUpWithinMs = CATCH_UP_WITHIN_MS } = deps
  /** When the replica failed; null while it is used. */
  let failedAt: number | null = null
  /** Whether the primary was read since the replica failed: the replica may lack what was read. */
  let isAhead = false
  /** Reads of the primary that are not complete. */
  const pending = new Set<Promise<unknown>>()
  let catchingUp: Promise<boolean> | null = null
  /** How long after a failure the replica is tried again. */
  let pauseMs = returnAfterMs
  let isTrying = false

  const fromOrigin = <T>(ask: (database: Reader) => Promise<T>): Promise<T> => {
    const result = ask(origin)
    const done = result.then(
      () => {
        isAhead = true
      },
      () => {},
    )
    pending.add(done)
    void done.then(() => pending.delete(done))
    return result
  }

  /** The change that the replica needs before it is used again. */
  const wantedChange = async (): Promise<number> => (isAhead ? origin.run(newestChange) : 0)
  const hasAll = async (wanted: number): Promise<boolean> => (await copy.run(newestChange)) >= wanted

  /** Cuts off the answers after the time that reads may wait for the replica: they are null from then on. */
  const deadline = () => {
    const late = sleep(catchUpWithinMs).then(() => null)
    return <T>(work: Promise<T>): Promise<T | null> => Promise.race([work, late])
  }

  /** Waits until the replica has a change; false when time is up before. */
  const hasInTime = async (wanted: number, inTime: ReturnType<typeof deadline>): Promise<boolean> => {
    for (;;) {
      const has = await inTime(hasAll(wanted))
      if (has !== false) return has === true
      await sleep(10)
    }
  }

  /**
   * Waits until reads of the primary are complete and the replica has what they returned. Each takes at most the time
   * that reads may wait. Returns whether the replica is used again.
   */
  const catchUp = async (): Promise<boolean> => {
    if ((await deadline()(Promise.all(pending))) === null) return false
    const inTime = deadline()
    const wanted = await inTime(wantedChange())
    if (wanted === null || !(await hasInTime(wanted, inTime))) return false
    failedAt = null
    log.info('the database replica is used again')
    return true
  }

  const tryCopy = async (): Promise<void> => {
    isTrying = true
    try {
      // First without blocking reads: a replica that lags for longer than they may wait delays none.
      if (!(await hasInTime(await wantedChange(), deadline()))) return
      catchingUp = catchUp()
      // Reads waited for nothing: that must stay rare.
      pauseMs = (await catchingUp) ? returnAfterMs : Math.min(2 * pauseMs, LONGEST_PAUSE * returnAfterMs)
    } catch (fault) {
      log.debug({ fault: errorText(fault) }, 'the database replica is still out of reach')
    } finally {
      catchingUp = null
      isTrying = false
      if (failedAt !== null) failedAt = performance.now()
    }
  }

  /** Waits while the replica catches up. `tryCopy` handles the outcome. */
  const whileCatchingUp = async (): Promise<void> => {
    while (catchingUp !== null) await catchingUp.catch(() => false)
  }

  const read = async <T>(ask: (database: Reader) => Promise<T>): Promise<T> => {
    await whileCatchingUp()
    if (failedAt !== null) {
      if (!isTrying && performance.now() - failedAt > pauseMs) void tryCopy()
      return fromOrigin(ask)
    }
    try {
      return await ask(copy)
    } catch (fault) {
      if (!isUnavailable(fault) && !hasState(fault, CONFLICT)) throw fault
      if (failedAt === null) {
        log.warn({ fault: errorText(fault) }, 'the database replica is out of reach')
        isAhead = false
        failedAt = performance.now()
      }
      await whileCatchingUp()
      return failedAt === null ? ask(copy) : fromOrigin(ask)
    }
  }

  return {
    run: (query) => read((database) => database.run(query)),
    rows: (statement) => read((database) => database.rows(statement)),
    isReplicaUsed: () => failedAt === null,
  }
}
