import { notFound } from '../../lib/errors.ts'
import { createSingleFlight } from '../../lib/single-flight.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { wholeList } from '../../reads/entities/id-list.ts'
import { answerTooOld, awaitHead, awaitIndex } from '../../reads/freshness/consistency.ts'
import type { FinalityCache } from '../../reads/freshness/finality.ts'
import { freshnessHeaders } from '../../reads/freshness/freshness.ts'
import type { Answer, Read, ReadSources } from '../../reads/read.ts'
import { reads } from '../../reads/table/table.ts'
import { clientOf } from '../client.ts'
import { linkHeader } from '../link.ts'
import { envelope, freshnessHeaderNames, type Operation, pagedEnvelope, readEnvelope, route } from '../operation.ts'
import { type CachedRoutes, PAST, REVALIDATE, SETTLED } from '../response-cache/cache.ts'
import { cacheKey } from '../response-cache/key.ts'
import { markReverted } from '../reverted.ts'

type Route = { Params: Record<string, unknown>; Querystring: Record<string, unknown> }

const takesTransaction = ({ query }: Pick<Read, 'query'>): boolean => 'afterTx' in query.shape

const successOf = (read: Read) => {
  if (read.paged) return pagedEnvelope(read.data)
  return takesTransaction(read) ? readEnvelope(read.data) : envelope(read.data)
}

const operationOf = ({ tag, summary, description, ...read }: Read, chainId: ChainId): Operation => ({
  tag,
  summary,
  description,
  failures: ['upstream_error'],
  headers: [
    ...freshnessHeaderNames,
    ...(['Cache-Control', 'Vary', 'Server-Timing'] as const),
    ...(takesTransaction(read) ? (['X-Transaction'] as const) : []),
    ...(read.paged ? (['X-Index-Lag', 'Link'] as const) : []),
    ...(read.resource === undefined ? [] : (['ETag'] as const)),
  ],
  ...(read.missing && { missing: (keys) => read.missing?.({ chainId, ...read.params.parse(keys) }) ?? '' }),
})

/** Mounts every read of the table. */
export const readRoutes: CachedRoutes<{
  readonly sources: ReadSources & { readonly finality: Pick<FinalityCache, 'isFinal'> }
  readonly defaultChainId: ChainId
}> = async (app, options) => {
  const { sources, waits, turns, cache, defaultChainId } = options
  const singleFlight = createSingleFlight<Answer<unknown>>()

  for (const read of reads) {
    const operation = operationOf(read, defaultChainId)
    const described = route(operation, successOf(read), { params: read.params, querystring: read.query })
    app.get<Route>(read.path, described, async (request, reply) => {
      const input = { chainId: defaultChainId, ...request.query, ...request.params }
      // The cache follows the present.
      const resource = 'at' in request.query ? undefined : read.resource?.(input)
      const { chainId } = input
      const client = clientOf(request)
      const atLeast = await (read.paged
        ? awaitIndex(waits, client, [chainId], input)
        : awaitHead(waits, client, [chainId], input))
      const reverted = markReverted(reply, atLeast)
      // The cache knows the changes up to the newest indexed block only.
      const isIndexed = atLeast === null || atLeast.block <= (cache.reached(chainId)?.block.number ?? -1n)
      if (resource !== undefined && isIndexed && (await cache.check(resource, request, reply))) return reply
      const { reading } = request
      const key = cacheKey(request.url)
      const answerOf = () => read.answer(sources, input)
      const run = (): Promise<Answer<unknown>> => (read.paged ? turns.page(client, answerOf) : answerOf())
      // Concurrent requests with one key and version share the answer.
      const answer = await (reading === null || key === null ? run() : singleFlight(`${reading.version} ${key}`, run))
      const { freshness, isPast = false, isPartial = false } = answer
      if (atLeast !== null && (freshness.block?.number ?? 0n) < atLeast.block)
        throw answerTooOld(chainId, atLeast.block, freshness.block)
      reply.headers(freshnessHeaders(freshness))
      if ('missing' in answer) throw notFound(answer.missing)
      const { data, meta } = answer
      reply.headers(linkHeader(request.url, meta?.nextCursor))
      const isStatic = freshness.source === 'static'
      const since = isPast ? Number(freshness.block?.timestamp ?? 0) : (read.settledAt?.(data) ?? 0)
      const isLasting = !isPartial && (isStatic || (await sources.finality.isFinal(chainId, since)))
      reply.header('cache-control', isLasting ? (isPast ? PAST : SETTLED) : REVALIDATE)
      if (!isPartial) cache.tag(request, reply, freshness, Number.POSITIVE_INFINITY)
      if (reverted === undefined) return meta === undefined ? { data } : { data, meta }
      return { data, meta: { ...(read.paged && (meta ?? wholeList)), ...reverted } }
    })
  }
}
