import { and, asc, desc, eq, gt, inArray, isNull, lte, sql } from 'drizzle-orm'
import type { Hex } from 'viem'
import type { Hint } from '../../protocol/abi/logs.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { bigints, insertMany } from '../bulk.ts'
import { announce } from '../changes/changes.ts'
import { settlementsScope, type Touched, touching } from '../changes/scopes.ts'
import type { Database, Handle } from '../pool.ts'
import { settlementLogs, settlements } from '../schema/index-state.ts'
import type { Stored, StoredBlock } from '../stored.ts'
import { lockRefreshQueue } from './work/refresh-queue.ts'

/** An observed settlement, or the reversal of one by a reorg. */
export type Settlement = Readonly<typeof settlements.$inferSelect>

/** A settlement without a number. */
export type Draft = Omit<Settlement, 'seq' | 'chainId' | 'txHash' | 'finalizedSeq'> & {
  /** Whether it reverts a settlement of the feed of final ones, and belongs to that feed too. */
  readonly isFinal?: boolean
  /** The transaction that settled the event; by default that of the newest log. */
  readonly txHash?: Hex | null
}

const same = (a: Draft, b: Draft): boolean =>
  a.settledAt === b.settledAt && a.triggered === b.triggered && a.settlementPrice === b.settlementPrice

/** Whether a settlement is the newest of its event. */
const isNewest = sql`NOT EXISTS (SELECT FROM ${settlements} AS later WHERE later.chain_id = ${settlements.chainId}
  AND later.event_id = ${settlements.eventId} AND later.seq > ${settlements.seq})`

/** The newest settlement of each event; its type is `reverted` after a reorg removed it. */
export const newestSettlements = (handle: Handle, chainId: ChainId, eventIds: readonly bigint[]) =>
  handle
    .selectDistinctOn([settlements.eventId])
    .from(settlements)
    .where(and(eq(settlements.chainId, chainId), inArray(settlements.eventId, [...eventIds])))
    .orderBy(settlements.eventId, desc(settlements.seq))

/** The reversal of a settlement, with its values. */
const reversalOf = ({ seq: _, finalizedSeq, ...settlement }: Settlement): Draft => ({
  ...settlement,
  type: 'reverted',
  isFinal: finalizedSeq !== null,
})

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
    if (settledAt === 0n) return before === undefined ? [] : [reversalOf(before)]
    if (before === undefined) return [observed]
    return same(before, observed) ? [] : [reversalOf(before), observed]
  })
}

/**
 * Dates the settlements that were observed above `ancestor` by that block where the log of their transaction is not above
 * it: a rollback to it keeps them. Older settlements of an event stay as they are.
 */
export const keepSettlements = async (
  handle: Handle,
  chainId: ChainId,
  { number, hash }: StoredBlock,
): Promise<void> => {
  await handle.execute(sql`UPDATE ${settlements} SET block_number = ${number}, block_hash = decode(${hash.slice(2)}, 'hex')
    FROM ${settlementLogs} AS log
    WHERE ${settlements.chainId} = ${chainId} AND ${settlements.type} = 'settled' AND ${settlements.blockNumber} > ${number}
      AND log.chain_id = ${settlements.chainId} AND log.event_id = ${settlements.eventId} AND log.tx_hash = ${settlements.txHash}
      AND log.block_number <= ${number} AND ${isNewest}`)
}

/** The reversals of all settlements that were observed above a block. */
export const settlementsAbove = async (handle: Handle, chainId: ChainId, number: bigint): Promise<Draft[]> => {
  const rows = await handle
    .select()
    .from(settlements)
    .where(
      and(
        eq(settlements.chainId, chainId),
        gt(settlements.blockNumber, number),
        eq(settlements.type, 'settled'),
        isNewest,
      ),
    )
    .orderBy(asc(settlements.seq))
  return rows.map(reversalOf)
}

/** Stores drafts in their order under consecutive numbers, of which `last` is the last. */
export const insertSettlements = async (handle: Handle, chainId: ChainId, drafts: readonly Draft[], last: number) => {
  const logs = await newestLogs(handle, chainId, drafts)
  const rows = drafts.map(({ isFinal = false, ...draft }, at) => {
    const seq = last - drafts.length + 1 + at
    return {
      ...draft,
      chainId,
      seq,
      txHash: draft.txHash ?? logs.get(draft.eventId) ?? null,
      finalizedSeq: isFinal ? seq : null,
    }
  })
  await insertMany(handle, settlements, rows)
}

/** The transactions of the newest settlement logs of the events of drafts. */
const newestLogs = async (handle: Handle, chainId: ChainId, drafts: readonly Draft[]): Promise<Map<bigint, Hex>> => {
  if (drafts.length === 0) return new Map()
  const { chainId: chain, eventId, blockNumber, txHash } = settlementLogs
  const rows = await handle
    .selectDistinctOn([eventId], { eventId, txHash })
    .from(settlementLogs)
    .where(
      and(
        eq(chain, chainId),
        inArray(
          eventId,
          drafts.map((draft) => draft.eventId),
        ),
      ),
    )
    .orderBy(eventId, desc(blockNumber))
  return new Map(rows.map((row) => [row.eventId, row.txHash]))
}

/** Stores the logs of settlements: of each block the last one of an event. */
export const insertSettlementLogs = (handle: Handle, chainId: ChainId, hints: readonly Hint[]) => {
  const logs = hints.flatMap((hint) =>
    hint.subject === 'event' && hint.settles
      ? [{ chainId, eventId: hint.id, blockNumber: hint.blockNumber, txHash: hint.txHash }]
      : [],
  )
  const last = new Map(logs.map((log) => [`${log.eventId} ${log.blockNumber}`, log]))
  return insertMany(
    handle,
    settlementLogs,
    [...last.values()],
    sql`ON CONFLICT (chain_id, event_id, block_number) DO UPDATE SET tx_hash = excluded.tx_hash`,
  )
}

/**
 * Gives settlements of these events that were observed before their log was known the transaction of the newest log up to
 * their block. Returns what that touches.
 */
export const fillSettlements = async (handle: Handle, chainId: ChainId, ids: readonly bigint[]): Promise<Touched> => {
  const { rowCount } = await handle.execute(sql`UPDATE ${settlements} AS settled SET tx_hash = log.tx_hash
    FROM ${settlementLogs} AS log
    WHERE settled.chain_id = ${chainId} AND settled.event_id = ANY(${bigints(ids)}) AND settled.tx_hash IS NULL AND log.chain_id = settled.chain_id
      AND log.event_id = settled.event_id AND log.block_number = (SELECT max(block_number) FROM ${settlementLogs}
        WHERE chain_id = settled.chain_id AND event_id = settled.event_id AND block_number <= settled.block_number)`)
  return rowCount ? touching(settlementsScope) : touching()
}

/** The newest settlements of events up to a block, or at any, that are not reported as final. */
const notFinal = (chainId: ChainId, upTo?: bigint) =>
  and(
    eq(settlements.chainId, chainId),
    eq(settlements.type, 'settled'),
    isNull(settlements.finalizedSeq),
    upTo === undefined ? undefined : lte(settlements.blockNumber, upTo),
    isNewest,
  )

/** The block of the newest settlement, up to a block, that is not reported as final; null when there is none. */
export const newestNotFinal = async (
  database: Pick<Database, 'run'>,
  chainId: ChainId,
  upTo?: bigint,
): Promise<{ readonly number: bigint; readonly hash: Hex } | null> => {
  const { blockNumber: number, blockHash: hash } = settlements
  const rows = await database.run((handle) =>
    handle.select({ number, hash }).from(settlements).where(notFinal(chainId, upTo)).orderBy(desc(number)).limit(1),
  )
  return rows[0] ?? null
}

/** Most settlements that become final in one transaction. */
const MOST_AT_ONCE = 1_000

/**
 * Adds the settlements up to a final block, which is the block of one of them, to the feed of final ones, in their
 * order, at most `most` at once. Returns how many; call it again while it is not 0. Adds none when a rollback removed
 * that settlement.
 */
export const finalizeSettlements = (
  database: Pick<Database, 'transaction'>,
  chainId: ChainId,
  { number, hash }: { readonly number: bigint; readonly hash: Hex },
  most = MOST_AT_ONCE,
): Promise<number> =>
  database.transaction(async (handle) => {
    // A rollback, which reverts settlements, takes the same lock.
    await lockRefreshQueue(handle, chainId)
    const isFinal = notFinal(chainId, number)
    const seqOf = () => handle.select({ seq: settlements.seq }).from(settlements)
    const proof = await seqOf()
      .where(and(isFinal, eq(settlements.blockHash, hash)))
      .limit(1)
    if (proof.length === 0) return 0
    const rows = await seqOf().where(isFinal).orderBy(asc(settlements.seq)).limit(most)
    const last = await announce(handle, chainId, touching(settlementsScope), rows.length)
    const seqs = sql.param(rows.map(({ seq }) => seq))
    await handle.execute(sql`UPDATE ${settlements} SET finalized_seq = ${last - rows.length}::bigint + nth
      FROM unnest(${seqs}::bigint[]) WITH ORDINALITY AS given (number, nth) WHERE seq = number`)
    return rows.length
  })
