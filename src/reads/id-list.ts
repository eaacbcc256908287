import { z } from 'zod'
import type { Page } from '../db/query.ts'
import { Id, integer } from '../protocol/values.ts'
import { PageLimit } from '../protocol/wire.ts'
import type { Resource } from './changes.ts'
import { consistency } from './consistency.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import { fromChain } from './entity.ts'
import { indexedBlock, lagging } from './lag.ts'
import { type Answer, firstOf, type Input, type PageMeta, type Read, type Sources } from './read.ts'
import type { List, OfChain, Views } from './subjects.ts'

/** The longest list in one answer; a longer one goes on at `meta.nextCursor`. */
const MAX_IDS = 10_000

const Ids = z.array(Id)

const PageQuery = z.object({
  limit: PageLimit(MAX_IDS).optional().meta({ description: 'Ids a page; without it and a cursor, the whole list' }),
  cursor: z.string().optional().meta({ description: '`meta.nextCursor` of the page before' }),
  ...consistency,
})

const ascending = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0)

/** The part of a whole list that a page holds. */
const cut = (ids: readonly bigint[], { after, limit }: Page): bigint[] =>
  ids
    .filter((id) => after === null || id > after)
    .sort(ascending)
    .slice(0, limit)

/** Throws `service_unavailable` when the index is out of reach, or further behind the chain than `maxLagSeconds`. */
const readIndex = async <K extends OfChain, V extends Views<K, V>>(
  sources: Sources,
  { page: read, existence }: List<K, V>,
  key: K,
  page: Page,
  maxLagSeconds: number,
): Promise<Answer<bigint[]>> => {
  const { queries } = sources
  const { block, lagSeconds } = await indexedBlock(sources, key.chainId)
  if (lagSeconds > maxLagSeconds) throw lagging(key.chainId, lagSeconds)
  const freshness = { source: 'database', block, stale: false, lagSeconds } as const
  const ids = await read(queries, key, page)
  const exists = ids.length > 0 || existence === undefined || (await existence.known(queries, key)) !== null
  return exists ? { freshness, data: ids } : { freshness, missing: existence.missing(key) }
}

/** The list's own path with its parameters in place: what a cursor is tied to. */
const fill = (path: string, input: Readonly<Record<string, unknown>>): string =>
  path.replace(/:(\w+)/g, (_, name: string) => String(input[name]))

type Query = z.output<typeof PageQuery>

/**
 * A list of ids: from the index while that keeps up, else whole from the chain, else from the index as it is, both marked stale. An
 * index that does not know what the list belongs to may just be behind, so the chain is asked before that is called missing.
 */
export const idList = <P extends z.ZodObject, V extends Views<Input<z.output<P>, Query>, V>>(row: {
  readonly path: `/${string}`
  readonly tag: string
  readonly summary: string
  readonly params: P
  readonly of: List<Input<z.output<P>, Query>, V>
  resource(input: Input<z.output<P>, unknown>): Resource
}): Read => {
  const { of: list, ...rest } = row
  const read: Read<P, typeof PageQuery, typeof Ids> = {
    ...rest,
    description: 'From the index; from the chain, marked by `X-Stale: 1`, when the index is out of reach. Ascending.',
    query: PageQuery,
    data: Ids,
    paged: true,
    ...(list.existence && { missing: list.existence.missing }),
    async answer(sources, input) {
      const filter = fill(row.path, input)
      const limit = input.limit ?? MAX_IDS
      // One id more than a page tells whether another page follows.
      const page = { after: input.cursor === undefined ? null : decodeCursor(filter, input.cursor), limit: limit + 1 }

      const indexed = (maxLagSeconds: number) => () => readIndex(sources, list, input, page, maxLagSeconds)
      const whole = () => fromChain(sources, list, input, undefined, (outputs) => cut(list.whole(outputs), page))
      const first = await firstOf(() => firstOf(indexed(sources.maxLagSeconds), whole), indexed(Infinity))
      const answer =
        'missing' in first && first.freshness.source === 'database' ? await firstOf(whole, async () => first) : first
      if ('missing' in answer) return answer

      const hasMore = answer.data.length > limit
      const ids = answer.data.slice(0, limit)
      const last = ids.at(-1)
      const meta: PageMeta = {
        limit,
        hasMore,
        nextCursor: hasMore && last !== undefined ? encodeCursor(filter, last) : null,
      }
      const asksForPages = input.limit !== undefined || input.cursor !== undefined
      const { freshness } = answer
      return { freshness, data: ids.map(integer), ...((asksForPages || hasMore) && { meta }) }
    },
  }
  return read
}
