import { and, desc, eq, gt, isNotNull } from 'drizzle-orm'
import type { ChainId } from '../../protocol/chains.ts'
import { insertMany } from '../bulk.ts'
import type { Handle } from '../pool.ts'
import { ledger, ledgerReversals } from '../schema/ledger.ts'

/** The rows above a block that were news, the newest first: `most` at most. */
export const newsAbove = (handle: Handle, chainId: ChainId, number: bigint, most: number) =>
  handle
    .select()
    .from(ledger)
    .where(and(eq(ledger.chainId, chainId), gt(ledger.blockNumber, number), isNotNull(ledger.seq)))
    .orderBy(desc(ledger.blockNumber), desc(ledger.logIndex))
    .limit(most)

/** Stores rows that a reorg removed in their order under consecutive numbers, of which `last` is the last. */
export const insertReversals = (handle: Handle, rows: Awaited<ReturnType<typeof newsAbove>>, last: number) =>
  insertMany(
    handle,
    ledgerReversals,
    rows.map((row, at) => ({ ...row, seq: last - rows.length + 1 + at })),
  )
