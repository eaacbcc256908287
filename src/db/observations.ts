import { and, eq, getTableColumns, inArray, lte, type SQL, sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import type { ChainId } from '../protocol/chains.ts'
import type { Kind } from '../protocol/kinds.ts'
import { asRows } from './bulk.ts'
import type { Handle } from './pool.ts'
import { type Renderer, withTexts } from './rendering.ts'
import * as t from './schema.ts'
import { protocolScope, scopesOf, scopesOfMembers, union } from './scopes.ts'
import { settlementsSeen } from './settlements.ts'
import {
  entityTables,
  type SeenRow,
  type StoredBlock,
  type StoredDeposit,
  type StoredEvent,
  type StoredPosition,
  type StoredProtocol,
} from './stored.ts'
import { holdNotes, markMembers } from './unobserved.ts'
import { recordUpgrade } from './upgrades.ts'
import { tell } from './write.ts'

export type Observations = {
  readonly events: readonly Omit<StoredEvent, 'observedAt'>[]
  readonly deposits: readonly Omit<StoredDeposit, 'observedAt'>[]
  readonly positions: readonly Omit<StoredPosition, 'observedAt'>[]
  readonly protocol: Omit<StoredProtocol, 'observedAt'> | null
}

/**
 * Stores what the chain said at `block`, and the rows of lists that `renderer` makes of it; an older block never replaces a newer one. An event whose premiums or settlement moved
 * has its deposits, and once settled its positions, noted: they changed with it, whatever logs said so. Another listing of the loupe than
 * the stored one is an upgrade: true then.
 */
export const storeObservations = async (
  handle: Handle,
  chainId: ChainId,
  block: StoredBlock,
  seen: Observations,
  renderer: Renderer,
): Promise<boolean> => {
  await holdNotes(handle, chainId)
  const rows = observationRows(chainId, block, seen)
  const { resolved, expired } = await markMoved(handle, chainId, block, seen)
  const put = async <K extends Kind>(kind: K, of: readonly SeenRow<K>[]): Promise<bigint[]> =>
    upsert(handle, entityTables[kind].observations, await withTexts(handle, chainId, kind, renderer, of))
  // Events first: the rows of their members show their tokens.
  const events = await put('event', rows.events)
  const deposits = await put('deposit', rows.deposits)
  const positions = await put('position', rows.positions)
  const isUpgraded = await hasOtherLoupe(handle, chainId, block, seen.protocol)
  if (isUpgraded)
    await recordUpgrade(handle, chainId, { blockNumber: block.number, blockHash: block.hash, txHash: null })
  const changed = await upsert(handle, t.chainObservations, rows.protocol)
  const current = await observedAtBlock(handle, chainId, block, seen.events)
  const drafts = await settlementsSeen(handle, chainId, block, current)
  const scopes = union([
    isUpgraded ? null : new Set(),
    await scopesOf(handle, chainId, 'event', [...events, ...expired]),
    await scopesOf(handle, chainId, 'deposit', deposits),
    await scopesOf(handle, chainId, 'position', positions),
    new Set(changed.length === 0 ? [] : [protocolScope]),
    await scopesOfMembers(handle, chainId, resolved),
  ])
  // Looking again at what stayed as it was is nothing to tell.
  if (scopes?.size !== 0 || drafts.length > 0) await tell(handle, chainId, scopes, drafts)
  return isUpgraded
}

/** Those of the events whose stored observation is of this block: of others a newer one is stored. */
const observedAtBlock = async (
  handle: Handle,
  chainId: ChainId,
  { number }: StoredBlock,
  events: Observations['events'],
): Promise<Observations['events']> => {
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

/** What was seen at a block as rows of the four tables. */
export const observationRows = (chainId: ChainId, block: StoredBlock, seen: Observations) => {
  const at = { blockNumber: block.number, blockHash: block.hash, blockTimestamp: block.timestamp }
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
    protocol: seen.protocol === null ? [] : [protocolRow(chainId, seen.protocol, at)],
  }
}

const protocolRow = (
  chainId: ChainId,
  { fees, paused, total, loupeHash }: Omit<StoredProtocol, 'observedAt'>,
  at: Pick<typeof t.chainObservations.$inferSelect, 'blockNumber' | 'blockHash' | 'blockTimestamp'>,
): typeof t.chainObservations.$inferInsert => ({
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
})

/** Whether the loupe lists something else than at the stored observation, where both are known and that one is not newer. */
const hasOtherLoupe = async (
  handle: Handle,
  chainId: ChainId,
  block: StoredBlock,
  seen: Observations['protocol'],
): Promise<boolean> => {
  const [stored] = await handle
    .select({ loupeHash: t.chainObservations.loupeHash })
    .from(t.chainObservations)
    .where(and(eq(t.chainObservations.chainId, chainId), lte(t.chainObservations.blockNumber, block.number)))
  return stored?.loupeHash != null && seen?.loupeHash != null && stored.loupeHash !== seen.loupeHash
}

/**
 * Compares events with their stored observations and notes the members of those that moved, but for those that were seen with them. Gives those
 * of which it is new how they were settled, or what that leaves to their members (`resolved`), and those whose expiry passed in between
 * (`expired`): their capacity is none from then on, also where the view returns what it did.
 */
const markMoved = async (
  handle: Handle,
  chainId: ChainId,
  block: StoredBlock,
  { events, deposits, positions }: Observations,
): Promise<{ readonly resolved: bigint[]; readonly expired: bigint[] }> => {
  const before = new Map(
    (
      await handle
        .select({
          id: t.eventObservations.id,
          totalPremiums: t.eventObservations.totalPremiums,
          settledAt: t.eventObservations.settledAt,
          totalLiquidity: t.eventObservations.totalLiquidity,
          totalMaxPayout: t.eventObservations.totalMaxPayout,
          blockTimestamp: t.eventObservations.blockTimestamp,
        })
        .from(t.eventObservations)
        .where(
          and(
            eq(t.eventObservations.chainId, chainId),
            inArray(
              t.eventObservations.id,
              events.map(({ core }) => core.id),
            ),
          ),
        )
    ).map((row) => [row.id, row]),
  )
  // A sweep of payouts lowers what a settled event owes, where a deployment shows that.
  const settled = events.filter(({ core, stats }) => {
    const known = before.get(core.id)
    const isSwept = stats.settledAt > 0n && known?.totalMaxPayout !== stats.totalMaxPayout
    return known?.settledAt !== stats.settledAt || isSwept
  })
  const earned = events.filter(({ core, stats }) => before.get(core.id)?.totalPremiums !== stats.totalPremiums)
  const ids = (of: Observations['events']): bigint[] => of.map(({ core }) => core.id)
  const seenToo = {
    deposit: deposits.map(({ deposit }) => deposit.id),
    position: positions.map(({ position }) => position.id),
  }
  await markMembers(handle, chainId, 'position', ids(settled), seenToo.position)
  await markMembers(handle, chainId, 'deposit', ids([...settled, ...earned]), seenToo.deposit)
  const parts = ['settledAt', 'totalLiquidity', 'totalMaxPayout'] as const
  const moved = events.filter(({ core, stats }) => parts.some((part) => before.get(core.id)?.[part] !== stats[part]))
  const expired = events.filter(({ core: { id, expiryDate } }) => {
    const known = before.get(id)
    return known !== undefined && known.blockTimestamp < expiryDate && expiryDate <= block.timestamp
  })
  return { resolved: ids(moved.filter(({ stats }) => stats.settledAt > 0n)), expired: ids(expired) }
}

type ObservationTable =
  | typeof t.eventObservations
  | typeof t.depositObservations
  | typeof t.positionObservations
  | typeof t.chainObservations

/** The columns that do not say what was seen, but when, or what was made of it. */
const circumstances = ['block_number', 'block_hash', 'block_timestamp', 'row_text', 'render_key', 'inclusions']

/** Stores rows where none is newer. Gives the ids of those that say something else than what was stored, or where nothing was. */
const upsert = async (handle: Handle, table: ObservationTable, rows: readonly object[]): Promise<bigint[]> => {
  if (rows.length === 0) return []
  const { names, source } = asRows(table, rows)
  const given = Object.keys(rows[0] ?? {})
  const columns = Object.entries<PgColumn>(getTableColumns<PgTable>(table)).flatMap(([field, { name }]) =>
    given.includes(field) ? name : [],
  )
  const replaced = columns.map((name) => sql`${sql.identifier(name)} = excluded.${sql.identifier(name)}`)
  if ('renderFlip' in table) replaced.push(sql`render_flip = NOT ${table.renderFlip}`)
  const contentOf = (side: string): SQL => {
    const told = columns.filter((name) => !circumstances.includes(name))
    return sql`(${sql.join(
      told.map((name) => sql`${sql.identifier(side)}.${sql.identifier(name)}`),
      sql`, `,
    )})`
  }
  const all = sql.join([...names], sql`, `)
  const key = sql.raw('id' in table ? 'chain_id, id' : 'chain_id')
  const id = sql.raw('id' in table ? 'given.id' : 'given.chain_id')
  const moved = await handle.execute<{
    id: string | number
  }>(sql`WITH given (${all}) AS (SELECT * FROM ${source}), put AS (
      INSERT INTO ${table} (${all}) SELECT * FROM given ON CONFLICT (${key}) DO UPDATE SET ${sql.join(replaced, sql`, `)}
      WHERE excluded.block_number >= ${table.blockNumber}
    ) SELECT ${id} AS id FROM given LEFT JOIN ${table} AS stored USING (${key}) WHERE stored.block_number IS NULL
      OR (given.block_number >= stored.block_number AND ${contentOf('given')} IS DISTINCT FROM ${contentOf('stored')})`)
  return moved.rows.map((row) => BigInt(row.id))
}
