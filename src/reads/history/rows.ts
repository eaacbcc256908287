import type { Block } from '../../chain/rpc/requests.ts'
import { type ListRow, withState } from '../../db/queries/rows.ts'
import type { ChainId } from '../../protocol/chains.ts'
import type { Kind } from '../../protocol/entities.ts'
import type { Inclusion } from '../../protocol/rows.ts'
import type { PastSources } from './block-at.ts'
import { eventAt, InexactPast, type PastEvent, pastEvents, requireDated, withNodes } from './past.ts'

const neededBy = (kind: Kind, include: readonly Inclusion[]) => [
  ...(kind === 'event' ? (['allowExternalLp'] as const) : []),
  ...(include.includes('stats') ? (['creatorEarnings'] as const) : []),
]

/** What a row shows of a log after the block is not known at it. */
const withoutEndings = {
  settledBlock: null,
  settledTx: null,
  withdrawnAt: null,
  withdrawnTx: null,
  claimedAt: null,
  claimedTx: null,
}

const hasEnded = (kind: Kind, { fold }: PastEvent, id: bigint, time: bigint): boolean => {
  if (kind === 'event') return fold.event(time).settledAt > 0n
  return kind === 'deposit' ? fold.deposit(id)?.withdrawn === true : fold.position(id)?.claimed === true
}

type Asked<K extends Kind> = { readonly kind: K; readonly include: readonly Inclusion[] }

/** The row as of the block of its event. Throws `InexactPast` where the ledger does not lead to it. */
const rowAt = <K extends Kind>({ kind, include }: Asked<K>, row: ListRow<K>, event: PastEvent): ListRow<K> => {
  const { fold, block } = event
  const id = BigInt(row.id)
  const views = eventAt(event, neededBy(kind, include))
  const state = kind === 'event' ? views?.core : kind === 'deposit' ? fold.deposit(id) : fold.position(id)
  if (views === null || state == null) throw new InexactPast(`${kind} ${row.id} has no log at block ${block.number}`)
  const shown = { ...state, ...(!hasEnded(kind, event, id, block.timestamp) && withoutEndings) }
  return withState(kind, row, shown, { ...views, time: block.timestamp })
}

/** The same, or the row without its views, so that it is read from a node. */
export const rowOfEvent = <K extends Kind>(
  asked: Asked<K>,
  row: ListRow<K>,
  event: PastEvent | InexactPast | undefined,
): ListRow<K> => {
  try {
    if (event !== undefined && !(event instanceof InexactPast)) return rowAt(asked, row, event)
  } catch (fault) {
    if (!(fault instanceof InexactPast)) throw fault
  }
  return { ...row, ...withoutEndings, views: null }
}

/** Reads the events of rows at the blocks of their chains. */
export const eventsOfRows = async (
  sources: PastSources,
  rows: readonly Pick<ListRow, 'chainId' | 'eventId'>[],
  blocks: ReadonlyMap<ChainId, Block>,
) => {
  const events = new Map<ChainId, Awaited<ReturnType<typeof pastEvents>>>()
  for (const [chainId, block] of blocks) {
    const ids = rows.flatMap((row) => (row.chainId === chainId ? BigInt(row.eventId) : []))
    events.set(chainId, await pastEvents(sources, chainId, block, ids))
  }
  return ({ chainId, eventId }: Pick<ListRow, 'chainId' | 'eventId'>) => events.get(chainId)?.get(BigInt(eventId))
}

/** Requires that it is known which entities of a kind existed at blocks. Throws `service_unavailable`. */
export const requireAllDated = async (
  sources: PastSources,
  kind: Kind,
  blocks: ReadonlyMap<ChainId, Block>,
): Promise<void> => {
  for (const [chainId, block] of blocks) await withNodes(() => requireDated(sources, chainId, kind, block))
}

/**
 * Makes rows of a kind, all created at or before the blocks of their chains, as of these blocks. A row to which the ledger
 * does not lead has no views, so that it is read from a node. Throws `service_unavailable` where it is not known which
 * rows there were.
 */
export const rowsAt = async <K extends Kind>(
  sources: PastSources,
  asked: Asked<K>,
  rows: readonly ListRow<K>[],
  blocks: ReadonlyMap<ChainId, Block>,
): Promise<ListRow<K>[]> => {
  await requireAllDated(sources, asked.kind, blocks)
  const eventOf = await eventsOfRows(sources, rows, blocks)
  return rows.map((row) => rowOfEvent(asked, row, eventOf(row)))
}
