import type { Block } from '../../chain/rpc/requests.ts'
import { blockColumns, type FactRow, type ObservationRow, type Stored, storedEntity } from '../../db/stored.ts'
import type { ChainId } from '../../protocol/chains.ts'
import type { Fold } from '../../protocol/history/fold.ts'
import { type History, historyOf } from '../../protocol/history/history.ts'
import { chainOf } from '../read.ts'
import type { PastSources } from './block-at.ts'

/** Events whose logs one statement reads. */
const EVENTS_AT_ONCE = 25

/** An event and its members at a block. */
export type PastEvent = {
  readonly fact: FactRow<'event'>
  /** The present observation. */
  readonly seen: ObservationRow<'event'>
  readonly block: Block
  /** The state at the block. */
  readonly fold: Fold
  readonly history: History
}

/** The state at a block is not known from the ledger. A node may have it. */
export class InexactPast extends Error {}

/** Reads events at a block, by their ids. Absent events are left out. Throws `InexactPast` where their past is not proven. */
export const pastEvents = async (
  sources: PastSources,
  chainId: ChainId,
  block: Block,
  ids: readonly bigint[],
): Promise<ReadonlyMap<bigint, PastEvent>> => {
  const { profile } = chainOf(sources.chains, chainId).deployment
  const wanted = [...new Set(ids)]
  const found = new Map<bigint, PastEvent>()
  for (let from = 0; from < wanted.length; from += EVENTS_AT_ONCE)
    for (const record of await sources.history.events(chainId, wanted.slice(from, from + EVENTS_AT_ONCE))) {
      const { fact, seen } = record
      const history = historyOf(record, profile)
      if ('why' in history) throw new InexactPast(`the past of event ${fact.id} is not known: ${history.why}`)
      found.set(fact.id, { fact, seen, block, history, fold: history.at(block.number) })
    }
  return found
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
