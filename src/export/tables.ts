import type { z } from 'zod'
import { type Blocks, idsCreatedIn } from '../db/queries/export.ts'
import { unavailable } from '../lib/errors.ts'
import type { Kind } from '../protocol/entities.ts'
import type { Row } from '../protocol/fields/flat-fields.ts'
import type { LedgerTypeName } from '../protocol/ledger.ts'
import { recordOf } from '../reads/activity/activity.ts'
import { Activity } from '../reads/activity/records.ts'
import { Settlement } from '../reads/feeds/settlements.ts'
import { DepositRow, EventRow, PositionRow } from '../reads/lists/records.ts'
import { unvaluedRowsOf } from '../reads/lists/rows.ts'
import { EventDay, eventDays, TokenDay, tokenDays } from './day-states.ts'
import type { Day, Source } from './source.ts'

/** The part of a query of one chain that is the same on each page. */
const queryOf = ({ chainId, high }: Blocks) => ({ chainId, upTo: high, now: null, rollback: null })

/** The activity in some blocks, in the order of the chain. */
async function* activityIn(source: Source, blocks: Blocks, types?: readonly LedgerTypeName[]) {
  let after: { readonly id: bigint; readonly key: string } | null = null
  for (;;) {
    const { rows } = await source.lists.activity.page({
      queries: [{ ...queryOf(blocks), after }],
      windows: [blocks],
      filters: { types },
      order: 'asc',
      limit: source.pageRows,
    })
    yield* await Promise.all(rows.map((row) => recordOf(source, row)))
    const last = rows.at(-1)
    if (last === undefined || rows.length < source.pageRows) return
    after = { id: BigInt(last.blockNumber), key: String(last.logIndex) }
  }
}

/** The entities that were created in some blocks, in the order of their ids. */
const createdIn = (kind: Kind) =>
  async function* (source: Source, blocks: Blocks): AsyncGenerator<Row> {
    const ids = await idsCreatedIn(source.rows, kind, blocks)
    if (ids === null) return
    for (let from = ids.first; from <= ids.last; from += BigInt(source.pageRows)) {
      const many = Math.min(source.pageRows, Number(ids.last - from) + 1)
      const found = await source.lists.listings.byIds({
        kind,
        include: [],
        query: { ...queryOf(blocks), after: null },
        ids: Array.from({ length: many }, (_, at) => from + BigInt(at)),
      })
      const { rows } = await unvaluedRowsOf(source, { kind, include: [] }, found.rows)
      for (const row of rows) {
        if (row === null) throw unavailable(`a node does not have a final ${kind}: run the export again`)
        yield row
      }
    }
  }

/** A settlement as its log has it. Its block is that of the log, not the one at which the index found it. */
const Settled = Settlement.pick({
  chainId: true,
  eventId: true,
  settledAt: true,
  triggered: true,
  settlementPrice: true,
}).extend(Activity.pick({ blockNumber: true, blockHash: true, txHash: true, logIndex: true }).shape)

async function* settledIn(source: Source, blocks: Blocks): AsyncGenerator<Row> {
  for await (const row of activityIn(source, blocks, ['event.settled']))
    yield {
      ...row,
      settledAt: row.blockTimestamp,
      triggered: row.args.triggered,
      settlementPrice: row.args.settlementPrice,
    }
}

/** The fields of rows of entities that never change: those of the creation, and the token. */
const created = {
  chainId: true,
  createdBlock: true,
  createdTx: true,
  createdAt: true,
  createdLogIndex: true,
  token: true,
  symbol: true,
  decimals: true,
} as const

type Table = {
  /** The fields of its rows. No value of a final block changes later. */
  readonly schema: z.ZodObject
  /** The field with the block of a row; null where a row has none. */
  readonly block: 'blockNumber' | 'createdBlock' | null
  /** The rows of a day, always in the same order. Throws `InexactPast` where the index does not lead to them. */
  readonly rows: (source: Source, day: Day) => AsyncIterable<Row>
}

/** The tables of an export, by their names. */
const exportTables = {
  activity: { schema: Activity, block: 'blockNumber', rows: activityIn },
  deposits: {
    schema: DepositRow.pick({ id: true, eventId: true, lp: true, amount: true, shares: true, ...created }),
    block: 'createdBlock',
    rows: createdIn('deposit'),
  },
  event_days: { schema: EventDay, block: null, rows: eventDays },
  events: {
    schema: EventRow.pick({
      id: true,
      creator: true,
      name: true,
      underlying: true,
      strike: true,
      payoutCap: true,
      premiumRate: true,
      initialRate: true,
      expiryDate: true,
      strikeAbove: true,
      ...created,
    }),
    block: 'createdBlock',
    rows: createdIn('event'),
  },
  positions: {
    schema: PositionRow.pick({
      id: true,
      eventId: true,
      hedger: true,
      notional: true,
      premiumPaid: true,
      platformFeePaid: true,
      ...created,
    }),
    block: 'createdBlock',
    rows: createdIn('position'),
  },
  settlements: { schema: Settled, block: 'blockNumber', rows: settledIn },
  token_days: { schema: TokenDay, block: null, rows: tokenDays },
} as const satisfies Readonly<Record<string, Table>>

export type TableName = keyof typeof exportTables

export const tableNames = Object.keys(exportTables) as [TableName, ...TableName[]]

export const exportTable = (name: TableName): Table => exportTables[name]
