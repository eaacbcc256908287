import { setImmediate as breathe } from 'node:timers/promises'
import type { Block } from '../../chain/rpc/requests.ts'
import { MAX_LOGS } from '../../db/queries/history.ts'
import { blockColumns, type FactRow, type ObservationRow, type Stored, storedEntity } from '../../db/stored.ts'
import { isUnavailable, unavailable } from '../../lib/errors.ts'
import type { ChainId } from '../../protocol/chains.ts'
import type { Kind } from '../../protocol/entities.ts'
import type { Fold } from '../../protocol/history/fold.ts'
import { type EventRecord, foldAt, type History, historyOf } from '../../protocol/history/history.ts'
import { chainOf } from '../read.ts'
import type { PastSources } from './block-at.ts'

/**
 * How much a read of many events reads. One statement has `firstEvents`, the next ones as many as have about `logsAtOnce`
 * logs, but not more than `eventsAtOnce`. After `mostLogs` no further event is read.
 */
const SIZES = { firstEvents: 5, eventsAtOnce: 25, logsAtOnce: 20_000, mostLogs: 100_000 }

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

/** The same, because the event has more logs than are read. */
export class TooManyLogs extends InexactPast {}

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

/**
 * Reads the pasts of events, by their ids and in their order; null for an event that is not read yet. The logs of at most
 * `eventsAtOnce` events are in memory.
 */
export async function* pastsOf(
  sources: PastSources,
  chainId: ChainId,
  ids: readonly bigint[],
  { firstEvents, eventsAtOnce, logsAtOnce }: Omit<typeof SIZES, 'mostLogs'> = SIZES,
) {
  const { profile } = chainOf(sources.chains, chainId).deployment
  const pastOf = (record: EventRecord, id: bigint): History | InexactPast => {
    const lacking = `the past of event ${id} is not known`
    if (record.logs.length > MAX_LOGS) return new TooManyLogs(`${lacking}: it has more than ${MAX_LOGS} logs`)
    const history = historyOf(record, profile)
    return 'why' in history ? new InexactPast(`${lacking}: ${history.why}`) : history
  }
  let size = firstEvents
  for (let from = 0; from < ids.length; ) {
    const some = ids.slice(from, from + size)
    const records = new Map((await sources.history.events(chainId, some)).map((record) => [record.fact.id, record]))
    for (const id of some) {
      const record = records.get(id)
      yield { id, event: record === undefined ? null : { ...record, history: pastOf(record, id) } }
      await breathe()
    }
    from += size
    const logs = [...records.values()].reduce((sum, record) => sum + record.logs.length, 0)
    size = Math.max(1, Math.min(eventsAtOnce, Math.floor((logsAtOnce * some.length) / Math.max(1, logs))))
  }
}

/** Reads events at a block, by their ids: those whose past is proven, and why that of the others is not. */
export const pastEvents = async (
  sources: PastSources,
  chainId: ChainId,
  block: Block,
  ids: readonly bigint[],
  sizes = SIZES,
): Promise<ReadonlyMap<bigint, PastEvent | InexactPast>> => {
  const found = new Map<bigint, PastEvent | InexactPast>()
  const asked = [...new Set(ids)]
  let logs = 0
  for await (const { id, event } of pastsOf(sources, chainId, asked, sizes)) {
    if (event === null) continue
    logs += event.logs.length
    const { fact, seen, rates, history } = event
    const isKnown = !(history instanceof InexactPast)
    found.set(id, isKnown ? { fact, seen, rates, block, history, fold: foldAt(history, block.number) } : history)
    if (logs > sizes.mostLogs) break
  }
  if (logs > sizes.mostLogs)
    for (const id of asked.filter((each) => !found.has(each)))
      found.set(id, new TooManyLogs(`the past of event ${id} is not read: the events before it have ${logs} logs`))
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
