import type { FeedSettlement, SettlementFilter, SettlementQueries } from '../../db/queries/settlements.ts'
import { configuredChains } from '../../protocol/chains.ts'
import type { Changes } from '../../reads/cache/resources.ts'
import { feedOf, settlement } from '../../reads/feeds/settlements.ts'
import type { StreamItem, StreamSource } from './shared.ts'

type Item = StreamItem & { readonly stored: FeedSettlement }

const itemOf = (stored: FeedSettlement): Item => {
  const item = settlement(stored)
  return { seq: item.seq, stored, text: `id: ${item.seq}\nevent: ${item.type}\ndata: ${JSON.stringify(item)}\n\n` }
}

/** The settlements as a feed of streams, or those that are final. */
export const settlementStream = (
  changes: Changes,
  settlements: SettlementQueries,
  isFinal: boolean,
): StreamSource<Item, SettlementFilter> => {
  const chainIds = configuredChains()
  const feed = feedOf(chainIds)
  return {
    all: { chainIds, isFinal },
    passes: ({ chainIds: chains, eventIds, triggered }, { stored }) =>
      chains.some((id) => id === stored.chainId) &&
      (eventIds === undefined || eventIds.includes(stored.eventId)) &&
      (triggered === undefined || stored.triggered === triggered),
    async after(from, filter, limit) {
      const found = await settlements.after(from.seq, filter, limit)
      const next = { ...from, seq: found.at(-1)?.seq ?? from.seq }
      return { items: found.map(itemOf), next, hasMore: found.length === limit }
    },
    newest: () => changes.version(feed),
    idOf: ({ seq }) => String(seq),
  }
}
