import { z } from 'zod'
import type { Page } from '../../db/queries/entities.ts'
import type { Moment } from '../../protocol/fields/request-fields.ts'
import { PageLimit } from '../../protocol/fields/request-fields.ts'
import { Id, integer } from '../../protocol/fields/response-fields.ts'
import { openCursor, sealCursor } from '../cursor.ts'
import { consistency } from '../freshness/consistency.ts'
import { indexedBlock, laggingIndex } from '../freshness/freshness.ts'
import { atField, momentText, requireAlone } from '../history/at.ts'
import { blockAt } from '../history/block-at.ts'
import { requireDated, withNodes } from '../history/past.ts'
import { type Answer, type Input, type PageMeta, paramsOf, type Read, type ReadSources, withFallback } from '../read.ts'
import { fromChain } from './entity.ts'
import type { List, OfChain, Views } from './view-sets.ts'

/** Most ids in one answer. A longer list continues at `meta.nextCursor`. */
const MAX_IDS = 10_000

/** The pagination fields of a list that is returned as a whole. */
export const wholeList: PageMeta = { limit: MAX_IDS, hasMore: false, nextCursor: null }

const Ids = z.array(Id)

/** The position in a cursor: the last id of a page. */
const LastId = z
  .string()
  .regex(/^\d{1,16}$/)
  .transform(BigInt)

const PageQuery = z.object({
  limit: PageLimit(MAX_IDS)
    .optional()
    .meta({
      description: `Ids per page, at most ${MAX_IDS}. Without \`limit\` and \`cursor\`, the whole list is returned`,
    }),
  cursor: z.string().optional().meta({ description: '`meta.nextCursor` of the previous page' }),
  ...atField,
  ...consistency,
})

/** The ids of a whole list that belong to a page. */
const pageOf = (ids: readonly bigint[], { after, limit }: Page): bigint[] =>
  ids
    .filter((id) => after === null || id > after)
    .sort((a, b) => (a < b ? -1 : 1))
    .slice(0, limit)

/** Reads a page from the index. Throws `service_unavailable` when it is out of reach or lags above `maxLagSeconds`. */
const readIndex = async <K extends OfChain, V extends Views<K, V>>(
  sources: ReadSources,
  { page: read, existence }: List<K, V>,
  key: K,
  page: Page,
  maxLagSeconds: number,
): Promise<Answer<bigint[]>> => {
  const { queries } = sources
  const { block, lagSeconds } = await indexedBlock(sources, key.chainId)
  if (lagSeconds > maxLagSeconds) throw laggingIndex(key.chainId, lagSeconds)
  const freshness = { source: 'database', block, stale: false, lagSeconds } as const
  const ids = await read(queries, key, page)
  const exists = ids.length > 0 || existence === undefined || (await existence.known(queries, key)) !== null
  return exists ? { freshness, data: ids } : { freshness, missing: existence.missing(key) }
}

/** Reads a page as of a moment of the past: from the index, or from a node with the state of that block. */
const readPast = async <K extends OfChain, V extends Views<K, V>>(
  sources: ReadSources,
  list: List<K, V>,
  key: K,
  page: Page,
  at: Moment,
): Promise<Answer<bigint[]>> => {
  const block = await blockAt(sources, key.chainId, at)
  const fromIndex = async (): Promise<Answer<bigint[]>> => {
    await requireDated(sources, key.chainId, list.kind, block)
    const freshness = { source: 'database', block, stale: false } as const
    const data = await list.page(sources.queries, key, { ...page, upTo: block.number })
    const { existence } = list
    const exists = data.length > 0 || existence === undefined || (await existence.past(sources, key, block)) !== null
    return exists ? { freshness, data } : { freshness, missing: `${existence.missing(key)} at block ${block.number}` }
  }
  const fromNode = () => fromChain(sources, list, key, undefined, (outputs) => pageOf(list.whole(outputs), page), block)
  return { ...(await withNodes(fromIndex, fromNode)), isPast: true }
}

/** The path of the list with its parameters filled in, which names the list in its cursors. */
const fill = (path: string, input: Readonly<Record<string, unknown>>): string =>
  path.replace(/:(\w+)/g, (_, name: string) => String(input[name]))

/**
 * Makes the read of a list of ids: from the index while its lag is within bounds, else the whole list from the chain,
 * else from the index with its lag. The last two are marked stale. An index that does not know the owner of the list
 * may only lag, so the chain is read before a 404.
 */
export const idList = <const Path extends `/${string}`, V extends Views<Input<Path>, V>>(
  path: Path,
  summary: string,
  list: List<Input<Path>, V>,
): Omit<Read, 'tag'> => {
  const read: Omit<Read<Input<Path, z.output<typeof PageQuery>>, typeof Ids>, 'tag'> = {
    path,
    summary,
    description:
      'Returns the ids in ascending order. Reads the index. When the index is out of reach or lags, the chain answers and the response has `X-Stale: 1`. With `at`, the index answers as of a past block.',
    params: paramsOf(path),
    query: PageQuery,
    data: Ids,
    paged: true,
    resource: list.resource,
    ...(list.existence && { missing: list.existence.missing }),
    async answer(sources, input) {
      const { at } = input
      const filter = [fill(path, input), ...(at ? [momentText(at)] : [])].join(' at ')
      const limit = input.limit ?? MAX_IDS
      // One id more than the page shows whether another page follows.
      const page = {
        after: input.cursor === undefined ? null : openCursor(filter, input.cursor, LastId),
        limit: limit + 1,
      }

      if (at !== undefined) requireAlone(input, ['minBlock', 'afterTx'])
      const indexed = (maxLagSeconds: number) => () => readIndex(sources, list, input, page, maxLagSeconds)
      const whole = () => fromChain(sources, list, input, undefined, (outputs) => pageOf(list.whole(outputs), page))
      const present = async (): Promise<Answer<bigint[]>> => {
        const first = await withFallback(() => withFallback(indexed(sources.maxLagSeconds), whole), indexed(Infinity))
        const isUnknown = 'missing' in first && first.freshness.source === 'database'
        return isUnknown ? withFallback(whole, async () => first) : first
      }
      const answer = at === undefined ? await present() : await readPast(sources, list, input, page, at)
      if ('missing' in answer) return answer

      const hasMore = answer.data.length > limit
      const ids = answer.data.slice(0, limit)
      const last = ids.at(-1)
      const nextCursor = hasMore && last !== undefined ? sealCursor(filter, last.toString()) : null
      const meta: PageMeta = { limit, hasMore, nextCursor }
      const asksForPages = input.limit !== undefined || input.cursor !== undefined
      return { ...answer, data: ids.map(integer), ...((asksForPages || hasMore) && { meta }) }
    },
  }
  return read
}
