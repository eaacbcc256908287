import { DatabaseError } from 'pg'
import { errorText, isUnavailable } from '../lib/errors.ts'
import { sleep } from '../lib/lifecycle.ts'
import type { Logger } from '../lib/log.ts'
import type { Database } from './pool.ts'

/** What reads alone need of a database. */
export type Reader = Pick<Database, 'run' | 'rows'>

/** How long after the copy failed it is tried again, in milliseconds. */
const RETURN_AFTER_MS = 5_000

/** How long reads may be held up until the copy has what was read from the origin, in milliseconds. */
const CATCH_UP_WITHIN_MS = 500

/** A server that trails gives up a statement which needs rows that it is about to change (SQLSTATE 40001). */
const isConflict = (fault: unknown): boolean =>
  fault instanceof DatabaseError ? fault.code === '40001' : fault instanceof Error && isConflict(fault.cause)

/** Every database has as much. */
const nothing = [0n, 0n] as const

/** How far a database is: the number of its newest change and, between two changes, the blocks of its cursors, which only rise then. */
const state = async (database: Reader): Promise<readonly [bigint, bigint]> => {
  const [[change, blocks] = []] = await database.rows({
    name: 'state',
    text: 'SELECT coalesce((SELECT last FROM change_counter), 0), coalesce((SELECT sum(block_number) FROM cursors), 0)',
    values: [],
  })
  return [BigInt(change ?? 0), BigInt(blocks ?? 0)]
}

/**
 * Reads from a copy that may trail behind its origin, and from the origin while the copy is out of reach. Nobody is taken back in time: the
 * copy is read again only once it has all that was read from the origin, and for that reads are held up for a moment. Throws as a database
 * does when both are out of reach.
 *
 * @example const reader = createReader({ copy, origin, log })
 */
export const createReader = (deps: {
  readonly copy: Reader
  readonly origin: Reader
  readonly log: Logger
  readonly returnAfterMs?: number
}): Reader => {
  const { copy, origin, log, returnAfterMs = RETURN_AFTER_MS } = deps
  /** When the copy failed; null while it is read from. */
  let failedAt: number | null = null
  /** Something was read from the origin since the copy failed, which the copy may not have yet. */
  let isAhead = false
  /** Reads of the origin that are under way. */
  const underWay = new Set<Promise<unknown>>()
  let held: Promise<void> | null = null
  let isTrying = false

  const fromOrigin = <T>(ask: (database: Reader) => Promise<T>): Promise<T> => {
    const asked = ask(origin)
    const over = asked.then(
      () => {
        isAhead = true
      },
      () => {},
    )
    underWay.add(over)
    void over.then(() => underWay.delete(over))
    return asked
  }

  const hasAll = async (wanted: readonly [bigint, bigint]): Promise<boolean> => {
    const [change, blocks] = await state(copy)
    return change > wanted[0] || (change === wanted[0] && blocks >= wanted[1])
  }

  /** Holds reads until those of the origin are over and the copy has what they saw, or it takes too long. */
  const catchUp = async (): Promise<void> => {
    const late = sleep(CATCH_UP_WITHIN_MS).then(() => null)
    const inTime = <T>(work: Promise<T>): Promise<T | null> => Promise.race([work, late])
    if ((await inTime(Promise.all(underWay))) === null) return
    const wanted = isAhead ? await inTime(state(origin)) : nothing
    for (let has: boolean | null = false; wanted !== null && !has; ) {
      has = await inTime(hasAll(wanted))
      if (has === null) return
      if (has) {
        failedAt = null
        log.info('the copy of the database is read again')
      } else await sleep(10)
    }
  }

  const tryCopy = async (): Promise<void> => {
    isTrying = true
    try {
      // Without holding anybody up: most often it is not there yet.
      if (!(await hasAll(isAhead ? await state(origin) : nothing))) return
      held = catchUp()
      await held
    } catch (fault) {
      log.debug({ fault: errorText(fault) }, 'the copy of the database is not back')
    } finally {
      held = null
      isTrying = false
      if (failedAt !== null) failedAt = performance.now()
    }
  }

  /** Over when nobody is held up any more. What comes of it, the one who tries again sees to. */
  const letGo = async (): Promise<void> => {
    while (held !== null) await held.catch(() => {})
  }

  const read = async <T>(ask: (database: Reader) => Promise<T>): Promise<T> => {
    await letGo()
    if (failedAt !== null) {
      if (!isTrying && performance.now() - failedAt > returnAfterMs) void tryCopy()
      return fromOrigin(ask)
    }
    try {
      return await ask(copy)
    } catch (fault) {
      if (!isUnavailable(fault) && !isConflict(fault)) throw fault
      if (failedAt === null) {
        log.warn({ fault: errorText(fault) }, 'the copy of the database is out of reach')
        isAhead = false
        failedAt = performance.now()
      }
      await letGo()
      return failedAt === null ? ask(copy) : fromOrigin(ask)
    }
  }

  return {
    run: (query) => read((database) => database.run(query)),
    rows: (statement) => read((database) => database.rows(statement)),
  }
}
