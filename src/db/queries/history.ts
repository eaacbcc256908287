import { and, eq, getTableColumns, inArray, sql } from 'drizzle-orm'
import type { Hex } from 'viem'
import type { ChainId } from '../../protocol/chains.ts'
import { eventLogTypes } from '../../protocol/history/fold.ts'
import type { EventRecord, PastLog } from '../../protocol/history/history.ts'
import { logArgs } from '../../protocol/history/log-args.ts'
import { ledgerTypes } from '../../protocol/ledger.ts'
import type { Database } from '../pool.ts'
import { cursors, logGaps } from '../schema/index-state.ts'
import { ledger } from '../schema/ledger.ts'
import { eventObservations, events, feeRates } from '../schema/records.ts'

/**
 * Most logs of an event that are read. The contracts bound the deposits and positions of an event, but not the claims of
 * premiums.
 */
const MAX_LOGS = 20_000

/** A log as JSON: the name of its type, its block and time, the ids of its deposit and position, amounts, topics and data. */
type LogCells = readonly [
  ...[type: PastLog['type'], block: number, timestamp: number],
  ...[depositId: number | null, positionId: number | null, amount: string | null, fee: string | null],
  ...[topics: string, data: string],
]

const idOf = (id: number | null): bigint | null => (id === null ? null : BigInt(id))
const amountOf = (text: string | null): bigint | null => (text === null ? null : BigInt(text))
const hexOf = (text: string): Hex => `0x${text}`

const logOf = (cells: LogCells): PastLog => {
  const [type, block, timestamp, depositId, positionId, amount, fee, topics, data] = cells
  return {
    type,
    blockNumber: BigInt(block),
    blockTimestamp: BigInt(timestamp),
    depositId: idOf(depositId),
    positionId: idOf(positionId),
    amount: amountOf(amount),
    fee: amountOf(fee),
    args: logArgs(hexOf(topics), hexOf(data)),
  }
}

const codes = eventLogTypes.map((type) => ledgerTypes[type].code)

/** The name of a code, as SQL. */
const typeName = sql.raw(
  `CASE type ${eventLogTypes.map((type) => `WHEN ${ledgerTypes[type].code} THEN '${type}'`).join(' ')} END`,
)

/** The logs of the event of a row, in their order. One more than `MAX_LOGS` shows that there are others. */
const logs = sql<
  readonly LogCells[] | null
>`(SELECT json_agg(json_build_array(${typeName}, block_number, block_timestamp,
    deposit_id, position_id, amount::text, fee::text, encode(topics, 'hex'), encode(data, 'hex')))
  FROM (SELECT * FROM ${ledger} WHERE chain_id = ${events.chainId} AND event_id = ${events.id} AND type IN (${sql.raw(codes.join())})
    ORDER BY block_number, log_index LIMIT ${sql.raw(String(MAX_LOGS + 1))}) AS own)`

/** The creator's share of fees that the event of a row keeps from its creation; null where it is not known. */
const loyaltyRate = sql<
  string | null
>`(SELECT CASE WHEN fees_contradiction IS NULL AND ${events.blockNumber} <= fees_number THEN
    (SELECT creator_loyalty_rate FROM ${feeRates} WHERE chain_id = ${events.chainId}
      AND (block_number, log_index) < (${events.blockNumber}, ${events.logIndex}) ORDER BY block_number DESC, log_index DESC LIMIT 1)
  END::text FROM ${cursors} WHERE chain_id = ${events.chainId})`

/** Whether the ledger has all logs since the creation of the event of a row. */
const isComplete = sql<boolean>`${events.logIndex} IS NOT NULL
  AND EXISTS (SELECT FROM ${cursors} WHERE chain_id = ${events.chainId} AND ledger_number = block_number)
  AND NOT EXISTS (SELECT FROM ${logGaps} WHERE chain_id = ${events.chainId} AND state <> 'absent' AND to_block >= ${events.blockNumber})`

/** Creates the query of events with their logs. It throws `service_unavailable` when the database is out of reach. */
export const createHistory = (database: Pick<Database, 'run'>) => ({
  /** Events with what the ledger has of them, by their ids; absent and unobserved ones are left out. */
  async events(chainId: ChainId, ids: readonly bigint[]): Promise<ReadonlyMap<bigint, EventRecord>> {
    if (ids.length === 0) return new Map()
    const rows = await database.run((handle) =>
      handle
        .select({ fact: events, seen: getTableColumns(eventObservations), loyaltyRate, isComplete, logs })
        .from(events)
        .innerJoin(
          eventObservations,
          and(eq(events.chainId, eventObservations.chainId), eq(events.id, eventObservations.id)),
        )
        .where(and(eq(events.chainId, chainId), inArray(events.id, [...ids]))),
    )
    return new Map(
      rows.map(({ fact, seen, loyaltyRate: rate, logs: cells, isComplete: complete }) => [
        fact.id,
        {
          fact,
          seen,
          creatorLoyaltyRate: amountOf(rate),
          isComplete: complete && (cells?.length ?? 0) <= MAX_LOGS,
          logs: (cells ?? []).map(logOf),
        },
      ]),
    )
  },
})
