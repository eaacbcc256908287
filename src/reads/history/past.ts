import type { Block } from '../../chain/rpc/requests.ts'
import { blockColumns, type FactRow, type ObservationRow, type Stored, storedEntity } from '../../db/stored.ts'
import { isUnavailable, unavailable } from '../../lib/errors.ts'
import type { ChainId } from '../../protocol/chains.ts'
import type { Kind } from '../../protocol/entities.ts'
import type { Fold } from '../../protocol/history/fold.ts'
import { type EventRecord, foldAt, type History, historyOf } from '../../protocol/history/history.ts'
import { chainOf } from '../read.ts'
import type { PastSources } from './block-at.ts'

/** Events whose logs one statement reads. */
const EVENTS_AT_ONCE = 25

/** An event and its members at a block. */
export type PastEvent = {
  readonly fact: FactRow<'event'>
  /** The present observation. */
  readonly seen: ObservationRow<'event'>
  readonly rates: EventRecord['rates']
  readonly block: Block
  /** The state at the block. */
  readonly fold: Fold
  readonly history: History
}

/** The state at a block is not known from the ledger. A node may have it. */
export class InexactPast extends Error {}

/**
 * Reads the past from the ledger and, where it is not known from it, from a node. Throws `service_unavailable` with the
 * reason when neither has it.
 */
export const withNodes = async <T>(fromLedger: () => Promise<T>, fromNodes?: () => Promise<T>): Promise<T> => {
  try {
    return await fromLedger()
  } catch (fault) {
    if (!(fault instanceof InexactPast)) throw fault
    if (fromNodes === undefined) throw unavailable(fault.message, fault)
    try {
      return await fromNodes()
    } catch (second) {
      if (!isUnavailable(second)) throw second
      throw unavailable(`${fault.message}, and no node has the state of the block`, second)
    }
  }
}

/** Reads events at a block, by their ids: those whose past is proven, and why that of the others is not. */
export const pastEvents = async (
  sources: PastSources,
  chainId: ChainId,
  block: Block,
  ids: readonly bigint[],
): Promise<ReadonlyMap<bigint, PastEvent | InexactPast>> => {
  const { profile } = chainOf(sources.chains, chainId).deployment
  const wanted = [...new Set(ids)]
  const found = new Map<bigint, PastEvent | InexactPast>()
  for (let from = 0; from < wanted.length; from += EVENTS_AT_ONCE)
    for (const record of await sources.history.events(chainId, wanted.slice(from, from + EVENTS_AT_ONCE))) {
      const { fact, seen, rates } = record
      const history = historyOf(record, profile)
      found.set(
        fact.id,
        'why' in history
          ? new InexactPast(`the past of event ${fact.id} is not known: ${history.why}`)
          : { fact, seen, rates, block, history, fold: foldAt(history, block.number) },
      )
    }
  return found
}

/** The past of a row's event. Throws `InexactPast` where it is not proven, or the index does not have it yet. */
export const requireProven = (event: PastEvent | InexactPast | undefined, eventId: string): PastEvent => {
  if (event === undefined) throw new InexactPast(`event ${eventId} is not read yet`)
  if (event instanceof InexactPast) throw event
  return event
}

/** Reads an event at a block; null for an unknown one. Throws `InexactPast`. */
export const pastEvent = async (
  sources: PastSources,
  chainId: ChainId,
  block: Block,
  id: bigint,
): Promise<PastEvent | null> => {
  const event = (await pastEvents(sources, chainId, block, [id])).get(id)
  if (event instanceof InexactPast) throw event
  return event ?? null
}

/** Requires that the index knows which entities of a kind existed at a block. Throws `InexactPast`. */
export const requireDated = async (
  { history }: Pick<PastSources, 'history'>,
  chainId: ChainId,
  kind: Kind,
  { number }: Block,
): Promise<void> => {
  if (await history.hasUndated(chainId, kind, number))
    throw new InexactPast(`the index does not know when some of the ${kind}s of chain ${chainId} were created`)
}

/** Why a value of an event may not be known. */
const unknown = {
  allowExternalLp: 'no log has its value before it was changed for the first time',
  creatorEarnings: 'the fee rates of the event are not known',
} as const

/**
 * The views of an event at a block; null before its creation. Throws `InexactPast` when one of the values `needed` is not
 * known.
 */
export const eventAt = (
  { fact, seen, block, fold }: PastEvent,
  needed: readonly (keyof typeof unknown)[],
): Stored<'event'> | null => {
  if (fact.blockNumber > block.number) return null
  const state = fold.event(block.timestamp)
  const lacking = needed.find((name) => state[name] === null)
  if (lacking !== undefined) throw new InexactPast(`${lacking} of event ${fact.id} is not known: ${unknown[lacking]}`)
  const { allowExternalLp, creatorEarnings, ...known } = state
  return storedEntity('event', fact, {
    ...{ ...seen, ...known, ...blockColumns(block) },
    // Values that are not known are not needed.
    allowExternalLp: allowExternalLp ?? seen.allowExternalLp,
    creatorEarnings: creatorEarnings ?? seen.creatorEarnings,
  })
}
