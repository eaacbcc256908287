import type { FeedCursor, FeedFilter, FeedItem, FeedPage, FeedReset } from '../../db/queries/feed.ts'
import { subjectTypes } from '../../db/queries/feed.ts'
import { configuredChains } from '../../protocol/chains.ts'
import { type ChangesSources, change, cursorText, feedPage } from '../../reads/feeds/changes.ts'
import type { StreamItem, StreamSource, StreamStart } from './shared.ts'

type Item = StreamItem & { readonly found: FeedItem | FeedReset }

const isReset = (found: FeedItem | FeedReset): found is FeedReset => 'reason' in found

const itemOf = (found: FeedItem | FeedReset, position: FeedCursor): Item => {
  const name = isReset(found) ? 'reset' : 'change'
  const data = isReset(found) ? { chainId: found.chainId, reason: found.reason } : change(found)
  const id = cursorText(position)
  return { seq: found.seq, found, text: `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n` }
}

/**
 * The items of the page after a position. Of several with one number, as resets of all chains have, only the last one
 * has it as its id: a client that leaves before that gets all of them again.
 */
const itemsOf = ({ items, resets, next }: FeedPage, from: FeedCursor): Item[] => {
  const all = [...resets, ...items].toSorted((a, b) => a.seq - b.seq)
  let position = from
  return all.map((found, at) => {
    if (all[at + 1]?.seq !== found.seq) position = { epoch: next.epoch, seq: found.seq }
    return itemOf(found, position)
  })
}

/** The changes as a feed of streams. */
export const changeStream = (
  sources: Pick<ChangesSources, 'changes' | 'feed'>,
): StreamSource<Item, FeedFilter> & {
  /** Where a stream from a cursor begins. One of another history has the resets first, the last of which ends it. */
  readonly resume: (from: FeedCursor | 'now' | undefined, filter: FeedFilter) => Promise<StreamStart>
} => ({
  all: { chainIds: configuredChains(), types: subjectTypes },
  passes: ({ chainIds, types }, { found }) =>
    chainIds.includes(found.chainId) && (isReset(found) || types.includes(found.type)),
  async after(from, filter, limit) {
    const page = await feedPage(sources, from, filter, limit)
    return { items: itemsOf(page, from), next: page.next, hasMore: page.hasMore }
  },
  newest: () => sources.changes.position(),
  idOf: cursorText,
  async resume(from, filter) {
    const page = await feedPage(sources, from ?? null, filter, 0)
    const { resets, next } = page
    if (from === 'now') return { after: next }
    const isLost = resets.some(({ reason }) => reason === 'other_history')
    if (from === undefined || !isLost) return { after: { epoch: next.epoch, seq: from?.seq ?? 0 } }
    const text = itemsOf(page, from).map((item) => item.text)
    return { after: next, id: cursorText(from), text: text.join('') }
  },
})
