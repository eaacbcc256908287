import type { FeedCursor, FeedFilter, FeedItem, FeedReset } from '../../db/queries/feed.ts'
import { subjectTypes } from '../../db/queries/feed.ts'
import { configuredChains } from '../../protocol/chains.ts'
import { type ChangesSources, change, cursorText, feedPage } from '../../reads/feeds/changes.ts'
import type { StreamItem, StreamSource, StreamStart } from './shared.ts'

type Item = StreamItem & { readonly found: FeedItem | FeedReset }

const isReset = (found: FeedItem | FeedReset): found is FeedReset => 'reason' in found

/**
 * The changes as a feed of streams. A position is a number of the newest epoch that was read, so a stream first has its
 * cursor resumed.
 */
export const changeStream = (
  sources: Pick<ChangesSources, 'changes' | 'feed'>,
): StreamSource<Item, FeedFilter> & {
  /** Where a stream from a cursor begins. One of another history has the resets first, the last of which ends it. */
  readonly resume: (from: FeedCursor | 'now' | undefined, filter: FeedFilter) => Promise<StreamStart>
} => {
  let epoch = ''
  const itemOf = (found: FeedItem | FeedReset, position: FeedCursor = { epoch, seq: found.seq }): Item => {
    const name = isReset(found) ? 'reset' : 'change'
    const data = isReset(found) ? { chainId: found.chainId, reason: found.reason } : change(found)
    const id = cursorText(position)
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
      return { items: all.map((found) => itemOf(found)), hasMore: page.hasMore }
    },
    newest: () => sources.changes.position(),
    idOf: (seq) => cursorText({ epoch, seq }),
    async resume(from, filter) {
      const { resets: found, next } = await feedPage(sources, from ?? null, filter, 0)
      epoch = next.epoch
      const missed = found.filter(({ reason }) => reason === 'other_history')
      if (from === undefined) return { after: 0 }
      if (from === 'now') return { after: next.seq }
      if (missed.length === 0) return { after: from.seq }
      // Who leaves before the last reset gets them all again.
      const resets = missed.map((reset, at) => itemOf(reset, at < missed.length - 1 ? from : next).text)
      return { after: next.seq, id: cursorText(from), text: resets.join('') }
    },
  }
}
