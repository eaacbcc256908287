import { getAddress, type Hex } from 'viem'
import { createConcurrencyLimit } from '../../lib/concurrency-limit.ts'
import { nullIfUnavailable, unavailable } from '../../lib/errors.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { perKind } from '../../protocol/entities.ts'
import { clamped } from '../../protocol/fields/response-fields.ts'
import type { FoundTransaction, TransactionSources } from './found.ts'
import { type TransactionRecord, unmined } from './record.ts'

/** How many blocks below the newest indexed one are searched for a transaction while no node answers. */
const SEARCHED_BLOCKS = 10_000n

/** Most look-ups at once, and most that wait. */
const LIMITS = { atOnce: 4, waiting: 64 }

/** Creates the look-up of transactions in the index. */
export const createIndexLookup = (queries: TransactionSources['queries']) => {
  const limited = createConcurrencyLimit({
    ...LIMITS,
    refuse: () => unavailable('too many look-ups in the index at once: retry after 1 s'),
  })

  /** What the index knows of a recent transaction that created something; null when it knows none. */
  const ofIndex = async (chainId: ChainId, hash: Hex): Promise<FoundTransaction | null> => {
    const tip = await queries.indexed(chainId)
    if (tip === null) return null
    const after = tip.number - SEARCHED_BLOCKS
    const rows = perKind((kind) => queries.createdIn[kind](chainId, hash, after))
    const [event, deposit, position] = await Promise.all([rows.event, rows.deposit, rows.position])
    const [first] = [...event, ...deposit, ...position]
    if (first === undefined) return null
    const created = (found: typeof event) =>
      found.map(({ id, owner }) => ({ id: clamped(id), owner: getAddress(owner) }))
    const { block } = first
    const data: TransactionRecord = {
      chainId,
      hash,
      status: 'succeeded',
      ...unmined(),
      block: { number: clamped(block.number), hash: block.hash, timestamp: clamped(block.timestamp) },
      confirmations: clamped(tip.number - block.number + 1n),
      finality: 'latest',
      created: { eventIds: created(event), depositIds: created(deposit), positionIds: created(position) },
      // The index has no rows of logs that it does not know.
      createdIncomplete: true,
      indexed: true,
    }
    return { data, freshness: { source: 'database', block: tip, stale: true } }
  }

  /** Null when the index does not know the transaction, cannot be read or is read by too many. */
  return (chainId: ChainId, hash: Hex, signal: AbortSignal): Promise<FoundTransaction | null> =>
    limited(() => ofIndex(chainId, hash), signal).catch(nullIfUnavailable)
}
