import { LRUCache } from 'lru-cache'
import type { Resource } from '../reads/changes.ts'
import type { Tag } from '../reads/tags.ts'
import { cacheKey } from './cache-key.ts'

/** An answer as it was given: under which tag, and its body where that may be given again. */
export type Page = {
  readonly resource: Resource
  readonly tag: Tag
  /** The tag as `ETag` says it. */
  readonly etag: string
  readonly cacheControl: string
  /** Null where only the chain can answer again. */
  readonly body: string | null
  /** When the body is too old to be given again, as `performance.now`. */
  readonly until: number
  /** `Link`, where another page follows. */
  readonly link: string | undefined
}

/** What a page costs besides its body and its URL, in bytes. */
const OVERHEAD = 512

/** The pages that were answered, by URL: bounded in bytes, the least used leave. */
export const createPages = (maxBytes: number) => {
  const pages = new LRUCache<string, Page>({
    maxSize: maxBytes,
    maxEntrySize: Math.ceil(maxBytes / 16),
    sizeCalculation: ({ body }, url) => OVERHEAD + 2 * url.length + 2 * (body?.length ?? 0),
  })
  let hits = 0
  let misses = 0
  return {
    get(url: string): Page | undefined {
      const key = cacheKey(url)
      const page = key === null ? undefined : pages.get(key)
      if (page === undefined) misses += 1
      else hits += 1
      return page
    },
    set(url: string, page: Page): void {
      const key = cacheKey(url)
      if (key !== null) pages.set(key, page)
    },
    /** Bytes and number of the pages that are kept; how often a page was asked for and found, or not. */
    tally: () => ({ bytes: pages.calculatedSize, pages: pages.size, hits, misses }),
  }
}

export type Pages = ReturnType<typeof createPages>
