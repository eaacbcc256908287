import { LRUCache } from 'lru-cache'
import type { Entry } from './entry.ts'
import { cacheKey } from './key.ts'

/** Memory of an entry in addition to its bodies and its key, in bytes: mostly its header lists. */
const ENTRY_OVERHEAD_BYTES = 2_048

/** Creates the store of entries by URL: an LRU cache of at most `maxBytes`, compressed bodies included; 0 for none. */
export const createStore = (maxBytes: number) => {
  const maxEntrySize = Math.max(1, Math.ceil(maxBytes / 16))
  const entries = new LRUCache<string, Entry>({
    // 0 means no limit to the library.
    maxSize: Math.max(1, maxBytes),
    maxEntrySize,
    sizeCalculation: ({ bodies }, key) =>
      ENTRY_OVERHEAD_BYTES +
      2 * key.length +
      (bodies?.identity.length ?? 0) +
      (bodies?.gzip?.length ?? 0) +
      (bodies?.br?.length ?? 0),
  })
  let hits = 0
  let misses = 0

  return {
    get(url: string): Entry | undefined {
      const key = cacheKey(url)
      const entry = key === null ? undefined : entries.get(key)
      if (entry === undefined) misses += 1
      else hits += 1
      return entry
    },
    /** Replaces the entry. One with the same body keeps the encodings of it that are known. */
    set(url: string, entry: Entry): void {
      const key = cacheKey(url)
      if (key === null) return
      const known = entries.peek(key)?.bodies
      const isSame = entry.bodies !== null && known?.identity.equals(entry.bodies.identity)
      entries.set(key, isSame ? { ...entry, bodies: { ...known, ...entry.bodies } } : entry)
    },
    /** Size and number of the entries, and the numbers of hits and misses. */
    counts: () => ({ bytes: entries.calculatedSize, pages: entries.size, hits, misses }),
  }
}

export type Store = ReturnType<typeof createStore>
