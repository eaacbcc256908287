import { LRUCache } from 'lru-cache'
import { compress } from './compress.ts'
import type { Bodies, Entry } from './entry.ts'
import { cacheKey } from './key.ts'

/** What an entry costs besides its bodies and its URL, in bytes: mostly its header lists. */
const OVERHEAD = 2_048

/** A body is compressed when it is sent for the second time. */
const COMPRESSED_AT = 2

const bytesOf = (bodies: Bodies | null): number =>
  bodies === null ? 0 : bodies.bytes + (bodies.gzip?.length ?? 0) + (bodies.br?.length ?? 0)

/** The entries by URL: bounded in bytes, compressed bodies included; the least used leave. A store of 0 bytes keeps nothing. */
export const createStore = (maxBytes: number) => {
  const maxEntrySize = Math.max(1, Math.ceil(maxBytes / 16))
  const sizeOf = (bodies: Bodies | null, key: string): number => OVERHEAD + 2 * key.length + bytesOf(bodies)
  const entries = new LRUCache<string, Entry>({
    // The library takes 0 for no bound.
    maxSize: Math.max(1, maxBytes),
    maxEntrySize,
    sizeCalculation: ({ bodies }, key) => sizeOf(bodies, key),
  })
  let hits = 0
  let misses = 0

  /** Entries that are being compressed, or for which there is no room compressed. */
  const compressing = new WeakSet<Entry>()
  const addCompressed = async (key: string, entry: Entry, from: Bodies): Promise<void> => {
    if (compressing.has(entry)) return
    compressing.add(entry)
    const bodies = await compress(from).catch(() => null)
    // An entry that would be too large stays as it is, and is not compressed again.
    if (bodies !== null && sizeOf(bodies, key) > maxEntrySize) return
    compressing.delete(entry)
    // Meanwhile it may have been replaced by a newer answer.
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
    /** Counts that an entry's body was sent for a request that accepts a compressed one; those are made at the second time. */
    sent(url: string, entry: Entry): void {
      entry.hits += 1
      if (entry.hits < COMPRESSED_AT || entry.bodies === null || entry.bodies.gzip !== undefined) return
      const key = cacheKey(url)
      if (key !== null) void addCompressed(key, entry, entry.bodies)
    },
    /** Bytes and number of the entries; how often one was looked for and found, or not. */
    tally: () => ({ bytes: entries.calculatedSize, pages: entries.size, hits, misses }),
  }
}

export type Store = ReturnType<typeof createStore>
