import { and, asc, desc, eq, gt, inArray, sql } from 'drizzle-orm'
import type { ChainId } from '../../protocol/chains.ts'
import { insertMany } from '../bulk.ts'
import type { Handle } from '../pool.ts'
import { settlements } from '../schema-index.ts'
import type { Stored, StoredBlock } from '../stored.ts'

/** An observed settlement, or the reversion of one by a reorg. */
export type Settlement = Readonly<typeof settlements.$inferSelect>

/** A settlement without a number. */
export type Draft = Omit<Settlement, 'seq' | 'chainId'>

const same = (a: Draft, b: Draft): boolean =>
  a.settledAt === b.settledAt && a.triggered === b.triggered && a.settlementPrice === b.settlementPrice

/** The newest settlement of each event; its type is `reverted` after a reorg removed it. */
export const newestSettlements = (handle: Handle, chainId: ChainId, eventIds: readonly bigint[]) =>
  handle
    .selectDistinctOn([settlements.eventId])
    .from(settlements)
    .where(and(eq(settlements.chainId, chainId), inArray(settlements.eventId, [...eventIds])))
    .orderBy(settlements.eventId, desc(settlements.seq))

/** The differences between the settlements of events that were observed at a block and the stored ones. */
export const changedSettlements = async (
  handle: Handle,
  chainId: ChainId,
  block: StoredBlock,
  events: readonly Pick<Stored<'event'>, 'core' | 'stats'>[],
): Promise<Draft[]> => {
  if (events.length === 0) return []
  const ids = events.map(({ core }) => core.id)
  const newest = await newestSettlements(handle, chainId, ids)
  const known = new Map(newest.flatMap((row) => (row.type === 'settled' ? [[row.eventId, row]] : [])))
  return events.flatMap(({ core, stats }): Draft[] => {
    const before = known.get(core.id)
    const { settledAt, triggered, settlementPrice } = stats
    const at = { blockNumber: block.number, blockHash: block.hash }
    const observed: Draft = { type: 'settled', eventId: core.id, settledAt, triggered, settlementPrice, ...at }
    if (settledAt === 0n) return before === undefined ? [] : [{ ...before, type: 'reverted' }]
    if (before === undefined) return [observed]
    return same(before, observed) ? [] : [{ ...before, type: 'reverted' }, observed]
  })
}

/** The reversions of all settlements that were observed above a block. */
export const settlementsAbove = async (handle: Handle, chainId: ChainId, number: bigint): Promise<Draft[]> => {
  const rows = await handle
    .select()
    .from(settlements)
    .where(
      and(
        eq(settlements.chainId, chainId),
        gt(settlements.blockNumber, number),
        eq(settlements.type, 'settled'),
        sql`NOT EXISTS (SELECT FROM ${settlements} AS later WHERE later.chain_id = ${settlements.chainId}
          AND later.event_id = ${settlements.eventId} AND later.seq > ${settlements.seq})`,
      ),
    )
    .orderBy(asc(settlements.seq))
  return rows.map((row) => ({ ...row, type: 'reverted' }))
}

/** Stores drafts in their order under consecutive numbers, of which `last` is the last. */
export const insertSettlements = async (handle: Handle, chainId: ChainId, drafts: readonly Draft[], last: number) => {
  const rows = drafts.map((draft, at) => ({ ...draft, chainId, seq: last - drafts.length + 1 + at }))
  await insertMany(handle, settlements, rows)
}
