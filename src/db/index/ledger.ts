import { and, eq, getTableColumns, gt, gte, inArray, sql } from 'drizzle-orm'
import { min } from '../../lib/fixed.ts'
import type { LedgerLog } from '../../protocol/abi/ledger-logs.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { type Kind, kinds } from '../../protocol/entities.ts'
import { ledgerType, ledgerTypeNames, ledgerTypes } from '../../protocol/ledger.ts'
import { asRows, copyMany, insertMany } from '../bulk.ts'
import { type Touched, touchedByIds, touchedByLedger, touchedByLedgerWhere, union } from '../changes/scopes.ts'
import type { Copy, Handle } from '../pool.ts'
import { feedFloors } from '../schema/feed.ts'
import { cursors } from '../schema/index-state.ts'
import { ledger } from '../schema/ledger.ts'
import { entityTables, type FactRow, rowsById } from '../stored.ts'
import { forgetSums } from './totals.ts'
import type { Dated } from './write.ts'

/* Writes the ledger: the rows of logs, with what the facts of the index add to them. */

export type LedgerRow = Dated<LedgerLog>

const byCreator: ReadonlySet<number> = new Set(
  ledgerTypeNames.flatMap((name) => (ledgerType(name).isByCreator ? ledgerTypes[name].code : [])),
)

const distinct = (ids: readonly (bigint | null)[]): bigint[] => [...new Set(ids.flatMap((id) => id ?? []))]

/** The ids of a kind that rows name. */
const idsOf = (kind: Kind, rows: readonly LedgerRow[]): bigint[] => distinct(rows.map((row) => row[`${kind}Id`]))

/**
 * Adds to rows what their logs do not name: the event of a claim, and the creator who changed a pool. The facts must be
 * stored before.
 */
export const completeRows = async (
  handle: Handle,
  chainId: ChainId,
  logs: readonly LedgerRow[],
): Promise<readonly LedgerRow[]> => {
  const lacking = logs.filter(({ eventId }) => eventId === null)
  const changed = logs.filter(({ type }) => byCreator.has(type))
  if (lacking.length + changed.length === 0) return logs
  const factsOf = <K extends Kind>(kind: K, rows: readonly LedgerRow[]) =>
    rowsById<FactRow<K>>(handle, entityTables[kind].facts, chainId, idsOf(kind, rows))
  const ofDeposits = await factsOf('deposit', lacking)
  const ofPositions = await factsOf('position', lacking)
  const ofEvents = await factsOf('event', changed)
  return logs.map((log) => {
    const { depositId, positionId } = log
    if (log.eventId !== null)
      return byCreator.has(log.type) ? { ...log, wallet: ofEvents.get(log.eventId)?.creator ?? null } : log
    const member = ofDeposits.get(depositId ?? -1n) ?? ofPositions.get(positionId ?? -1n)
    return { ...log, eventId: member?.eventId ?? null }
  })
}

/**
 * Adds the rows of logs of new blocks, after the cursor, and returns them completed. Rows that are there already are of orphaned blocks: a build
 * without a ledger rolled the index back.
 */
export const insertLedger = async (
  handle: Handle,
  copy: Copy,
  chainId: ChainId,
  rows: readonly LedgerRow[],
): Promise<readonly LedgerRow[]> => {
  if (rows.length === 0) return []
  const cursor = sql`coalesce((SELECT block_number FROM ${cursors} WHERE chain_id = ${chainId}), -1)`
  await handle.delete(ledger).where(and(eq(ledger.chainId, chainId), gt(ledger.blockNumber, cursor)))
  const completed = await completeRows(handle, chainId, rows)
  await copyMany(copy, ledger, { chainId }, completed)
  return completed
}

/**
 * What rows touch that were read again: their activity, the entities whose rows show their times, and later creations of
 * events, whose fee a row can set.
 */
export const touchedByRows = async (handle: Handle, chainId: ChainId, rows: readonly LedgerRow[]): Promise<Touched> => {
  const touched = [touchedByLedger(rows)]
  for (const kind of kinds) touched.push(await touchedByIds(handle, chainId, kind, idsOf(kind, rows)))
  const fees = rows.flatMap(({ type, blockNumber }) => (type === ledgerTypes['fees.set'].code ? [blockNumber] : []))
  if (fees.length > 0) {
    const since = fees.reduce(min)
    const isLater = and(eq(ledger.type, ledgerTypes['event.created'].code), gte(ledger.blockNumber, since))
    touched.push(await touchedByLedgerWhere(handle, chainId, sql`${isLater}`))
  }
  return union(touched)
}

/** The stored rows of the logs of rows that were read again. */
export const storedRows = async (
  handle: Handle,
  chainId: ChainId,
  rows: readonly LedgerRow[],
): Promise<readonly LedgerRow[]> => {
  if (rows.length === 0) return []
  const keys = new Set(rows.map(keyOf))
  const blocks = distinct(rows.map(({ blockNumber }) => blockNumber))
  const stored = handle.select().from(ledger)
  const found = await stored.where(and(eq(ledger.chainId, chainId), inArray(ledger.blockNumber, blocks)))
  return found.filter((row) => keys.has(keyOf(row)))
}

/**
 * Stores the rows of logs that were read again. A stored row becomes as its log is. Returns those that were not there,
 * completed.
 */
export const putLedger = async (
  handle: Handle,
  chainId: ChainId,
  rows: readonly LedgerRow[],
): Promise<readonly LedgerRow[]> => {
  const known = new Set((await storedRows(handle, chainId, rows)).map(keyOf))
  const completed = await completeRows(handle, chainId, rows)
  await insertMany(
    handle,
    ledger,
    completed.map((row) => ({ chainId, ...row }) as typeof ledger.$inferInsert),
    sql`ON CONFLICT (chain_id, block_number, log_index) DO UPDATE SET ${replaced}`,
  )
  if (rows.length > 0) await forgetSums(handle, chainId, rows.map(({ blockNumber }) => blockNumber).reduce(min))
  return completed.filter((row) => !known.has(keyOf(row)))
}

const keyOf = ({ blockNumber, logIndex }: Pick<LedgerRow, 'blockNumber' | 'logIndex'>): string =>
  `${blockNumber} ${logIndex}`

const replaced = sql.join(
  // A repaired row keeps its number.
  Object.values(getTableColumns(ledger)).flatMap(({ name }) =>
    name === ledger.seq.name ? [] : [sql`${sql.identifier(name)} = excluded.${sql.identifier(name)}`],
  ),
  sql`, `,
)

/** The rows that are news of a wallet when a change is announced: none where the feed resets the chain. */
export const newsIn = (rows: readonly LedgerRow[], { reset }: Pick<Touched, 'reset'>): readonly LedgerRow[] =>
  reset === null ? rows.filter(({ wallet }) => wallet !== null) : []

/**
 * Numbers stored rows in their order as news of their wallets, of which `last` is the last number. Numbers none while the
 * feed of the chain is suspended.
 */
export const numberRows = async (
  handle: Handle,
  chainId: ChainId,
  rows: readonly LedgerRow[],
  last: number,
): Promise<void> => {
  if (rows.length === 0) return
  const given = rows.map(({ blockNumber, logIndex }, at) => ({
    blockNumber,
    logIndex,
    seq: last - rows.length + 1 + at,
  }))
  const { source } = asRows(ledger, given)
  await handle.execute(sql`UPDATE ${ledger} AS l SET seq = given.seq FROM ${source} AS given (block_number, log_index, seq)
    WHERE l.chain_id = ${chainId} AND l.block_number = given.block_number AND l.log_index = given.log_index
      AND EXISTS (SELECT FROM ${feedFloors} WHERE chain_id = ${chainId} AND seq IS NOT NULL)`)
}
