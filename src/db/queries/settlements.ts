import { and, asc, eq, gt, inArray, sql } from 'drizzle-orm'
import type { Address } from 'viem'
import type { ChainId } from '../../protocol/chains.ts'
import { kinds } from '../../protocol/entities.ts'
import { greatestNumber, newestChange } from '../changes/changes.ts'
import type { Settlement } from '../index/settlements.ts'
import type { Database } from '../pool.ts'
import { changeCounter, settlements } from '../schema/index-state.ts'
import { entityTables } from '../stored.ts'

/** Filters of settlements. An absent field does not filter. */
export type SettlementFilter = {
  readonly chainIds: readonly ChainId[]
  readonly eventIds?: readonly bigint[] | undefined
  readonly triggered?: boolean | undefined
  /**
   * Only of events that these wallets created, deposited into or bought protection from. Reversals always pass: the
   * reorg may have removed the position of a wallet as well.
   */
  readonly wallets?: readonly Address[] | undefined
  /** Only settlements that are final, and their reversals, by the numbers of that feed. */
  readonly isFinal?: boolean | undefined
}

/** Queries of settlements. All throw `service_unavailable` when the database is out of reach. */
export type SettlementQueries = ReturnType<typeof createSettlementQueries>

/** A settlement of one of the two feeds, with its number there. */
export type FeedSettlement = Settlement & { readonly isFinal?: boolean }

/** The events of wallets, as `(chain_id, event_id)`. */
const eventsOf = (wallets: readonly Address[]) => {
  const owners = sql`${sql.param(wallets.map((wallet) => `\\x${wallet.slice(2)}`))}::bytea[]`
  return sql.join(
    kinds.map((kind) => {
      const { facts, owner } = entityTables[kind]
      return sql`SELECT ${facts.chainId}, ${'eventId' in facts ? facts.eventId : facts.id} FROM ${facts} WHERE ${owner} = ANY(${owners})`
    }),
    sql` UNION ALL `,
  )
}

export const createSettlementQueries = (database: Pick<Database, 'run'>) => ({
  /** The settlements after a number, in order, `limit` at most. */
  after(seq: number, filter: SettlementFilter, limit: number): Promise<FeedSettlement[]> {
    const { chainIds, eventIds, triggered, wallets, isFinal = false } = filter
    const number = isFinal ? settlements.finalizedSeq : settlements.seq
    return database.run(async (handle) => {
      const rows = await handle
        .select()
        .from(settlements)
        .where(
          and(
            gt(number, seq),
            inArray(settlements.chainId, [...chainIds]),
            eventIds && inArray(settlements.eventId, [...eventIds]),
            triggered === undefined ? undefined : eq(settlements.triggered, triggered),
            wallets &&
              sql`(${settlements.type} = 'reverted' OR (${settlements.chainId}, ${settlements.eventId}) IN (${eventsOf(wallets)}))`,
          ),
        )
        .orderBy(asc(number))
        .limit(limit)
      return isFinal ? rows.map((row) => ({ ...row, seq: row.finalizedSeq ?? row.seq, isFinal })) : rows
    })
  },
  /**
   * The current end of the settlements: every stored settlement has at most this number, every later one a greater
   * number.
   */
  position: () => database.run(newestChange),
  /** Whether a number is of the future: this database and its copies have given none as great. */
  isFuture: (seq: number): Promise<boolean> =>
    database.run(async (handle) => {
      const [row] = await handle
        .select({ isFuture: sql<boolean>`${seq}::bigint > ${greatestNumber(changeCounter.last)}` })
        .from(changeCounter)
      return row?.isFuture ?? seq > 0
    }),
})
