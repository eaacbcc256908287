import { and, eq, getTableColumns, inArray, sql } from 'drizzle-orm'
import type { Hex } from 'viem'
import { z } from 'zod'
import type { ChainId } from '../../protocol/chains.ts'
import type { Kind } from '../../protocol/entities.ts'
import type { Moment } from '../../protocol/fields/request-fields.ts'
import { eventLogTypes } from '../../protocol/history/fold.ts'
import type { EventRecord, PastLog } from '../../protocol/history/history.ts'
import { logArgs } from '../../protocol/history/log-args.ts'
import { ledgerTypes } from '../../protocol/ledger.ts'
import type { Database } from '../pool.ts'
import { cursors, logGaps } from '../schema/index-state.ts'
import { ledger } from '../schema/ledger.ts'
import { eventObservations, events, feeRates } from '../schema/records.ts'
import type { StoredBlock } from '../stored.ts'
import { firstBlockFrom } from './activity.ts'
import { tables } from './rows.ts'

/**
 * Most logs of an event that are read. The contracts bound the deposits and positions of an event, but not the claims of
 * premiums.
 */
export const MAX_LOGS = 20_000

/** A log as JSON: the name of its type, its block and time, the ids of its deposit and position, amounts, topics and data. */
type LogCells = readonly [
  ...[type: PastLog['type'], block: number, timestamp: number],
  ...[depositId: number | null, positionId: number | null, amount: string | null, fee: string | null],
  ...[topics: string, data: string],
]

/** The creator's share of fees, and the rates of the fees on premiums and on payouts. */
type RateCells = readonly [loyalty: string, lpProfit: string, payout: string]

const ratesOf = ([loyalty, lpProfit, payout]: RateCells) => ({
  creatorLoyaltyRate: BigInt(loyalty),
  lpProfitFeeRate: BigInt(lpProfit),
  payoutFeeRate: BigInt(payout),
})

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

/** The fee rates that the event of a row keeps from its creation; null where they are not known. */
const rates = sql<RateCells | null>`(SELECT CASE WHEN fees_contradiction IS NULL AND ${events.blockNumber} <= fees_number THEN
    (SELECT json_build_array(creator_loyalty_rate::text, lp_profit_fee_rate::text, payout_fee_rate::text) FROM ${feeRates}
      WHERE chain_id = ${events.chainId} AND (block_number, log_index) < (${events.blockNumber}, ${events.logIndex})
      ORDER BY block_number DESC, log_index DESC LIMIT 1)
  END FROM ${cursors} WHERE chain_id = ${events.chainId})`

/** The block up to which the ledger has all logs since the creation of the event of a row; null where it lacks some. */
const completeTo = sql<string | null>`(SELECT ledger_number FROM ${cursors} WHERE chain_id = ${events.chainId}
  AND ledger_number = block_number AND ${events.logIndex} IS NOT NULL
  AND NOT EXISTS (SELECT FROM ${logGaps} WHERE chain_id = ${events.chainId} AND state <> 'absent'
    AND CASE WHEN ledger_only THEN unread_to ELSE to_block END >= ${events.blockNumber}))`

/** The columns of a block as JSON. */
const blockJson = "json_build_array(block_number::text, encode(block_hash, 'hex'), block_timestamp::text)"

const Cells = z.tuple([z.string(), z.string(), z.string()]).nullable()

const blockIn = (json: string | null | undefined): StoredBlock | null => {
  const cells = Cells.parse(JSON.parse(json ?? 'null'))
  if (cells === null) return null
  const [number, hash, timestamp] = cells
  return { number: BigInt(number), hash: hexOf(hash), timestamp: BigInt(timestamp) }
}

export type History = ReturnType<typeof createHistory>

/** Creates the queries of the past. All throw `service_unavailable` when the database is out of reach. */
export const createHistory = (database: Pick<Database, 'run' | 'rows'>) => ({
  /** Events with what the ledger has of them, by their ids; absent and unobserved ones are left out. */
  async events(chainId: ChainId, ids: readonly bigint[]) {
    const rows = await database.run((handle) =>
      handle
        .select({ fact: events, seen: getTableColumns(eventObservations), rates, completeTo, logs })
        .from(events)
        .innerJoin(
          eventObservations,
          and(eq(events.chainId, eventObservations.chainId), eq(events.id, eventObservations.id)),
        )
        .where(and(eq(events.chainId, chainId), inArray(events.id, [...ids]))),
    )
    return rows.map(({ fact, seen, rates: kept, logs: cells, completeTo: to }) => ({
      ...{ fact, seen },
      rates: kept && ratesOf(kept),
      completeTo: (cells?.length ?? 0) <= MAX_LOGS ? amountOf(to) : null,
      logs: (cells ?? []).map(logOf),
    })) satisfies EventRecord[]
  },
  /**
   * The last block with a log of the protocol not after a moment, the first one after it, and the newest indexed block;
   * null where there is none.
   */
  async around(chainId: ChainId, moment: Moment) {
    const after = 'block' in moment ? moment.block + 1n : await firstBlockFrom(database, chainId, moment.seconds + 1n)
    const [cells = []] = await database.rows({
      name: 'blocks around',
      text: `SELECT (SELECT ${blockJson} FROM ledger WHERE chain_id = $1 AND block_number < $2 ORDER BY block_number DESC LIMIT 1),
        (SELECT ${blockJson} FROM ledger WHERE chain_id = $1 AND block_number >= $2 ORDER BY block_number LIMIT 1),
        (SELECT ${blockJson} FROM cursors WHERE chain_id = $1)`,
      values: [chainId, String(after)],
    })
    return { before: blockIn(cells[0]), after: blockIn(cells[1]), tip: blockIn(cells[2]) }
  },
  /** Whether the creation of an entity after a block may have been before it: the log of the creation is not known. */
  async hasUndated(chainId: ChainId, kind: Kind, after: bigint): Promise<boolean> {
    const [cells] = await database.rows({
      name: `undated ${kind}s`,
      text: `SELECT EXISTS (SELECT FROM ${tables[kind].facts} WHERE chain_id = $1 AND tx_hash IS NULL AND block_number > $2)`,
      values: [chainId, String(after)],
    })
    return cells?.[0] === 't'
  },
})
