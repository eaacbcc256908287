import type { FeedCursor, FeedFilter, FeedItem, FeedReset } from '../db/queries/feed.ts'
import { subjectTypes } from '../db/queries/feed.ts'
import { configuredChains } from '../protocol/chains.ts'
import { type ChangesSources, change, cursorText, feedPage } from '../reads/listings/changes.ts'
import type { StreamItem, StreamSource } from './streams.ts'

type Item = StreamItem & { readonly found: FeedItem | FeedReset }

const isReset = (found: FeedItem | FeedReset): found is FeedReset => 'reason' in found

/**
 * The changes as a feed of streams. A position is a number of the newest epoch that was read, so a stream first has its
 * cursor resumed.
 */
export const changeStream = (
  sources: Pick<ChangesSources, 'changes' | 'feed'>,
): StreamSource<Item, FeedFilter> & {
  /** The number after which a stream from a cursor continues, and its first text if the cursor is of another history. */
  readonly resume: (
    from: FeedCursor | 'now' | undefined,
    filter: FeedFilter,
  ) => Promise<{ after: number; text: string }>
} => {
  let epoch = ''
  const itemOf = (found: FeedItem | FeedReset): Item => {
    const name = isReset(found) ? 'reset' : 'change'
    const data = isReset(found) ? { chainId: found.chainId, reason: found.reason } : change(found)
    const id = cursorText({ epoch, seq: found.seq })
    return { seq: found.seq, found, text: `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n` }
  }
  return {
    all: { chainIds: configuredChains(), types: subjectTypes },
    passes: ({ chainIds, types }, { found }) =>
      chainIds.includes(found.chainId) && (isReset(found) || types.includes(found.type)),
    async after(seq, filter, limit) {
      const page = await feedPage(sources, { epoch, seq }, filter, limit)
      epoch = page.next.epoch
      const all = [...page.resets, ...page.items].toSorted((a, b) => a.seq - b.seq)
      return { items: all.map(itemOf), hasMore: page.hasMore }
    },
    newest: () => sources.changes.position(),
    idOf: (seq) => cursorText({ epoch, seq }),
    async resume(from, filter) {
      const { resets, next } = await feedPage(sources, from ?? null, filter, 0)
      epoch = next.epoch
      const missed = resets.filter(({ reason }) => reason === 'other_history')
      const isKnown = missed.length === 0
      const after = from === undefined ? 0 : isKnown && from !== 'now' ? from.seq : next.seq
      return { after, text: missed.map((reset) => itemOf(reset).text).join('') }
    },
  }
}
