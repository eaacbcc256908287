import { and, asc, eq, gt, inArray, sql } from 'drizzle-orm'
import type { Hex } from 'viem'
import type { ChainId } from '../protocol/chains.ts'
import { insertMany } from './bulk.ts'
import { newestChange } from './changes.ts'
import type { Database, Handle } from './pool.ts'
import * as t from './schema.ts'
import type { StoredBlock, StoredEvent } from './stored.ts'

/** A settlement that was seen, or one that was seen and left the chain. The block is where it was seen; `seq` grows. */
export type Settlement = {
  readonly seq: number
  readonly type: 'settled' | 'reverted'
  readonly chainId: number
  readonly eventId: bigint
  /** Unix seconds. */
  readonly settledAt: bigint
  readonly triggered: boolean
  /** 1e6. */
  readonly settlementPrice: bigint
  readonly blockNumber: bigint
  readonly blockHash: Hex
}

/** One that has no number yet. */
export type Draft = Omit<Settlement, 'seq' | 'chainId'>

const same = (a: Draft, b: Draft): boolean =>
  a.settledAt === b.settledAt && a.triggered === b.triggered && a.settlementPrice === b.settlementPrice

/** What is new about the settlement of events that were observed at a block: nothing where it is known as it is. */
export const settlementsSeen = async (
  handle: Handle,
  chainId: ChainId,
  block: StoredBlock,
  events: readonly Pick<StoredEvent, 'core' | 'stats'>[],
): Promise<Draft[]> => {
  if (events.length === 0) return []
  const { settlements } = t
  const ids = events.map(({ core }) => core.id)
  const latest = await handle
    .selectDistinctOn([settlements.eventId])
    .from(settlements)
    .where(and(eq(settlements.chainId, chainId), inArray(settlements.eventId, ids)))
    .orderBy(settlements.eventId, sql`${settlements.seq} DESC`)
  const known = new Map(
    latest.filter(({ type }) => type === 'settled').map((row) => [row.eventId, { ...row, type: 'settled' } as const]),
  )
  return events.flatMap(({ core, stats }): Draft[] => {
    const before = known.get(core.id)
    const { settledAt, triggered, settlementPrice } = stats
    const at = { blockNumber: block.number, blockHash: block.hash }
    const seen: Draft = { type: 'settled', eventId: core.id, settledAt, triggered, settlementPrice, ...at }
    if (settledAt === 0n) return before === undefined ? [] : [{ ...before, type: 'reverted' }]
    if (before === undefined) return [seen]
    return same(before, seen) ? [] : [{ ...before, type: 'reverted' }, seen]
  })
}

/** The settlements that were seen above a block, which leave the chain with it. */
export const settlementsAbove = async (handle: Handle, chainId: ChainId, number: bigint): Promise<Draft[]> => {
  const { settlements } = t
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

/** Stores drafts in their order under the numbers that end at `last`. */
export const insertSettlements = async (
  handle: Handle,
  chainId: ChainId,
  drafts: readonly Draft[],
  last: number,
): Promise<void> => {
  const rows = drafts.map((draft, at) => ({ ...draft, chainId, seq: last - drafts.length + 1 + at }))
  await insertMany(handle, t.settlements, rows)
}

/** Which settlements a reader wants; absent fields do not matter. */
export type SettlementFilter = {
  readonly chainIds: readonly ChainId[]
  readonly eventIds?: readonly bigint[] | undefined
  readonly triggered?: boolean | undefined
}

/** What readers of settlements ask the database. All throw `service_unavailable` when it is out of reach. */
export type SettlementQueries = {
  /** The settlements after a number, in order, at most `limit`. */
  after(seq: number, filter: SettlementFilter, limit: number): Promise<Settlement[]>
  /** A number that no settlement is above which is there by now, and every later one is. */
  position(): Promise<number>
}

export const createSettlementQueries = (database: Database): SettlementQueries => ({
  async after(seq, { chainIds, eventIds, triggered }, limit) {
    const { settlements } = t
    const rows = await database.run((handle) =>
      handle
        .select()
        .from(settlements)
        .where(
          and(
            gt(settlements.seq, seq),
            inArray(settlements.chainId, [...chainIds]),
            eventIds && inArray(settlements.eventId, [...eventIds]),
            triggered === undefined ? undefined : eq(settlements.triggered, triggered),
          ),
        )
        .orderBy(asc(settlements.seq))
        .limit(limit),
    )
    return rows.map((row) => ({ ...row, type: row.type === 'reverted' ? 'reverted' : 'settled' }))
  },
  position: () => database.run(newestChange),
})
