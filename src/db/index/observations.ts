import { and, eq, inArray, lte, sql } from 'drizzle-orm'
import type { ChainId } from '../../protocol/chains.ts'
import { type EntityViews, type Kind, kinds, type Plural } from '../../protocol/entities.ts'
import { asRows, bigints } from '../bulk.ts'
import {
  type Touched,
  touchedByIds,
  touchedByLedgerWhere,
  touchedByMembers,
  touching,
  touchingAll,
  touchingProtocol,
  union,
} from '../changes/scopes.ts'
import type { Handle } from '../pool.ts'
import { ledger } from '../schema/ledger.ts'
import * as t from '../schema/records.ts'
import { blockColumns, entityTables, type ObservationRow, type StoredBlock, type StoredProtocol } from '../stored.ts'
import { judgeFees } from './fees.ts'
import { changedSettlements } from './settlements.ts'
import {
  completeRefreshRequests,
  lockRefreshQueue,
  type RefreshRequest,
  requestFollowUps,
} from './work/refresh-queue.ts'
import { recordUpgrade } from './work/upgrades.ts'
import { announceChanges } from './write.ts'

/** What the chain's views return at one block. */
export type Observations = { readonly [K in Kind as Plural<K>]: readonly EntityViews<K>[] } & {
  readonly protocol: Omit<StoredProtocol, 'observedAt'> | null
}

/**
 * Stores observations at `block`. An older block never replaces a newer one. When the premiums or the settlement of an
 * event changed, requests a refresh of its deposits, and after a settlement also of its positions: they changed with
 * it, even if no log reports that. Completes `requests`, which these observations were made for. Returns true for an
 * upgrade, when the loupe's hash differs from the stored one.
 */
export const storeObservations = async (
  handle: Handle,
  chainId: ChainId,
  block: StoredBlock,
  seen: Observations,
  requests: readonly RefreshRequest[] = [],
): Promise<boolean> => {
  await lockRefreshQueue(handle, chainId)
  const rows = observationRows(chainId, block, seen)
  const { resolved, expired } = await markMoved(handle, chainId, block, seen)
  // After the follow-up requests, which are from the blocks of these requests.
  await completeRefreshRequests(handle, chainId, requests, block.number)
  const touched: Touched[] = []
  for (const kind of kinds) {
    const moved = await upsert(handle, entityTables[kind].observations, rows[`${kind}s`])
    touched.push(await touchedByIds(handle, chainId, kind, kind === 'event' ? [...moved, ...expired] : moved))
  }
  const named = await keepPaymentTokens(handle, chainId, idsOf(seen.events))
  if (named.length > 0) touched.push(await touchedByLedgerWhere(handle, chainId, inArray(ledger.eventId, named)))
  const isUpgraded = await hasOtherLoupe(handle, chainId, block, seen.protocol)
  if (isUpgraded)
    await recordUpgrade(handle, chainId, { blockNumber: block.number, blockHash: block.hash, txHash: null })
  const changed = await upsert(handle, t.chainObservations, rows.protocol)
  const current = await observedAtBlock(handle, chainId, block.number, seen.events)
  const drafts = await changedSettlements(handle, chainId, block, current)
  const all = union([
    // After an upgrade every entity is observed again, which announces those that changed.
    isUpgraded ? touchingAll(null) : touching(),
    ...touched,
    changed.length === 0 ? touching() : touchingProtocol,
    rows.protocol.length === 0 ? touching() : await judgeFees(handle, chainId),
    await touchedByMembers(handle, chainId, [...resolved, ...expired]),
  ])
  // Unchanged observations are not announced.
  if (all.all || all.scopes.size > 0 || drafts.length > 0) await announceChanges(handle, chainId, all, drafts)
  return isUpgraded
}

const idsOf = (events: Observations['events']): bigint[] => events.map(({ core }) => core.id)

/**
 * Stores the tokens of events with their facts, so that rows of their deposits and positions keep theirs while a rollback
 * has deleted the observations. Returns the events whose token is another one now: rows of their activity show it.
 */
export const keepPaymentTokens = async (handle: Handle, chainId: ChainId, events: readonly bigint[]) => {
  if (events.length === 0) return []
  const { rows } = await handle.execute<{
    id: string
  }>(sql`UPDATE ${t.events} SET payment_token = seen.payment_token FROM ${t.eventObservations} AS seen
    WHERE events.chain_id = ${chainId} AND events.id = ANY(${bigints(events)})
      AND seen.chain_id = events.chain_id AND seen.id = events.id AND events.payment_token IS DISTINCT FROM seen.payment_token RETURNING events.id`)
  return rows.map(({ id }) => BigInt(id))
}

/** The events whose stored observation is of this block. For the others a newer one is stored. */
const observedAtBlock = async (handle: Handle, chainId: ChainId, number: bigint, events: Observations['events']) => {
  if (events.length === 0) return []
  const { chainId: chain, id, blockNumber } = t.eventObservations
  const ids = events.map(({ core }) => core.id)
  const rows = await handle
    .select({ id })
    .from(t.eventObservations)
    .where(and(eq(chain, chainId), inArray(id, ids), eq(blockNumber, number)))
  const stored = new Set(rows.map((row) => row.id))
  return events.filter(({ core }) => stored.has(core.id))
}

/** Rows with every column of their tables, so that the code does not compile while a column is not written. */
type ObservationRows = { readonly [K in Kind as Plural<K>]: readonly ObservationRow<K>[] } & {
  readonly protocol: readonly (typeof t.chainObservations.$inferSelect)[]
}

/** Observations at a block as rows of the four tables. */
export const observationRows = (chainId: ChainId, block: StoredBlock, seen: Observations): ObservationRows => {
  const at = blockColumns(block)
  return {
    events: seen.events.map(({ core, stats, range, utilization, paymentToken }) => ({
      chainId,
      ...core,
      ...stats,
      ...utilization,
      payoutCap: range.payoutCap,
      paymentToken,
      ...at,
    })),
    deposits: seen.deposits.map(({ deposit, pending }) => ({ chainId, ...deposit, pending, ...at })),
    positions: seen.positions.map(({ position }) => ({ chainId, ...position, ...at })),
    protocol: (seen.protocol ? [seen.protocol] : []).map(({ fees, paused, total, loupeHash }) => ({
      chainId,
      creationFee: fees.eventCreationFee,
      hedgerFeeRate: fees.hedgerFeeRate,
      payoutFeeRate: fees.hedgerPayoutFeeRate,
      lpProfitFeeRate: fees.lpProfitFeeRate,
      creatorLoyaltyRate: fees.creatorLoyaltyRate,
      paused,
      totalEvents: total,
      loupeHash,
      ...at,
    })),
  }
}

/** Whether the loupe's hash differs from the stored one, if both are known and the stored one is not newer. */
const hasOtherLoupe = async (handle: Handle, chainId: ChainId, block: StoredBlock, seen: Observations['protocol']) => {
  const [stored] = await handle
    .select({ loupeHash: t.chainObservations.loupeHash })
    .from(t.chainObservations)
    .where(and(eq(t.chainObservations.chainId, chainId), lte(t.chainObservations.blockNumber, block.number)))
  return stored?.loupeHash != null && seen?.loupeHash != null && stored.loupeHash !== seen.loupeHash
}

/**
 * Compares events with their stored observations and requests a refresh of the deposits and positions of those that
 * changed, except the ones that were observed together with them. Returns the events whose settlement, or the
 * pool that it leaves, is new or gone (`resolved`). Also returns the events whose expiry passed since their last observation
 * (`expired`): their capacity is 0 from then on, even if the view returns the same value.
 */
const markMoved = async (
  handle: Handle,
  chainId: ChainId,
  block: StoredBlock,
  { events, deposits, positions }: Observations,
) => {
  const { id, totalPremiums, settledAt, totalLiquidity, totalMaxPayout, blockTimestamp } = t.eventObservations
  const rows = await handle
    .select({ id, totalPremiums, settledAt, totalLiquidity, totalMaxPayout, blockTimestamp })
    .from(t.eventObservations)
    .where(and(eq(t.eventObservations.chainId, chainId), inArray(id, idsOf(events))))
  const before = new Map(rows.map((row) => [row.id, row]))
  type Part = 'totalPremiums' | 'settledAt' | 'totalLiquidity' | 'totalMaxPayout'
  const differing = (...parts: Part[]) =>
    events.filter(({ core, stats }) => parts.some((part) => before.get(core.id)?.[part] !== stats[part]))
  // On some deployments, sweeping unclaimed payouts lowers the total payout of a settled event.
  const swept = differing('totalMaxPayout').filter(({ stats }) => stats.settledAt > 0n)
  const settled = [...new Set([...differing('settledAt'), ...swept])]
  const paid = [...settled, ...differing('totalPremiums')]
  const observedPositions = positions.map(({ position }) => position.id)
  const observedDeposits = deposits.map(({ deposit }) => deposit.id)
  const { number } = block
  await requestFollowUps(handle, chainId, 'position', {
    eventIds: idsOf(settled),
    block: number,
    except: observedPositions,
  })
  await requestFollowUps(handle, chainId, 'deposit', { eventIds: idsOf(paid), block: number, except: observedDeposits })
  // Also an event whose observation a rollback deleted: it may have been settled before.
  const moved = differing('settledAt', 'totalLiquidity', 'totalMaxPayout').filter(
    ({ core, stats }) => stats.settledAt > 0n || before.get(core.id)?.settledAt !== 0n,
  )
  const expired = events.filter(({ core: { id, expiryDate } }) => {
    const known = before.get(id)
    return known !== undefined && known.blockTimestamp < expiryDate && expiryDate <= block.timestamp
  })
  return { resolved: idsOf(moved), expired: idsOf(expired) }
}

type ObservationTable = (typeof entityTables)[Kind]['observations'] | typeof t.chainObservations

/** The columns with the block of an observation, not its content. */
const nonContent = ['block_number', 'block_hash', 'block_timestamp']

/** Stores rows unless a newer one is stored. Returns the ids of new rows and of rows whose content changed. */
const upsert = async (handle: Handle, table: ObservationTable, rows: readonly object[]): Promise<bigint[]> => {
  if (rows.length === 0) return []
  const { names, source } = asRows(table, rows)
  const replaced = names.map((name) => sql`${name} = excluded.${name}`)
  const contents = names.filter(({ value }) => !nonContent.includes(value))
  const contentOf = (side: string) => contents.map((name) => sql`${sql.identifier(side)}.${name}`)
  const key = sql.raw('id' in table ? 'chain_id, id' : 'chain_id')
  const id = sql.raw('id' in table ? 'given.id' : 'given.chain_id')
  const moved = await handle.execute<{
    id: string | number
  }>(sql`WITH given ${names} AS (SELECT * FROM ${source}), put AS (
      INSERT INTO ${table} ${names} SELECT * FROM given ON CONFLICT (${key}) DO UPDATE SET ${sql.join(replaced, sql`, `)}
      WHERE excluded.block_number >= ${table.blockNumber}
    ) SELECT ${id} AS id FROM given LEFT JOIN ${table} AS stored USING (${key}) WHERE stored.block_number IS NULL
      OR (given.block_number >= stored.block_number AND ${contentOf('given')} IS DISTINCT FROM ${contentOf('stored')})`)
  return moved.rows.map((row) => BigInt(row.id))
}
