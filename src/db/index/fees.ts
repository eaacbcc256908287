import { and, asc, eq, gte, lte, sql } from 'drizzle-orm'
import type { ChainId } from '../../protocol/chains.ts'
import type { FeeLog } from '../../protocol/logs.ts'
import { insertMany } from '../bulk.ts'
import { announce } from '../changes/changes.ts'
import { type Touched, touchedByEvents, touching, touchingAll, union } from '../changes/scopes.ts'
import type { Database, Handle } from '../pool.ts'
import { chainObservations, type events, feeRates } from '../schema.ts'
import { cursors, rollbacks } from '../schema-index.ts'
import type { StoredBlock } from '../stored.ts'
import { newestAnchor } from './progress.ts'
import type { Dated } from './write.ts'

/* The fee rates over time. The steps write those of new blocks, and the job `fees` those of blocks before them. */

/** Inserts the rates that logs set. A log that is stored already is left as it is. */
export const insertFees = async (handle: Handle, chainId: ChainId, fees: readonly Dated<FeeLog>[]): Promise<void> => {
  await insertMany(
    handle,
    feeRates,
    fees.map((fee) => ({ chainId, ...fee })),
  )
}

/** How far the fee rates of a chain are complete. */
export type FeeProgress = Awaited<ReturnType<typeof readFeeProgress>>

const lastRollback = (chainId: ChainId) =>
  sql<string>`(SELECT coalesce(max(${rollbacks.seq}), 0) FROM ${rollbacks} WHERE ${rollbacks.chainId} = ${chainId})`

/** Reads how far the fee rates of a chain are complete; null while nothing is indexed. */
export const readFeeProgress = (database: Pick<Database, 'run'>, chainId: ChainId) =>
  database.run((handle) => progressOf(handle, chainId))

const progressOf = async (handle: Handle, chainId: ChainId) => {
  const { feesNumber, feesHash, blockNumber, blockHash } = cursors
  const [row] = await handle
    .select({ feesNumber, feesHash, blockNumber, blockHash, rollback: lastRollback(chainId) })
    .from(cursors)
    .where(eq(cursors.chainId, chainId))
  if (row === undefined) return null
  const { feesNumber: number, feesHash: hash } = row
  return {
    /** The block up to which the rates are complete; null before the first. */
    upTo: number === null || hash === null ? null : { number, hash },
    cursor: { number: row.blockNumber, hash: row.blockHash },
    rollback: row.rollback,
  }
}

/** Whether two readings are of the same rates on the same fork. The cursor may have advanced. */
const isUnchanged = (before: NonNullable<FeeProgress>, now: FeeProgress): boolean =>
  now !== null && now.rollback === before.rollback && now.upTo?.hash === before.upTo?.hash

/** Locks the progress of a chain, so that no step moves it; false when it is not `before` any more. */
const hold = async (handle: Handle, chainId: ChainId, before: NonNullable<FeeProgress>): Promise<boolean> => {
  await handle.select({ chainId: cursors.chainId }).from(cursors).where(eq(cursors.chainId, chainId)).for('update')
  return isUnchanged(before, await progressOf(handle, chainId))
}

/**
 * Stores the rates of the blocks from..block, which follow the complete ones of `before`, in place of stored ones, and
 * moves the block up to which they are complete. Returns false, and stores nothing, after a rollback or when another
 * process was faster.
 */
export const extendFees = (
  database: Pick<Database, 'transaction'>,
  chainId: ChainId,
  before: NonNullable<FeeProgress>,
  found: {
    readonly from: bigint
    readonly block: Pick<StoredBlock, 'number' | 'hash'>
    readonly fees: readonly Dated<FeeLog>[]
  },
): Promise<boolean> =>
  database.transaction(async (handle) => {
    if (!(await hold(handle, chainId, before))) return false
    const { from, block, fees } = found
    const within = (table: typeof feeRates | typeof events) =>
      and(eq(table.chainId, chainId), gte(table.blockNumber, from), lte(table.blockNumber, block.number))
    // An older build may have rolled the chain back without them.
    await handle.delete(feeRates).where(within(feeRates))
    await insertFees(handle, chainId, fees)
    await moveFees(handle, chainId, block)
    // The rates of these events were unknown, and everything that shows them changes.
    const touched = await touchedByEvents(handle, chainId, sql`events.block_number BETWEEN ${from} AND ${block.number}`)
    const isTouched = touched.all || touched.scopes.size > 0
    const all = union([await judgeFees(handle, chainId), isTouched ? union([touchingAll(null), touched]) : touching()])
    if (all.all) await announce(handle, chainId, all)
    return true
  })

/** Reads all stored rates in their order, and the newest anchor if they are complete up to it; null otherwise. */
export const readFees = (database: Pick<Database, 'snapshot'>, chainId: ChainId) =>
  database.snapshot(async (handle) => {
    const anchor = await newestAnchor(handle, chainId)
    const progress = await progressOf(handle, chainId)
    const stored = handle.select().from(feeRates).where(eq(feeRates.chainId, chainId))
    const rows = await stored.orderBy(asc(feeRates.blockNumber), asc(feeRates.logIndex))
    return { anchor: progress?.upTo?.hash === anchor?.hash ? anchor : null, rows }
  })

/** Starts the history of a chain's rates again. Returns false when it is not `before` any more. */
export const restartFees = (
  database: Pick<Database, 'transaction'>,
  chainId: ChainId,
  before: NonNullable<FeeProgress>,
): Promise<boolean> =>
  database.transaction(async (handle) => {
    if (!(await hold(handle, chainId, before))) return false
    await moveFees(handle, chainId, null)
    await announce(handle, chainId, touchingAll('repaired'))
    return true
  })

const judged = sql`SELECT CASE WHEN f.hedger_fee_rate = o.hedger_fee_rate AND f.payout_fee_rate = o.payout_fee_rate
      AND f.lp_profit_fee_rate = o.lp_profit_fee_rate AND f.creator_loyalty_rate = o.creator_loyalty_rate THEN NULL
    ELSE concat('getHedgeFeeConfig returns the rates ', concat_ws(', ', o.hedger_fee_rate, o.payout_fee_rate, o.lp_profit_fee_rate, o.creator_loyalty_rate),
      ', and the newest log, of block ', f.block_number, ', set ', concat_ws(', ', f.hedger_fee_rate, f.payout_fee_rate, f.lp_profit_fee_rate, f.creator_loyalty_rate)) END AS found,
    c.fees_contradiction AS stored
  FROM ${cursors} c JOIN ${chainObservations} o USING (chain_id)
  CROSS JOIN LATERAL (SELECT * FROM ${feeRates} x WHERE x.chain_id = c.chain_id AND x.block_number <= o.block_number
    ORDER BY x.block_number DESC, x.log_index DESC LIMIT 1) f
  WHERE o.block_number <= c.fees_number`

/**
 * Compares the rates of the newest log with those of the protocol's view at its last observation, if the rates are
 * complete up to its block, and stores whether they contradict each other: an upgrade can change rates without a log,
 * and then none that follow from logs are known. Returns what that touches: everything, when it changed.
 */
export const judgeFees = async (handle: Handle, chainId: ChainId): Promise<Touched> => {
  const { rows } = await handle.execute<{ found: string | null; stored: string | null }>(
    sql`${judged} AND c.chain_id = ${chainId}`,
  )
  const [row] = rows
  if (row === undefined || row.found === row.stored) return touching()
  await handle.update(cursors).set({ feesContradiction: row.found }).where(eq(cursors.chainId, chainId))
  return (row.found === null) === (row.stored === null) ? touching() : touchingAll('repaired')
}

/** How the fee rates of the index contradict the protocol's view; null where they agree. */
export const readFeesContradiction = async (handle: Handle, chainId: ChainId): Promise<string | null> => {
  const { feesContradiction } = cursors
  const [row] = await handle.select({ feesContradiction }).from(cursors).where(eq(cursors.chainId, chainId))
  return row?.feesContradiction ?? null
}

const moveFees = (handle: Handle, chainId: ChainId, block: Pick<StoredBlock, 'number' | 'hash'> | null) =>
  handle
    .update(cursors)
    .set({ feesNumber: block?.number ?? null, feesHash: block?.hash ?? null })
    .where(eq(cursors.chainId, chainId))
