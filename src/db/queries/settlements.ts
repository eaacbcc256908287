import { and, asc, eq, gt, inArray } from 'drizzle-orm'
import type { ChainId } from '../../protocol/chains.ts'
import { newestChange } from '../changes/changes.ts'
import type { Settlement } from '../index/settlements.ts'
import type { Database } from '../pool.ts'
import { settlements } from '../schema-index.ts'

/** Filters of settlements. An absent field does not filter. */
export type SettlementFilter = {
  readonly chainIds: readonly ChainId[]
  readonly eventIds?: readonly bigint[] | undefined
  readonly triggered?: boolean | undefined
}

/** Queries of settlements. All throw `service_unavailable` when the database is out of reach. */
export type SettlementQueries = ReturnType<typeof createSettlementQueries>

export const createSettlementQueries = (database: Database) => ({
  /** The settlements after a number, in order, `limit` at most. */
  after(seq: number, filter: SettlementFilter, limit: number): Promise<Settlement[]> {
    const { chainIds, eventIds, triggered } = filter
    return database.run((handle) =>
      handle
        .select()
        .from(settlements)
        .where(
          and(
            gt(settlements.seq, seq),
            inArray(settlements.chainId, [...chainIds]),
            eventIds && inArray(settlements.eventId, [...eventIds]),
            triggered === undefined ? undefined : eq(settlements.triggered, triggered),
          ),
        )
        .orderBy(asc(settlements.seq))
        .limit(limit),
    )
  },
  /**
   * The current end of the settlements: every stored settlement has at most this number, every later one a greater
   * number.
   */
  position: () => database.run(newestChange),
})
