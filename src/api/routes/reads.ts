import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { notFound } from '../../lib/errors.ts'
import { createSingleFlight } from '../../lib/single-flight.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { awaitHead, awaitIndex, tooOld } from '../../reads/consistency.ts'
import { createFinality } from '../../reads/final.ts'
import { type Freshness, freshnessHeaders } from '../../reads/freshness.ts'
import type { Answer, Read, Sources } from '../../reads/read.ts'
import { reads } from '../../reads/table.ts'
import type { Waits } from '../../reads/waits.ts'
import { envelope, errorResponses, pagedEnvelope } from '../envelope.ts'
import { linkHeader } from '../link.ts'
import { freshnessHeaderNames, type Operation } from '../operation.ts'
import { LASTING, REVALIDATE, type ResponseCache } from '../response-cache/cache.ts'
import { cacheKey } from '../response-cache/key.ts'
import { waiterOf } from '../waiter.ts'

type Route = { Params: Record<string, unknown>; Querystring: Record<string, unknown> }

const operationOf = (read: Read, chainId: ChainId): Operation => {
  const { tag, summary, description } = read
  return {
    tag,
    summary,
    description,
    failures: ['upstream_error', 'service_unavailable'],
    headers: [
      ...freshnessHeaderNames,
      ...(['Cache-Control', 'Vary', 'Server-Timing'] as const),
      ...(read.paged ? (['X-Index-Lag', 'Link'] as const) : []),
      ...(read.resource === undefined ? [] : (['ETag'] as const)),
    ],
    ...(read.missing && { missing: (keys) => read.missing?.({ chainId, ...read.params.parse(keys) }) ?? '' }),
  }
}

/** Mounts every row of the table of reads. */
export const readRoutes: FastifyPluginAsync<{
  readonly sources: Sources
  readonly waits: Waits
  readonly cache: ResponseCache
  readonly defaultChainId: ChainId
}> = async (app, { sources, waits, cache, defaultChainId }) => {
  const finality = createFinality(sources)
  const once = createSingleFlight<Answer<unknown>>()

  for (const read of reads) {
    const success = read.paged ? pagedEnvelope(read.data) : envelope(read.data)
    const schema = { params: read.params, querystring: read.query, response: { 200: success, ...errorResponses } }
    const operation = operationOf(read, defaultChainId)
    const inputOf = ({ query, params }: FastifyRequest<Route>) => ({ chainId: defaultChainId, ...query, ...params })

    const cacheControl = async (chainId: ChainId, { source }: Freshness, data: unknown): Promise<string> => {
      const isLasting = source === 'static' || (await finality.isFinal(chainId, read.settledAt?.(data) ?? 0))
      return isLasting ? LASTING : REVALIDATE
    }

    app.get<Route>(read.path, { schema, config: { operation } }, async (request, reply) => {
      const input = inputOf(request)
      const resource = read.resource?.(input)
      const { chainId } = input
      const waiter = waiterOf(request)
      const atLeast = await (read.paged
        ? awaitIndex(waits, waiter, [chainId], read.query, input)
        : awaitHead(waits, waiter, chainId, read.query, input))
      // Of a block that the index has not reached it cannot be known what changed.
      const isKnown = atLeast === null || atLeast <= (cache.reached(chainId)?.block.number ?? -1n)
      if (resource !== undefined && isKnown && cache.check(resource, request, reply)) return reply
      const { reading } = request
      const key = cacheKey(request.url)
      const run = (): Promise<Answer<unknown>> => read.answer(sources, input)
      // Requests for the same while nothing has changed share the answer.
      const answer = await (reading === null || key === null ? run() : once(`${reading.version} ${key}`, run))
      const { freshness } = answer
      if (atLeast !== null && (freshness.block?.number ?? 0n) < atLeast) throw tooOld(chainId, atLeast, freshness.block)
      reply.headers(freshnessHeaders(freshness))
      if ('missing' in answer) throw notFound(answer.missing)
      const { data, meta } = answer
      reply.headers(linkHeader(request.url, meta?.nextCursor))
      reply.headers({ 'cache-control': await cacheControl(chainId, freshness, data) })
      cache.tag(request, reply, freshness, Number.POSITIVE_INFINITY)
      return meta === undefined ? { data } : { data, meta }
    })
  }
}
