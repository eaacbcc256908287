import { LRUCache } from 'lru-cache'

/** The most contents per tag and tags per URL that are kept. */
const MOST_CONTENTS = 4
const MOST_TAGS = 12
const MOST_URLS = 200

/** The contents for which each tag of each URL was issued, newest tag last. Bounded. */
export const createTags = () => {
  const urls = new LRUCache<string, Map<string, Set<string>>>({ max: MOST_URLS })
  let ambiguous = 0
  return {
    add(url: string, etag: string, content: string): void {
      const tags = urls.get(url) ?? new Map<string, Set<string>>()
      const contents = tags.get(etag) ?? new Set()
      tags.delete(etag)
      if (contents.size === 1 && !contents.has(content)) ambiguous += 1
      if (contents.size < MOST_CONTENTS) contents.add(content)
      tags.set(etag, contents)
      const [oldest] = tags.keys()
      if (tags.size > MOST_TAGS && oldest !== undefined) tags.delete(oldest)
      urls.set(url, tags)
    },
    of: (url: string): readonly string[] => [...(urls.get(url)?.keys() ?? [])],
    contents: (url: string, etag: string): readonly string[] => [...(urls.get(url)?.get(etag) ?? [])],
    /**
     * Tags that were issued for two contents: the second was read after a change that its process had not yet received.
     */
    ambiguous: () => ambiguous,
  }
}
