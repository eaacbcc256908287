import { pino } from 'pino'
import type { Chain } from '../../src/chain/chain.ts'
import { createDatabase, type Database } from '../../src/db/pool.ts'
import { follow } from '../../src/indexer/follow.ts'
import { createObserver } from '../../src/indexer/observer.ts'

/** Often, so that tests wait for little. In milliseconds. */
const POLL_MS = 50

/** Keeps a chain's index following it, observations included, as a worker does; gives what ends that. */
export const startIndexing = (deps: {
  readonly chain: Chain
  readonly database: Database
  /** Of the database. */
  readonly url: string
}): (() => Promise<void>) => {
  const { chain, database, url } = deps
  const log = pino({ level: 'silent' })
  const session = createDatabase({ url, log, maxConnections: 1, statementTimeoutMs: 5_000 })
  const stop = new AbortController()
  const observer = createObserver({ chain, database, log })
  let observing = Promise.resolve()
  const onNoted = (): void => {
    observing = observing.then(() => observer.observeAll(stop.signal)).catch(() => {})
  }
  const following = follow({ chain, database, session, pollMs: POLL_MS, onNoted, log }, stop.signal)
  return async () => {
    stop.abort()
    await following
    await observing
    await session.close()
  }
}
