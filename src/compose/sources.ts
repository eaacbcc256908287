import type { AppSources } from '../api/app.ts'
import { timed } from '../chain/timed.ts'
import { type IndexHealth, readIndexHealth } from '../db/index/health.ts'
import type { Database, Reader } from '../db/pool.ts'
import { createQueries } from '../db/queries/entities.ts'
import { createFeedQueries } from '../db/queries/feed.ts'
import { createHistory } from '../db/queries/history.ts'
import { createSettlementQueries } from '../db/queries/settlements.ts'
import { type WebhooksHealth, webhooksHealth } from '../db/webhooks/endpoints.ts'
import { createSingleFlight } from '../lib/single-flight.ts'
import type { Changes } from '../reads/cache/resources.ts'
import { createFinality } from '../reads/freshness/finality.ts'
import { createLists } from '../reads/lists/sources.ts'
import { createIndexed } from '../reads/table/indexed.ts'

/**
 * The sources that the routes of an API process read. Concurrent requests for a chain's health share one read. The
 * chains measure the time that requests wait for nodes.
 */
export const createSources = (
  deps: Pick<AppSources, 'chains' | 'checks' | 'lags' | 'maxLagSeconds'> & {
    readonly database: Database
    /**
     * The replica, or the same database. `changes` are read from it too, so that an answer is as new as its change
     * number.
     */
    readonly reader: Reader
    readonly changes: Changes
    /** How long a record of the chain waits for the index, in milliseconds. */
    readonly patienceMs?: number
  },
): AppSources => {
  const { chains: untimed, database, reader, changes, checks, lags, maxLagSeconds, patienceMs } = deps
  const chains = new Map([...untimed].map(([chainId, chain]) => [chainId, timed(chain)]))
  const singleFlight = createSingleFlight<IndexHealth>()
  const webhooksFlight = createSingleFlight<WebhooksHealth>()
  const lists = createLists({ database: reader, chains })
  return {
    chains,
    queries: createQueries(database),
    finality: createFinality(chains),
    history: createHistory(reader),
    lists,
    indexed: createIndexed(lists, patienceMs),
    changes,
    settlements: createSettlementQueries(database),
    feed: createFeedQueries(reader),
    healthOf: (chainId) => singleFlight(`${chainId}`, () => readIndexHealth(database, chainId)),
    webhooksHealth: () => webhooksFlight('all', () => database.run(webhooksHealth)),
    checks,
    lags,
    maxLagSeconds,
  }
}
