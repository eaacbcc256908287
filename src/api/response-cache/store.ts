import { LRUCache } from 'lru-cache'
import { compress } from './compress.ts'
import type { Bodies, Entry } from './entry.ts'
import { cacheKey } from './key.ts'

/** Memory of an entry in addition to its bodies and its key, in bytes: mostly its header lists. */
const ENTRY_OVERHEAD_BYTES = 2_048

/** The hit at which a body is compressed. */
const COMPRESS_AT_HIT = 2

/** Creates the store of entries by URL: an LRU cache of at most `maxBytes`, compressed bodies included; 0 for none. */
export const createStore = (maxBytes: number) => {
  const maxEntrySize = Math.max(1, Math.ceil(maxBytes / 16))
  const sizeOf = (bodies: Bodies | null, key: string): number =>
    ENTRY_OVERHEAD_BYTES +
    2 * key.length +
    (bodies?.identity.length ?? 0) +
    (bodies?.gzip?.length ?? 0) +
    (bodies?.br?.length ?? 0)
  const entries = new LRUCache<string, Entry>({
    // 0 means no limit to the library.
    maxSize: Math.max(1, maxBytes),
    maxEntrySize,
    sizeCalculation: ({ bodies }, key) => sizeOf(bodies, key),
  })
  let hits = 0
  let misses = 0

  /** Entries that are being compressed, and those that would be too large with compressed bodies. */
  const compressing = new WeakSet<Entry>()
  const addCompressed = async (key: string, entry: Entry, from: Bodies): Promise<void> => {
    if (compressing.has(entry)) return
    compressing.add(entry)
    const bodies = await compress(from).catch(() => null)
    // An entry that would be too large stays uncompressed, and is not compressed again.
    if (bodies !== null && sizeOf(bodies, key) > maxEntrySize) return
    compressing.delete(entry)
    // A newer response may have replaced the entry during the compression.
    if (bodies !== null && entries.peek(key) === entry) entries.set(key, { ...entry, bodies })
  }

  return {
    get(url: string): Entry | undefined {
      const key = cacheKey(url)
      const entry = key === null ? undefined : entries.get(key)
      if (entry === undefined) misses += 1
      else hits += 1
      return entry
    },
    set(url: string, entry: Entry): void {
      const key = cacheKey(url)
      if (key !== null) entries.set(key, entry)
    },
    /** Counts a hit of a request that accepts compressed bodies. The second hit starts the compression. */
    sent(url: string, entry: Entry): void {
      entry.hits += 1
      if (entry.hits < COMPRESS_AT_HIT || entry.bodies === null || entry.bodies.gzip !== undefined) return
      const key = cacheKey(url)
      if (key !== null) void addCompressed(key, entry, entry.bodies)
    },
    /** Size and number of the entries, and the numbers of hits and misses. */
    counts: () => ({ bytes: entries.calculatedSize, pages: entries.size, hits, misses }),
  }
}

export type Store = ReturnType<typeof createStore>
