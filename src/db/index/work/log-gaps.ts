import { and, desc, eq, gt, lte, ne, type SQL, sql } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import { max } from '../../../lib/fixed.ts'
import type { Fact } from '../../../protocol/abi/logs.ts'
import type { ChainId } from '../../../protocol/chains.ts'
import { type Kind, kinds } from '../../../protocol/entities.ts'
import { asRows } from '../../bulk.ts'
import type { Database, Handle } from '../../pool.ts'
import { cursors, logGaps } from '../../schema/index-state.ts'
import { ledger } from '../../schema/ledger.ts'
import { entityTables } from '../../stored.ts'
import { newestAnchor } from './progress.ts'
import { lockRefreshQueue } from './refresh-queue.ts'

/*
 * Gaps: ranges of blocks of which the index was written without all of their logs. Rows of such a range may lack their
 * transaction, log index and initial liquidity; fee rates, settlement logs and rows of the ledger may be missing. The
 * transaction that writes the rows adds the gap, and the job `gaps` reads its logs. A row belongs to the gaps that contain
 * its block. Builds without a ledger read all logs and left the ledger out: of those blocks a gap is `ledgerOnly`.
 */

/** A range of blocks without all of their logs. */
export type GapRange = { readonly from: bigint; readonly to: bigint }

export type LogGap = Readonly<typeof logGaps.$inferSelect>

/**
 * Adds a gap. Open gaps of its kind that it overlaps, or that are next to it, become one with it; of those of the ledger,
 * only the part that was not read yet counts.
 */
export const addGap = async (
  handle: Handle,
  chainId: ChainId,
  { from, to }: GapRange,
  { ledgerOnly = false } = {},
): Promise<void> => {
  await handle.execute(sql`WITH merged AS (
      DELETE FROM ${logGaps} WHERE chain_id = ${chainId} AND state = 'open' AND ledger_only = ${ledgerOnly}
        AND from_block <= ${to + 1n} AND ${ledgerOnly ? logGaps.unreadTo : logGaps.toBlock} >= ${from - 1n} RETURNING *
    ) INSERT INTO ${logGaps} (chain_id, ledger_only, from_block, to_block, unread_to, since)
    SELECT ${chainId}::integer, ${ledgerOnly}::boolean, least(${from}::bigint, min(from_block)), greatest(${to}::bigint, max(to_block)),
      greatest(${to}::bigint, max(to_block)), coalesce(min(since), now()) FROM merged`)
}

/** Removes the part of each gap above a block. */
export const cutGaps = async (handle: Handle, chainId: ChainId, above: bigint): Promise<void> => {
  await handle.delete(logGaps).where(and(eq(logGaps.chainId, chainId), gt(logGaps.fromBlock, above)))
  await handle
    .update(logGaps)
    .set({ toBlock: above, unreadTo: sql`least(${logGaps.unreadTo}, ${above})` })
    .where(and(eq(logGaps.chainId, chainId), gt(logGaps.toBlock, above)))
}

/** Whether the ledger lacks logs of some blocks of a chain up to `ledger_number`. */
export const hasGap = (chainId: ChainId): SQL =>
  sql`EXISTS (SELECT FROM ${logGaps} WHERE chain_id = ${chainId} AND state <> 'absent')`

/** Whether logs of some blocks of a chain have not been read, by any build. */
export const hasUnreadLogs = (chainId: ChainId): SQL =>
  sql`EXISTS (SELECT FROM ${logGaps} WHERE chain_id = ${chainId} AND state <> 'absent' AND NOT ledger_only)`

const ofKinds = (select: (kind: Kind) => SQL): SQL => sql.join(kinds.map(select), sql` UNION ALL `)

/**
 * Where the logs of rows without one are, since the logs of each kind are in the order of their ids: from the newest log
 * before the first row (null without one) to the oldest one after the last. `last` is the newest block of the rows.
 * Null when there is no such row.
 */
const boundsOf = async (handle: Handle, chainId: ChainId, isMeant: SQL) => {
  const { rows } = await handle.execute<{ from: string | null; to: string | null; last: string | null }>(sql`
    SELECT min(coalesce(low, -1)) AS from, max(least(last, high)) AS to, max(last) AS last FROM (${ofKinds((kind) => {
      const { facts } = entityTables[kind]
      const logged = sql`SELECT block_number FROM ${facts} WHERE chain_id = ${chainId} AND tx_hash IS NOT NULL`
      return sql`SELECT last, (${logged} AND id < low_id ORDER BY id DESC LIMIT 1) AS low, (${logged} AND id > high_id ORDER BY id LIMIT 1) AS high
        FROM (SELECT min(id) AS low_id, max(id) AS high_id, max(block_number) AS last FROM ${facts}
          WHERE chain_id = ${chainId} AND tx_hash IS NULL AND ${isMeant}) AS lacking WHERE last IS NOT NULL`
    })}) AS bounds`)
  const [row] = rows
  if (row?.from == null || row.to === null || row.last === null) return null
  return { from: BigInt(row.from), to: BigInt(row.to), last: BigInt(row.last) }
}

/**
 * Makes a gap of the blocks that builds without a ledger wrote, whatever gaps there are. Such a build leaves rows of
 * orphaned blocks behind when it rolls the index back, so all rows are made again then.
 */
const adoptLedger = async (handle: Handle, chainId: ChainId, startBlock: bigint): Promise<void> => {
  const { blockNumber, ledgerNumber } = cursors
  const [progress] = await handle
    .select({ blockNumber, ledgerNumber })
    .from(cursors)
    .where(and(eq(cursors.chainId, chainId), isDistinct(ledgerNumber, blockNumber)))
  if (progress === undefined) return
  if (progress.ledgerNumber === null) {
    await handle.delete(ledger).where(eq(ledger.chainId, chainId))
    await handle.delete(logGaps).where(and(eq(logGaps.chainId, chainId), eq(logGaps.ledgerOnly, true)))
  }
  const from = (progress.ledgerNumber ?? startBlock - 1n) + 1n
  await addGap(handle, chainId, { from, to: progress.blockNumber }, { ledgerOnly: true })
  await handle.update(cursors).set({ ledgerNumber: blockNumber }).where(eq(cursors.chainId, chainId))
}

const isDistinct = (a: PgColumn, b: PgColumn): SQL => sql`${a} IS DISTINCT FROM ${b}`

/** Makes a gap of rows without a log that are in none. */
const adoptRows = async (handle: Handle, chainId: ChainId, startBlock: bigint): Promise<void> => {
  const outside = sql`NOT EXISTS (SELECT FROM ${logGaps} AS gap
    WHERE gap.chain_id = ${chainId} AND NOT ledger_only AND block_number BETWEEN from_block AND to_block)`
  const bounds = await boundsOf(handle, chainId, outside)
  if (bounds !== null)
    await addGap(handle, chainId, { from: bounds.from < startBlock ? startBlock : bounds.from, to: bounds.last })
}

/**
 * Makes gaps of what builds that do not know them leave behind: blocks of which the fee rates or the rows of the ledger
 * are not known and, with `isFirst`, rows without a log. With `isFirst`, gaps that were given up are opened again too,
 * and with `retriesPruned` pruned ones: a node may have been added, or was out of reach.
 */
export const adoptGaps = (
  database: Pick<Database, 'transaction'>,
  chainId: ChainId,
  {
    startBlock,
    isFirst,
    retriesPruned,
  }: { readonly startBlock: bigint; readonly isFirst: boolean; readonly retriesPruned: boolean },
): Promise<void> =>
  database.transaction(async (handle) => {
    // Steps and rollbacks take the same lock.
    await lockRefreshQueue(handle, chainId)
    const { rows } = await handle.execute<{ from: string; to: string }>(sql`SELECT block_number AS to,
        coalesce(fees_number + 1, ${startBlock}::bigint) AS from FROM ${cursors}
      WHERE chain_id = ${chainId} AND fees_number IS DISTINCT FROM block_number AND NOT ${hasUnreadLogs(chainId)}`)
    for (const { from, to } of rows) await addGap(handle, chainId, { from: BigInt(from), to: BigInt(to) })
    await adoptLedger(handle, chainId, startBlock)
    if (isFirst) await adoptRows(handle, chainId, startBlock)
    if (!isFirst && !retriesPruned) return
    await handle
      .update(logGaps)
      .set({ state: 'open', since: sql`now()`, nextAt: sql`now()` })
      .where(and(eq(logGaps.chainId, chainId), isFirst ? ne(logGaps.state, 'open') : eq(logGaps.state, 'pruned')))
  })

/** The newest gap that is due and not pruned, below the cursor, and the newest anchor; null when there is none. */
export const nextGap = (database: Pick<Database, 'snapshot'>, chainId: ChainId) =>
  database.snapshot(async (handle) => {
    const isDue = and(eq(logGaps.chainId, chainId), ne(logGaps.state, 'pruned'), lte(logGaps.nextAt, sql`now()`))
    const [row] = await handle
      .select({ gap: logGaps })
      .from(logGaps)
      .innerJoin(cursors, eq(cursors.chainId, logGaps.chainId))
      .where(and(isDue, lte(logGaps.toBlock, cursors.blockNumber)))
      .orderBy(desc(logGaps.toBlock))
      .limit(1)
    const anchor = await newestAnchor(handle, chainId)
    return row === undefined || anchor === null ? null : { gap: row.gap, anchor }
  })

const isGap = ({ chainId, seq }: LogGap) => and(eq(logGaps.chainId, chainId), eq(logGaps.seq, seq))

/** Whether a gap is as it was read. The transaction must hold the lock of the refresh queue. */
export const isSameGap = async (handle: Handle, gap: LogGap): Promise<boolean> => {
  const [now] = await handle.select().from(logGaps).where(isGap(gap))
  return now?.state === gap.state && now.toBlock === gap.toBlock && now.unreadTo === gap.unreadTo
}

/** Sets when a gap is due again, and its state, which stays unless given. */
export const deferGap = async (
  handle: Handle,
  gap: LogGap,
  { ms = 0, state = gap.state }: { readonly ms?: number; readonly state?: LogGap['state'] },
): Promise<void> => {
  const nextAt = sql`now() + ${ms} * interval '1 millisecond'`
  await handle.update(logGaps).set({ state, nextAt }).where(isGap(gap))
}

/**
 * Stores that the logs of a gap were read from a block on. Once they were all read, the gap is deleted, or it becomes
 * the range in which the logs of the rows are that still lack theirs. Returns whether rows lack theirs then.
 */
export const shortenGap = async (handle: Handle, gap: LogGap, from: bigint): Promise<boolean> => {
  const { chainId, fromBlock, toBlock, ledgerOnly } = gap
  if (from > fromBlock) {
    await handle
      .update(logGaps)
      .set({ unreadTo: from - 1n })
      .where(isGap(gap))
    return false
  }
  const bounds = ledgerOnly
    ? null
    : await boundsOf(handle, chainId, sql`block_number BETWEEN ${fromBlock} AND ${toBlock}`)
  if (bounds === null) {
    await handle.delete(logGaps).where(isGap(gap))
    return false
  }
  const rest = {
    fromBlock: max(bounds.from, fromBlock),
    toBlock: bounds.last,
    unreadTo: bounds.to,
  }
  await handle.update(logGaps).set(rest).where(isGap(gap))
  return true
}

/** Gives rows that lack their log the values of their log. Returns their ids. */
export const fillRows = async <K extends Kind>(
  handle: Handle,
  chainId: ChainId,
  kind: K,
  facts: readonly Extract<Fact, { readonly kind: K }>[],
): Promise<bigint[]> => {
  if (facts.length === 0) return []
  const { facts: table } = entityTables[kind]
  const values = facts.map(({ id, txHash, logIndex, blockNumber, blockHash, blockTimestamp, ...fact }) => ({
    id,
    txHash,
    logIndex,
    blockNumber,
    blockHash,
    blockTimestamp,
    ...('initialLiquidity' in fact && { initialLiquidity: fact.initialLiquidity }),
  }))
  const { names, source } = asRows(table, values)
  const liquidity = kind === 'event' ? sql`, initial_liquidity = given.initial_liquidity` : sql``
  const { rows } = await handle.execute<{ id: string }>(sql`WITH given ${names} AS (SELECT * FROM ${source})
    UPDATE ${table} AS fact SET tx_hash = given.tx_hash, log_index = given.log_index, block_number = given.block_number,
      block_hash = given.block_hash, block_timestamp = given.block_timestamp ${liquidity}
    FROM given WHERE fact.chain_id = ${chainId} AND fact.id = given.id AND fact.tx_hash IS NULL RETURNING fact.id`)
  return rows.map(({ id }) => BigInt(id))
}

/**
 * The rows of a chain that lack their log, by the state of their gap, and the age of the oldest open gap in seconds; null
 * when there is none.
 */
export const readLogGaps = async (handle: Handle, chainId: ChainId) => {
  const lacking = ofKinds(
    (kind) => sql`SELECT block_number FROM ${entityTables[kind].facts} WHERE chain_id = ${chainId} AND tx_hash IS NULL`,
  )
  const ofState = (state: LogGap['state']) => sql`count(*) FILTER (WHERE coalesce(state, 'open') = ${state})::integer`
  const { rows } = await handle.execute<Record<'pending' | 'absent' | 'pruned', number>>(sql`SELECT
      ${ofState('open')} AS pending, ${ofState('absent')} AS absent, ${ofState('pruned')} AS pruned
    FROM (${lacking}) AS fact LEFT JOIN LATERAL (SELECT state FROM ${logGaps} WHERE chain_id = ${chainId}
      AND NOT ledger_only AND fact.block_number BETWEEN from_block AND to_block ORDER BY state = 'open' DESC LIMIT 1) AS gap ON true`)
  const oldestSeconds = sql<number | null>`extract(epoch FROM now() - min(${logGaps.since}))`.mapWith(Number)
  const [open] = await handle
    .select({ oldestSeconds })
    .from(logGaps)
    .where(and(eq(logGaps.chainId, chainId), eq(logGaps.state, 'open'), eq(logGaps.ledgerOnly, false)))
  const { pending = 0, absent = 0, pruned = 0 } = rows[0] ?? {}
  return { pending, absent, pruned, oldestSeconds: open?.oldestSeconds ?? null }
}

/**
 * SQL of the block from which on the ledger of a chain has every log, over its cursor `c`; null when it has all of them.
 */
export const ledgerCompleteFrom = `CASE WHEN c.ledger_number IS DISTINCT FROM c.block_number THEN c.block_number ELSE (SELECT max(unread_to)
  FROM log_gaps WHERE log_gaps.chain_id = c.chain_id AND state <> 'absent') END + 1`
