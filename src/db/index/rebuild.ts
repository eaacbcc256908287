import { and, between, eq, getTableColumns, inArray, or, type SQL, sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import { min } from '../../lib/fixed.ts'
import { ledgerLog, logOf } from '../../protocol/abi/ledger-logs.ts'
import { decodeLog, type Fact, feeLogsIn, type Hint } from '../../protocol/abi/logs.ts'
import type { ChainId } from '../../protocol/chains.ts'
import type { Kind } from '../../protocol/entities.ts'
import { ledgerTypes } from '../../protocol/ledger.ts'
import { insertMany } from '../bulk.ts'
import { announce } from '../changes/changes.ts'
import { touchingAll } from '../changes/scopes.ts'
import type { Database, Handle } from '../pool.ts'
import { cursors, logGaps, settlementLogs } from '../schema/index-state.ts'
import { ledger } from '../schema/ledger.ts'
import { feeRates } from '../schema/records.ts'
import { entityTables } from '../stored.ts'
import { completeRows, type LedgerRow } from './ledger.ts'
import { keepPaymentTokens } from './observations.ts'
import { forgetSums } from './totals.ts'
import { lockRefreshQueue, requestRefresh } from './work/refresh-queue.ts'

/*
 * Compares tables with what the raw logs of the ledger lead to, and makes their rows so: a new way to read logs, or a wrong
 * row, needs no node. Rows without a log, and those of blocks in a gap, stay as they are.
 */

type Row = Readonly<Record<string, unknown>>

/** What the logs of some blocks report. */
type Decoded = {
  readonly facts: readonly Fact[]
  readonly hints: readonly Hint[]
  readonly ledger: readonly LedgerRow[]
}

type Rebuilt = {
  readonly table: PgTable & { readonly chainId: PgColumn; readonly blockNumber: PgColumn }
  /** The fields that identify a row of a chain. */
  readonly key: readonly string[]
  readonly rowsOf: (logs: Decoded) => readonly Row[]
  /** The ids by which rows are found too: the block of a stored row may be wrong. */
  readonly id?: PgColumn
  /** Which stored rows should have a log, and have none in other blocks. */
  readonly isLogless?: SQL
}

const factsOf = (kind: Kind): Rebuilt => {
  const { facts: table } = entityTables[kind]
  const { id, txHash, chainId } = table
  const created = sql`SELECT FROM ${ledger} WHERE ${ledger.chainId} = ${chainId} AND ${ledger[`${kind}Id`]} = ${id}
    AND ${ledger.type} = ${ledgerTypes[`${kind}.created`].code}`
  return {
    ...{ table, id, key: ['id'] },
    rowsOf: ({ facts }) => facts.filter((fact) => fact.kind === kind),
    isLogless: sql`${txHash} IS NOT NULL AND NOT EXISTS (${created})`,
  }
}

const place = ['blockNumber', 'logIndex']

/** The tables by their names. Facts come first: rows of the ledger take the events of claims from them. */
const tables = {
  events: factsOf('event'),
  deposits: factsOf('deposit'),
  positions: factsOf('position'),
  fee_rates: { table: feeRates, key: place, rowsOf: ({ hints }) => feeLogsIn(hints) },
  settlement_logs: {
    table: settlementLogs,
    key: ['eventId', 'blockNumber'],
    rowsOf: ({ hints }) =>
      hints.flatMap((hint) =>
        hint.subject === 'event' && hint.settles
          ? [{ eventId: hint.id, blockNumber: hint.blockNumber, txHash: hint.txHash }]
          : [],
      ),
  },
  ledger: { table: ledger, key: place, rowsOf: ({ ledger }) => ledger },
} as const satisfies Readonly<Record<string, Rebuilt>>

export type RebuiltTable = keyof typeof tables

export const rebuiltTables = Object.keys(tables) as RebuiltTable[]

const kindOf = { events: 'event', deposits: 'deposit', positions: 'position' } as const

/** A value as the database has it: bytes and addresses without their case. */
const stored = (column: PgColumn, value: unknown): string => {
  if (value === null || value === undefined) return 'null'
  const driver = column.mapToDriverValue(value)
  return Buffer.isBuffer(driver) ? driver.toString('hex') : String(driver).toLowerCase()
}

const keyOf = ({ key }: Rebuilt, row: Row): string => key.map((field) => `${row[field]}`).join(' ')

/** A row that is not as its log is, with the differences of its columns. */
type Wrong = { readonly row: Row; readonly differences: readonly string[] }

const differencesOf = (name: RebuiltTable, of: Rebuilt, row: Row, known: Row | undefined): readonly string[] => {
  const label = `${name} ${keyOf(of, row)}`
  if (known === undefined) return [`${label}: missing`]
  return Object.entries(getTableColumns(of.table)).flatMap(([field, column]) => {
    const [now, made] = [stored(column, known[field]), stored(column, row[field])]
    return !(field in row) || now === made ? [] : [`${label} ${field}: ${now} instead of ${made}`]
  })
}

type Range = { readonly from: bigint; readonly to: bigint }

/** The result of a table in a range of blocks. */
type Compared = {
  readonly table: RebuiltTable
  readonly rows: number
  readonly wrong: readonly Wrong[]
  /** Stored rows of the range whose log the ledger does not have. They stay. */
  readonly extra: readonly string[]
}

const compareTable = async (
  handle: Handle,
  chainId: ChainId,
  { from, to }: Range,
  name: RebuiltTable,
  logs: Decoded,
): Promise<Compared> => {
  const of: Rebuilt = tables[name]
  const { table, id, isLogless = sql`true` } = of
  // Of two logs with one key the last one counts.
  const made = new Map(of.rowsOf(logs).map((row) => [keyOf(of, row), row]))
  const ids = [...made.values()].map((row) => row.id as bigint)
  const within = between(table.blockNumber, from, to)
  const inGap = sql`EXISTS (SELECT FROM ${logGaps} WHERE ${logGaps.chainId} = ${chainId} AND ${table.blockNumber} BETWEEN from_block AND to_block)`
  const found: (Row & { readonly isExtra: boolean })[] = await handle
    .select({ ...getTableColumns(table), isExtra: sql<boolean>`${within} AND ${isLogless} AND NOT ${inGap}` })
    .from(table as PgTable)
    .where(and(eq(table.chainId, chainId), id && ids.length > 0 ? or(within, inArray(id, ids)) : within))
  const known = new Map(found.map((row) => [keyOf(of, row), row]))
  const wrong = [...made].flatMap(([key, row]) => {
    const differences = differencesOf(name, of, row, known.get(key))
    return differences.length === 0 ? [] : [{ row, differences }]
  })
  const extra = found.flatMap((row) => (row.isExtra && !made.has(keyOf(of, row)) ? [`${name} ${keyOf(of, row)}`] : []))
  return { table: name, rows: made.size, wrong, extra }
}

const readLogs = async (handle: Handle, chainId: ChainId, { from, to }: Range): Promise<Decoded> => {
  const rows = await handle
    .select()
    .from(ledger)
    .where(and(eq(ledger.chainId, chainId), between(ledger.blockNumber, from, to)))
    .orderBy(ledger.blockNumber, ledger.logIndex)
  const logs = rows.map(logOf)
  const meanings = logs.map(decodeLog)
  return {
    facts: meanings.flatMap((each) => (each === null || each.kind === 'hint' ? [] : [each])),
    hints: meanings.flatMap((each) => (each?.kind === 'hint' ? [each] : [])),
    ledger: logs.map((log) => ledgerLog(log) as LedgerRow),
  }
}

/** Makes wrong rows as their logs are. */
const replace = async (handle: Handle, chainId: ChainId, { table: name, wrong }: Compared): Promise<void> => {
  const { table, key }: Rebuilt = tables[name]
  const columns: Readonly<Record<string, PgColumn>> = getTableColumns(table)
  const rows = wrong.map(({ row }) => ({ chainId, ...row }))
  const [first] = rows
  if (first === undefined) return
  const nameOf = (field: string) => sql.identifier(columns[field]?.name ?? field)
  const given = Object.keys(columns).filter((field) => field in first)
  const updates = given.map((field) => sql`${nameOf(field)} = excluded.${nameOf(field)}`)
  const target = sql.join(['chainId', ...key].map(nameOf), sql`, `)
  await insertMany(
    handle,
    table,
    rows as never,
    sql`ON CONFLICT (${target}) DO UPDATE SET ${sql.join(updates, sql`, `)}`,
  )
  if (name in kindOf) {
    const kind = kindOf[name as keyof typeof kindOf]
    const ids = rows.map((row) => (row as unknown as { readonly id: bigint }).id)
    if (kind === 'event') await keepPaymentTokens(handle, chainId, ids)
    await requestRefresh(
      handle,
      chainId,
      ids.map((id) => ({ subject: kind, id }) as const),
      null,
    )
  }
  if (name === 'ledger')
    await forgetSums(handle, chainId, wrong.map(({ row }) => row.blockNumber as bigint).reduce(min))
}

/** Compares tables in a range, one after the other, and with `isReplaced` makes wrong rows right in between. */
const compareRange = async (
  handle: Handle,
  chainId: ChainId,
  range: Range,
  names: readonly RebuiltTable[],
  isReplaced: boolean,
): Promise<{ readonly logs: number; readonly compared: readonly Compared[] }> => {
  const logs = await readLogs(handle, chainId, range)
  const compared: Compared[] = []
  for (const name of rebuiltTables) {
    if (!names.includes(name)) continue
    const given = name === 'ledger' ? { ...logs, ledger: await completeRows(handle, chainId, logs.ledger) } : logs
    const found = await compareTable(handle, chainId, range, name, given)
    if (isReplaced) await replace(handle, chainId, found)
    compared.push(found)
  }
  return { logs: logs.ledger.length, compared }
}

/** The next whole blocks after one with about `most` logs, up to the cursor; null after the last. */
const rangeAfter = async (handle: Handle, chainId: ChainId, after: bigint, most: number): Promise<Range | null> => {
  const { rows } = await handle.execute<{ to: string | null; logs: number; cursor: string }>(sql`
    SELECT c.block_number AS cursor, max(next.block_number) AS to, count(next.block_number)::integer AS logs FROM ${cursors} c
    LEFT JOIN LATERAL (SELECT block_number FROM ${ledger} WHERE chain_id = c.chain_id AND block_number > ${after}
      AND block_number <= c.block_number ORDER BY block_number LIMIT ${most}) AS next ON true
    WHERE c.chain_id = ${chainId} GROUP BY c.block_number`)
  const [next] = rows
  if (next === undefined || BigInt(next.cursor) <= after) return null
  return { from: after + 1n, to: BigInt(next.logs < most || next.to === null ? next.cursor : next.to) }
}

/** Logs of one part of a table. */
const PART = 5_000

/**
 * Compares the next part of the tables of a chain with the ledger, from the block after `after` on, and with `isReplaced`
 * makes wrong rows as their logs are. A part without a wrong row takes no lock. Null after the last part.
 */
export const rebuildPart = async (
  database: Pick<Database, 'snapshot' | 'transaction'>,
  chainId: ChainId,
  after: bigint,
  { tables: names, isReplaced }: { readonly tables: readonly RebuiltTable[]; readonly isReplaced: boolean },
  most = PART,
) => {
  const seen = await database.snapshot(async (handle) => {
    const range = await rangeAfter(handle, chainId, after, most)
    return range && { range, ...(await compareRange(handle, chainId, range, names, false)) }
  })
  if (!isReplaced || seen === null || seen.compared.every(({ wrong }) => wrong.length === 0)) return seen
  return database.transaction(async (handle) => {
    // Steps and rollbacks take the same lock. After a rollback, blocks of the part may be others.
    await lockRefreshQueue(handle, chainId)
    const range = await rangeAfter(handle, chainId, after, most)
    if (range === null) return null
    const found = await compareRange(handle, chainId, range, names, true)
    await announce(handle, chainId, touchingAll('repaired'))
    return { range, ...found }
  })
}

/** The chains that have an index, and whether their ledger lacks logs. */
export const rebuildable = async (handle: Handle) => {
  const { rows } = await handle.execute<{ chain: number; lacks: boolean }>(sql`SELECT chain_id AS chain,
      ledger_number IS DISTINCT FROM block_number OR EXISTS (SELECT FROM ${logGaps} WHERE ${logGaps.chainId} = c.chain_id) AS lacks
    FROM ${cursors} c ORDER BY chain_id`)
  return rows.map(({ chain, lacks }) => ({ chainId: chain as ChainId, lacksLogs: lacks }))
}
